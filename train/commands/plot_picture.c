#include "plot_picture.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mha/io.h>

#include "gnuplot.h"
#include "same_file.h"

static const struct {
    const char *name;
    const char *begins, *ends; /* of the bytes */
    size_t begins_size, ends_size;
} kinds[] = {
    [PICTURE_TEXT] = {"text", "", "", 0, 0},
    [PICTURE_PNG] = {"png", "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82", 8, 8},
    [PICTURE_SVG] = {"svg", "<?xml", "</svg>", 5, 6},
    [PICTURE_PDF] = {"pdf", "%PDF-", "%%EOF", 5, 5},
};

enum { KEY_KEEP_SCRIPT = 0x200 };

static const struct argp_option options_table[] = {
    {"output", 'o', "PIC", 0,
        "Write the picture; its ending chooses .png, .svg or .pdf. Without it, draw in the "
        "terminal",
        0},
    {"keep-script", KEY_KEEP_SCRIPT, "FILE", 0,
        "Write the gnuplot script too; `gnuplot FILE` draws the picture again", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    struct picture_options *options = state->input;
    switch (key) {
    case 'o':
        options->output = argument;
        return 0;
    case KEY_KEEP_SCRIPT:
        options->kept_script = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp picture_argp = {options_table, parse_option, NULL, NULL, NULL, NULL, NULL};

/* Whether text stands in a script as it is. */
static bool is_scriptable(const char *text) {
    while (*text != '\0') {
        size_t size = character_size(text);
        if (size == 0) {
            return false;
        }
        text += size;
    }
    return true;
}

static bool has_control_character(const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

mha_status picture_kind_of(
    enum picture_kind *kind, const struct picture_options *options, mha_error *error) {
    const char *path = options->output;
    if (has_control_character(path) || has_control_character(options->kept_script)) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "the file name '%s' holds a control character",
            has_control_character(path) ? path : options->kept_script);
    }
    *kind = PICTURE_TEXT;
    if (path == NULL) {
        return MHA_OK;
    }
    const char *kept = options->kept_script;
    if (kept != NULL && (strcmp(path, kept) == 0 || is_same_file(path, kept))) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "'%.2000s' and '%.2000s' are one file: it cannot be both the picture and its script",
            path, kept);
    }
    if (kept != NULL && !is_scriptable(path)) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "--keep-script: the picture's name '%s' is not UTF-8 text, which a script could hold",
            path);
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *ending = strrchr(name, '.');
    for (int i = PICTURE_PNG; ending != NULL && i <= PICTURE_PDF; i++) {
        if (strcmp(ending + 1, kinds[i].name) == 0) {
            *kind = (enum picture_kind)i;
            return MHA_OK;
        }
    }
    return mha_fail(
        error, MHA_ERROR_ARGUMENT, "the picture '%s' does not end in .png, .svg or .pdf", path);
}

mha_status picture_check(enum picture_kind kind, const char *bytes, size_t size, mha_error *error) {
    size_t begins = kinds[kind].begins_size, ends = kinds[kind].ends_size;
    size_t end = size;
    while (kind != PICTURE_PNG && end > 0 && strchr("\n\r ", bytes[end - 1]) != NULL) {
        end--;
    }
    if (end > 0 && end >= begins + ends && memcmp(bytes, kinds[kind].begins, begins) == 0 &&
        memcmp(bytes + end - ends, kinds[kind].ends, ends) == 0) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "gnuplot wrote %zu bytes that are no whole %s picture",
        size, kinds[kind].name);
}

size_t terminal_width(void) {
    struct winsize window;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

struct picture_size terminal_size(void) {
    struct picture_size size = {80, 24};
    struct winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
        size = (struct picture_size){window.ws_col, window.ws_row};
    }
    size.width = size.width > 240 ? 240 : size.width;
    size.height = size.height > 80 ? 80 : size.height;
    return size;
}

bool terminal_is_utf8(void) {
    locale_t environment = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (environment == (locale_t)0) {
        return false;
    }
    bool utf8 = strcmp(nl_langinfo_l(CODESET, environment), "UTF-8") == 0;
    freelocale(environment);
    return utf8;
}

static bool terminal_has_colour(void) {
    const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && terminal != NULL && *terminal != '\0' &&
           strcmp(terminal, "dumb") != 0 && (no_colour == NULL || *no_colour == '\0');
}

/* gnuplot takes a name that begins with '|' for a command and '~' for a home. */
static void write_output_file(FILE *stream, const char *path) {
    script_text(stream, "output_file", path);
    if (*path != '/' && *path != '.') {
        fputs("output_file = './' . output_file\n", stream);
    }
}

/* The whole script. It writes to standard output, or to the file when it is to be kept. */
static mha_status compose(struct script *whole, const struct picture_options *options,
    enum picture_kind kind, const struct picture_size *size, const char *name,
    const struct script *variables, bool kept, mha_error *error) {
    mha_status status = script_open(whole, error);
    if (status != MHA_OK) {
        return status;
    }
    FILE *stream = whole->stream;
    if (kept) {
        fputs("# gnuplot draws this picture again: gnuplot FILE\n", stream);
    }
    script_text(stream, "picture", kinds[kind].name);
    if (kept && options->output != NULL) {
        write_output_file(stream, options->output);
    } else {
        script_text(stream, "output_file", "");
    }
    fprintf(stream, "width = %zu\nheight = %zu\ncolour = %d\n", size->width, size->height,
        kind == PICTURE_TEXT && terminal_has_colour());
    fwrite(variables->text, 1, variables->size, stream);
    fprintf(stream, "\n%s\n%s", plot_script("terminal.gp"), plot_script(name));
    return script_close(whole, error);
}

/* Without the form feed that gnuplot's text begins with, blank ends of lines and empty lines
 * around. */
static void print_text(char *bytes) {
    size_t pending = 0;
    bool begun = false;
    char *rest = bytes + strspn(bytes, "\f");
    while (*rest != '\0') {
        size_t size = strcspn(rest, "\n"), shown = size;
        while (shown > 0 && strchr(" \f\r", rest[shown - 1]) != NULL) {
            shown--;
        }
        if (shown == 0) {
            pending += begun;
        } else {
            for (; pending > 0; pending--) {
                putchar('\n');
            }
            printf("%.*s\n", (int)shown, rest);
            begun = true;
        }
        rest += size + (rest[size] == '\n');
    }
}

/* The script after the picture: it is of no use without one. */
static mha_status write_files(const struct picture_options *options, const char *bytes,
    size_t byte_count, const struct script *kept, mha_error *error) {
    mha_status status = MHA_OK;
    if (options->output != NULL) {
        status = mha_file_replace(options->output, bytes, byte_count, error);
    }
    if (status != MHA_OK || options->kept_script == NULL) {
        return status;
    }
    mha_error reason;
    status = mha_file_replace(options->kept_script, kept->text, kept->size, &reason);
    if (status != MHA_OK) {
        return mha_fail(
            error, status, "%.4200s; the picture is drawn, its script is not kept", reason.text);
    }
    return MHA_OK;
}

/* A signal between creating and renaming a file would leave its temporary name behind. */
static mha_status write_undisturbed(const struct picture_options *options, const char *bytes,
    size_t byte_count, const struct script *kept, mha_error *error) {
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGQUIT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    mha_status status = write_files(options, bytes, byte_count, kept, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* No script is kept of text that could not be shown; that it could not is told when the program
 * ends. */
static mha_status place(const struct picture_options *options, enum picture_kind kind,
    const struct picture_size *size, const char *name, const struct script *variables, char *bytes,
    size_t byte_count, mha_error *error) {
    mha_status status = picture_check(kind, bytes, byte_count, error);
    if (status != MHA_OK) {
        return status;
    }
    struct script kept = {0};
    if (options->kept_script != NULL) {
        status = compose(&kept, options, kind, size, name, variables, true, error);
    }
    bool shown = true;
    if (status == MHA_OK && kind == PICTURE_TEXT) {
        print_text(bytes);
        shown = options->kept_script == NULL || (fflush(stdout) == 0 && !ferror(stdout));
    }
    if (status == MHA_OK && shown) {
        status = write_undisturbed(options, bytes, byte_count, &kept, error);
    }
    script_free(&kept);
    return status;
}

mha_status picture_draw(const struct picture_options *options, const struct picture_size *size,
    const char *name, const struct script *variables, mha_error *error) {
    enum picture_kind kind = PICTURE_TEXT;
    mha_status status = picture_kind_of(&kind, options, error);
    if (status != MHA_OK) {
        return status;
    }
    struct script whole;
    status = compose(&whole, options, kind, size, name, variables, false, error);
    char *bytes = NULL;
    size_t byte_count = 0;
    if (status == MHA_OK) {
        status = gnuplot_run(&bytes, &byte_count, whole.text, whole.size, error);
    }
    script_free(&whole);
    if (status == MHA_OK) {
        status = place(options, kind, size, name, variables, bytes, byte_count, error);
    }
    free(bytes);
    return status;
}
