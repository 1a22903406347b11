# Percent of FMA peak by shape and what, of the tables that `mha bench --tsv` wrote.
#
# Variables: title, place_count, places[place_count] (shape and what), begins[place_count] (1 where
# another shape begins), series_count, names[series_count], y_high, label_height (pixels).
# Data: $series1, $series2, ..., a block for each series: 1 place, a little aside  2 percent
# Series differ by colour and mark.

array colours[7] = ['0072b2', 'd55e00', '009e73', 'aa3377', '222222', '4aa5e0', 'b8860b']
array marks[8] = [7, 4, 9, 2, 5, 12, 6, 11]
colour_of(k) = '#' . colours[(k - 1) % 7 + 1]
mark_of(k) = marks[(k - 1) % 8 + 1]
mark_size = 1.0 * mark_scale

# Everything is placed in pixels from the top left corner.
across(x) = x / (1.0 * width)
down(y) = 1 - y / (1.0 * height)
plot_bottom = 400.0
legend_top = plot_bottom + label_height + 28

set lmargin at screen across(85.0)
set rmargin at screen across(width - 40.0)
set tmargin at screen down(52.0)
set bmargin at screen down(plot_bottom)
set border 3 linewidth 0.8 linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid ytics linewidth 0.6 linetype 1 linecolor rgb '#dddddd'
set xrange [0.4:place_count + 0.6]
set yrange [0:y_high]
if (y_high < 200) {
    set ytics 10
}
set format y '%.0f %%'
set xtics ('' 0) rotate by 90 right font small_font
do for [k = 1:place_count] {
    set xtics add (places[k] k)
    set arrow k from first k, 0 to first k, y_high nohead back linewidth 0.5 linecolor rgb '#eeeeee'
    if (begins[k]) {
        set arrow 1000 + k from first k - 0.5, 0 to first k - 0.5, y_high nohead back \
            linewidth 0.8 linecolor rgb '#999999'
    }
}
unset key

set label 1 title at screen across(width / 2.0), screen down(26.0) center font title_font
set label 2 'percent of FMA peak' at screen across(18.0), screen down((52.0 + plot_bottom) / 2) \
    center rotate by 90
set label 3 'shape B,T,S,D,h and what is measured' at screen across((85.0 + width - 40.0) / 2), \
    screen down(legend_top - 20) center
do for [k = 1:series_count] {
    set label 100 + k names[k] at screen across(110.0), screen down(legend_top + 18.0 * k - 14) left
    set label 5000 + k '' at screen across(95.0), screen down(legend_top + 18.0 * k - 14) \
        point pointtype mark_of(k) pointsize mark_size linewidth 1.6 linecolor rgb colour_of(k)
}
plot for [k = 1:series_count] '$series'.k using 1:2 with points \
    pointtype mark_of(k) pointsize mark_size linewidth 1.6 linecolor rgb colour_of(k)
