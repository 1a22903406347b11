# shellcheck shell=bash
# Completion of mha for bash 4 and later; works with and without the package bash-completion.

_mha_commands='train eval apply gradcheck plot tape init convert tasks bench'
_mha_pictures='loss heads bench gradcheck'
_mha_tasks='copy reverse shift offsets retrieve recall mean teacher letters arrays'
_mha_routines='project_query project_key project_value split_query split_key split_value scores
    scale mask softmax context combine project_output attention mse cross_entropy layer'
_mha_faults='scale lost
sign of the query path
softmax row term dropped
softmax row term unweighted
K and V exchanged
gradient of Wo transposed
Wo not transposed
mask forgotten
mask off by one
one head skipped
heads regrouped
value path of the shared input lost
shared input overwritten
gradient of Wk added twice
first sample only
one entry wrong by a hundredth
one entry wrong in a large block
one entry NaN
key projection without gradient
Q and K exchanged
half a millionth off in Wk
half a millionth off in a score
scale applied twice
heads in another order
last query dropped
V from the gradient of the weights
sign of the key path'
_mha_sizes='--batch --target-length --source-length --width --heads'
_mha_compute='--kernel --mode --threads'

# The options of a command, or of a picture.
_mha_options() {
    case $1 in
    train)
        printf '%s ' "$_mha_sizes" --output --force --resume --causal --seed --steps --lr \
            "$_mha_compute" --momentum --nesterov --weight-decay --clip --schedule --schedule-steps --warmup \
            --eval-every --weights --words --data --eval-data --validation --max-bytes --quiet
        ;;
    eval) printf '%s ' --eval-data --threads ;;
    apply)
        printf '%s ' --output --weights --layout --prefix --heads --causal "$_mha_compute" --max-bytes
        ;;
    gradcheck)
        printf '%s ' "$_mha_sizes" "$_mha_compute" --causal --seed --op --self-test --float --case
        ;;
    'plot loss' | 'plot bench') printf '%s ' --output --keep-script ;;
    'plot heads') printf '%s ' --output --keep-script --example --average ;;
    'plot gradcheck') printf '%s ' --output --keep-script --fault --seed ;;
    tape) printf '%s ' "$_mha_sizes" --kernel --mode ;;
    init) printf '%s ' --output --width --heads --seed --stream ;;
    bench) printf '%s ' --shape --threads --mode --tsv ;;
    convert) printf '%s ' --layout --to --heads --prefix --to-prefix --max-bytes ;;
    esac
    printf '%s ' --help --usage
}

# _mha_words WORD CHOICE...
_mha_words() {
    local word=$1
    shift
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$*" -- "$word")
}

# _mha_lines WORD CHOICES: choices of several words, one a line; WORD as it was typed, with its quotes.
_mha_lines() {
    local IFS=$'\n' word=${1//\\/}
    compopt -o filenames 2> /dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$2" -- "${word#[\"\']}")
}

# _mha_files WORD [ENDING...]: files with one of the endings, any file without endings, and folders.
_mha_files() {
    local word=$1 ending
    shift
    compopt -o filenames 2> /dev/null
    if (($# == 0)); then
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word")
    for ending; do
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!*$ending" -- "$word")
    done
}

# Folders that hold a run, or other folders in which one may lie.
_mha_runs() {
    local folder path inner
    compopt -o filenames 2> /dev/null
    while IFS= read -r folder; do
        path=${folder/#'~/'/"$HOME/"}
        inner=("$path"/*/)
        if [[ -e $path/run.json || -d ${inner[0]} ]]; then
            COMPREPLY+=("$folder")
        fi
    done < <(compgen -d -- "$1")
}

# _mha_value OPTION WORD COMMAND: false when the option takes no value behind it.
_mha_value() {
    case $1 in
    --output | -o)
        case $3 in
        train) _mha_runs "$2" ;;
        plot*) _mha_files "$2" .png .svg .pdf ;;
        *) _mha_files "$2" .npz .safetensors ;;
        esac
        ;;
    --weights | --data | --eval-data | --case) _mha_files "$2" .npz .safetensors ;;
    --words | --keep-script) _mha_files "$2" ;;
    --schedule) _mha_words "$2" constant linear cosine ;;
    --layout | --to) _mha_words "$2" lesson torch torch-linear combined ;;
    --stream) _mha_words "$2" lesson handbook ;;
    --op) _mha_words "$2" "$_mha_routines" ;;
    --fault) _mha_lines "$2" "$_mha_faults" ;;
    --kernel) _mha_words "$2" fused reference ;;
    --mode) _mha_words "$2" stored tiled ;;
    -- | --nesterov | --force | --resume | --quiet | --average | --tsv | --help | --usage | --causal) return 1 ;;
    --*) ;; # a number or a name, which the user knows
    *) return 1 ;;
    esac
}

# _mha_argument WORD COMMAND
_mha_argument() {
    case $2 in
    train) _mha_words "$1" "$_mha_tasks" ;;
    eval | 'plot loss' | 'plot heads') _mha_runs "$1" ;;
    'plot bench') _mha_files "$1" .tsv ;;
    apply | convert) _mha_files "$1" .npz .safetensors ;;
    plot) _mha_words "$1" "$_mha_pictures" ;;
    esac
}

_mha() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command option=''
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _mha_words "$word" "$_mha_commands" --help --version
        return
    fi
    command=${COMP_WORDS[1]}
    if [[ $command == plot ]] && ((COMP_CWORD > 2)); then
        command="plot ${COMP_WORDS[2]}"
    fi
    # bash takes --option=value for three words.
    if [[ $word == = ]]; then
        option=$before word=''
    elif [[ $before == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $option == --causal ]]; then
        _mha_words "$word" top-left bottom-right off
    elif [[ -n $option ]]; then
        _mha_value "$option" "$word" "$command"
    elif _mha_value "$before" "$word" "$command"; then
        return
    elif [[ $word == -* ]]; then
        _mha_words "$word" "$(_mha_options "$command")"
    else
        _mha_argument "$word" "$command"
    fi
}

complete -F _mha mha
