# Loss, and below it accuracy where there is one, of training runs over their steps.
#
# Variables: title, loss_label, runs, names[runs], x_low, x_high, y_low, y_high, log_axis, training_loss
# and accuracy (whether there is any), legend_rows, legend_columns, legend_width (of a column).
# Data: $log1, $log2, ..., a block for each run:
#   1 step  2 training loss  3 held-out loss  4 held-out accuracy in percent
#   5 6 7   the points of 2 3 4 that carry a mark, NaN elsewhere
# Runs differ by colour, dash type and mark; training and held-out loss by line width.

array colours[8] = ['0072b2', 'd55e00', '009e73', 'aa3377', '222222', '4aa5e0', 'b8860b', '6a51a3']
array marks[8] = [7, 4, 9, 2, 5, 12, 6, 11]
set dashtype 11 solid
set dashtype 12 (9, 3)
set dashtype 13 (3, 3)
set dashtype 14 (10, 3, 2, 3)
set dashtype 15 (18, 4)
colour_of(k) = '#' . colours[(k - 1) % 8 + 1]
faint(k) = '#80' . colours[(k - 1) % 8 + 1]
mark_of(k) = marks[(k - 1) % 8 + 1]
dash_of(k) = 11 + (k - 1) % 5
mark_size = 0.9 * mark_scale
thick = runs > 8 ? 1.8 : 2.4
thin = runs > 8 ? 0.7 : 1.0

# Everything is placed in pixels from the top left corner, so that a long legend takes no room away.
across(x) = x / (1.0 * width)
down(y) = 1 - y / (1.0 * height)
loss_bottom = accuracy ? 420.0 : 520.0
plot_bottom = accuracy ? 640.0 : 520.0

set multiplot
set lmargin at screen across(85.0)
set rmargin at screen across(width - 40.0)
set xrange [x_low:x_high]
set border 3 linewidth 0.8 linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid linewidth 0.6 linetype 1 linecolor rgb '#dddddd'
set format x '%.0f'
if (x_high - x_low < 8) {
    set xtics 1
}
unset key

set label 1 title at screen across(width / 2.0), screen down(26.0) center font title_font
set tmargin at screen down(52.0)
set bmargin at screen down(loss_bottom)
narrow = y_high - y_low < 1e-4 * abs(y_high)
set label 2 loss_label at screen across(narrow ? 11.0 : 18.0), screen down((52.0 + loss_bottom) / 2) \
    center rotate by 90
set label 3 'step' at screen across((85.0 + width - 40.0) / 2), screen down(plot_bottom + 42) center
set yrange [y_low:y_high]
if (narrow) {
    set format y '%.7g'
    set ytics font small_font
}
if (log_axis) {
    set logscale y
    set format y '%g'
    if (y_high / y_low < 2e3) {
        set ytics (1)
        do for [decade = floor(log10(y_low)):ceil(log10(y_high))] {
            set ytics add (10.0**decade, 2 * 10.0**decade, 5 * 10.0**decade)
        }
    }
}
if (accuracy) {
    set format x ''
}
plot for [k = 1:runs] '$log'.k using 1:2 with lines \
         linewidth thin dashtype 11 linecolor rgb faint(k), \
     for [k = 1:runs] '$log'.k using 1:5 with points \
         pointtype mark_of(k) pointsize mark_size / 2 linewidth thin linecolor rgb faint(k), \
     for [k = 1:runs] '$log'.k using 1:3 with lines \
         linewidth thick dashtype dash_of(k) linecolor rgb colour_of(k), \
     for [k = 1:runs] '$log'.k using 1:6 with points \
         pointtype mark_of(k) pointsize mark_size linewidth thick * 0.7 linecolor rgb colour_of(k)

unset label
unset logscale y
if (accuracy) {
    set tmargin at screen down(loss_bottom + 30)
    set bmargin at screen down(plot_bottom)
    set label 2 'held-out accuracy' at screen across(18.0), \
        screen down((loss_bottom + 30 + plot_bottom) / 2) center rotate by 90
    set yrange [-3:103]
    set ytics 25 font ''
    set format y '%.0f %%'
    set format x '%.0f'
    plot for [k = 1:runs] '$log'.k using 1:4 with lines \
             linewidth thick dashtype dash_of(k) linecolor rgb colour_of(k), \
         for [k = 1:runs] '$log'.k using 1:7 with points \
             pointtype mark_of(k) pointsize mark_size linewidth thick * 0.7 linecolor rgb colour_of(k)
    unset label
}

# The legend below: entry k is number k from above, column after column.
set tmargin at screen down(plot_bottom + 58)
set bmargin at screen down(height - 10.0)
unset border
unset tics
unset grid
entry_x(k) = (width - legend_columns * legend_width) / 2.0 + (k - 1) / legend_rows * legend_width
entry_y(k) = plot_bottom + 70.0 + (k - 1) % legend_rows * 18
entries = 0
if (runs > 1) {
    do for [k = 1:runs] {
        set label 100 + k names[k] at screen across(entry_x(k) + 56), screen down(entry_y(k)) left
        set label 5000 + k '' at screen across(entry_x(k) + 24), screen down(entry_y(k)) \
            point pointtype mark_of(k) pointsize mark_size linewidth thick * 0.7 linecolor rgb colour_of(k)
        set arrow 100 + k from screen across(entry_x(k)), screen down(entry_y(k)) \
            to screen across(entry_x(k) + 48), screen down(entry_y(k)) nohead \
            linewidth thick dashtype dash_of(k) linecolor rgb colour_of(k)
    }
    entries = runs
}
legend_colour = runs == 1 ? colour_of(1) : '#777777'
do for [k = 1:2] {
    entry = entries + k
    set label k '' . (k == 1 ? 'training loss (thin)' : 'held-out loss (thick)') \
        at screen across(entry_x(entry) + 56), screen down(entry_y(entry)) left
    set arrow k from screen across(entry_x(entry)), screen down(entry_y(entry)) \
        to screen across(entry_x(entry) + 48), screen down(entry_y(entry)) nohead \
        linewidth (k == 1 ? thin : thick) dashtype 11 linecolor rgb legend_colour
}
set xrange [0:1]
set yrange [0:1]
plot NaN notitle
unset multiplot
