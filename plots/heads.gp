# Attention weights, one panel a head: rows are queries from top to bottom, columns are keys from left
# to right. The colour scale is 0 to 1 whatever the weights, by their square root: a query that looks at
# many keys has small weights, and they are to be seen too.
#
# Variables: title, note, panels, panel_names[panels], queries, keys, query_labels[queries],
# key_labels[keys] ('' is not labelled), rotated (key labels run upwards); and in pixels: left, top (of the
# first map), across_step, down_step (to the next one), map_width, map_height, cell_width, cell_height,
# label_width, label_depth, panel_columns; and blocked, not_finite: whether to mark such cells.
# Data: $weights1, $weights2, ..., a block for each panel:
#   1 key  2 query  3 weight  4 kind: 0 is a weight, 1 a blocked pair, 2 a weight that is not finite

across(x) = x / (1.0 * width)
down(y) = 1 - y / (1.0 * height)
is_kind(wanted, kind, x) = kind == wanted ? x : NaN
shade(weight) = weight > 0 ? sqrt(weight) : 0

# Small cells overlap a little: between their smoothed edges the paper would shine through.
half_width = cell_width < 8 ? 0.5 + 0.5 / cell_width : 0.5
half_height = cell_height < 8 ? 0.5 + 0.5 / cell_height : 0.5
smaller = cell_width < cell_height ? cell_width : cell_height
dot = smaller < 24 ? smaller / 24.0 : 1.0
numbers = smaller >= 36
scale_left = left - label_width + panel_columns * across_step + 14.0
scale_height = map_height < 110 ? 110 : map_height

# Lightness rises all the way, so that the scale survives a black and white printer.
set palette defined (0 '#440154', 1 '#482878', 2 '#3e4a89', 3 '#31688e', 4 '#26828e', \
    5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')
set palette maxcolors 0
set cbrange [0:1]
unset colorbox
unset key

set multiplot
set label 1 title at screen 0.5, screen down(26.0) center font title_font
if (strlen(note) > 0) {
    set label 2 note at screen across(left), screen down(height - 16.0) left font small_font \
        textcolor rgb '#444444'
}
set border 15 linewidth 0.6 linecolor rgb '#444444'
set xrange [-0.5:keys - 0.5]
set yrange [queries - 0.5:-0.5]
set xtics ()
set ytics ()
set xtics out nomirror scale 0.4
set ytics out nomirror scale 0.4
set tics font small_font offset 0, 0.2
if (rotated) {
    set xtics rotate by 90 right offset 0, 0
}
do for [k = 1:keys] {
    if (strlen(key_labels[k]) > 0) {
        set xtics add (key_labels[k] k - 1)
    }
}
do for [q = 1:queries] {
    if (strlen(query_labels[q]) > 0) {
        set ytics add (query_labels[q] q - 1)
    }
}

do for [panel = 1:panels] {
    column = (panel - 1) % panel_columns
    row = (panel - 1) / panel_columns
    x = left + column * across_step
    y = top + row * down_step
    set lmargin at screen across(x)
    set rmargin at screen across(x + map_width)
    set tmargin at screen down(y)
    set bmargin at screen down(y + map_height)
    set label 3 panel_names[panel] at screen across(x + map_width / 2.0), \
        screen down(y - 12.0) center
    if (column == 0) {
        set label 4 'query' at screen across(x - label_width - 4.0), screen down(y + map_height / 2.0) \
            center rotate by 90
    }
    if (panel + panel_columns > panels) {
        set label 5 'key' at screen across(x + map_width / 2.0), \
            screen down(y + map_height + label_depth + 13.0) center
    }
    if (panel == panels) {
        set colorbox user origin screen across(scale_left), screen down(top + scale_height) \
            size screen across(14.0), screen scale_height / (1.0 * height) noborder
        set cbtics ('0' shade(0), '0.05' shade(0.05), '0.25' shade(0.25), '0.5' shade(0.5), \
            '1' shade(1)) scale 0
        set label 6 'attention weight' at screen across(scale_left + 62.0), \
            screen down(top + scale_height / 2.0) center rotate by 90
        set label 7 '(colours by square root)' at screen across(scale_left + 78.0), \
            screen down(top + scale_height / 2.0) center rotate by 90 font small_font
    }
    plot '$weights'.panel using ($4 == 2 ? NaN : $1):2:(half_width):(half_height):(shade($3)) \
             with boxxyerror fillstyle solid 1.0 noborder linecolor palette, \
         for [k = 1:not_finite] '$weights'.panel \
             using (is_kind(2, $4, $1)):2:(half_width):(half_height) \
             with boxxyerror fillstyle solid 1.0 noborder linecolor rgb '#ffffff', \
         for [k = 1:not_finite] '$weights'.panel using (is_kind(2, $4, $1)):2 \
             with points pointtype 2 pointsize dot * 2.5 * mark_scale linecolor rgb '#d00000', \
         for [k = 1:blocked] '$weights'.panel using (is_kind(1, $4, $1)):2 \
             with points pointtype 7 pointsize dot * 0.5 * mark_scale linecolor rgb '#8f7fa0', \
         for [k = 1:numbers] '$weights'.panel \
             using (is_kind(0, $4, $1)):2:(sprintf('%.2f', $3)):(shade($3) < 0.5 ? 0xffffff : 0x000000) \
             with labels font small_font textcolor rgb variable
    unset label
}
unset multiplot
