# The curves of loss.gp in characters, for a terminal: the same variables and data.
# Held-out curves carry the letter of their run; training loss is drawn for a single run, in dots.

letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
letter(k) = letters[(k - 1) % 52 + 1:(k - 1) % 52 + 1]
character(k) = (k - 1) % 7 + 1
characters = '*#$%@&='
down(y) = 1 - y / (1.0 * height)
across(x) = x / (1.0 * width)
legend_top = height - legend_rows
loss_bottom = accuracy ? floor(legend_top * 0.62) : legend_top - 4
legend_title(k) = runs == 1 ? 'held-out loss' : names[k]

set multiplot
set lmargin at screen across(9)
set rmargin at screen across(width - 3)
set xrange [x_low:x_high]
set border 3 back
set xtics nomirror
set ytics nomirror
set format x '%.0f'
if (x_high - x_low < 8) {
    set xtics 1
}
unset key

set label 1 title at screen 0.5, screen down(1) center
set label 2 loss_label at screen across(1), screen down(2) left
set tmargin at screen down(3)
set bmargin at screen down(loss_bottom)
set yrange [y_low:y_high]
if (log_axis) {
    set logscale y
}
set format y (y_high - y_low < 1e-4 * abs(y_high) ? '%.7g' : '%g')
if (!accuracy) {
    set label 3 'step' at screen 0.5, screen down(legend_top - 1) center
}
plot for [k = 1:(runs == 1 && training_loss ? 1 : 0)] '$log'.k using 1:2 with points pointtype '.', \
     for [k = 1:runs] '$log'.k using 1:3 with lines linetype character(k), \
     for [k = 1:runs] '$log'.k using 1:6 with points pointtype letter(k)

unset label
unset logscale y
if (accuracy) {
    set label 2 'held-out accuracy' at screen across(1), screen down(loss_bottom + 2) left
    set label 3 'step' at screen 0.5, screen down(legend_top - 1) center
    set tmargin at screen down(loss_bottom + 3)
    set bmargin at screen down(legend_top - 4)
    set yrange [0:100]
    set ytics 50
    set format y '%.0f %%'
    plot for [k = 1:runs] '$log'.k using 1:4 with lines linetype character(k), \
         for [k = 1:runs] '$log'.k using 1:7 with points pointtype letter(k)
    unset label
}

set tmargin at screen down(legend_top)
set bmargin at screen 0
unset border
unset tics
stroke(k) = colour ? '-' : characters[character(k):character(k)]
sample(k) = stroke(k) . letter(k) . stroke(k) . ' '
do for [k = 1:runs] {
    set label k sample(k) . legend_title(k) left textcolor linetype character(k) \
        at screen across(5 + (k - 1) / legend_rows * legend_width), \
        screen down(legend_top + 0.5 + (k - 1) % legend_rows)
}
if (runs == 1 && training_loss) {
    set label 2 '... training loss' at screen across(5 + legend_width), \
        screen down(legend_top + 0.5) left
}
set xrange [0:1]
set yrange [0:1]
plot NaN notitle
unset multiplot
