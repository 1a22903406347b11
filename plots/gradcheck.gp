# What a gradient check sees: a single step, Taylor's remainder, and every entry.
#
# Variables: title, step_names[4] (difference, extrapolated, estimate, agreement), best_names[2],
# taylor_names[2], entry_names[2] (right, wrong); truncation, rounding (of the arms), extrapolated,
# estimate, agreement (levels), best_step, best_error, right_factor, wrong_factor (of the slopes),
# taylor_low (rounding), taylor_high (remainder), limit (of the axes of entries).
# Data: $steps1: 1 step  2 error    $taylor1 (right), $taylor2 (wrong): 1 step  2 remainder  3 rounding
#   $entries1: 1 by differences  2 by backward  3 by backward with the fault, as parts of the largest
# Curves differ by colour, and by mark or dash type.

array colours[5] = ['0072b2', 'd55e00', '009e73', 'aa3377', 'aaaaaa']
colour_of(k) = '#' . colours[k]
set dashtype 11 solid
set dashtype 12 (8, 4)
set dashtype 13 (10, 3, 2, 3)
set dashtype 14 (2, 3)
hollow = 6
cross = 2
mark_size = 0.8 * mark_scale
heading_font = sprintf(',%.1f', 11.5 * points)

# Everything is placed in pixels from the top left corner.
across(x) = x / (1.0 * width)
down(y) = 1 - y / (1.0 * height)
left_1 = 85.0
right_1 = width - 30.0
right_2 = 435.0
left_3 = 535.0
side = right_2 - left_1
top_1 = 150.0
bottom_1 = 425.0
top_2 = 590.0
bottom_2 = top_2 + side
above(y) = ceil(log10(y))
below(y) = floor(log10(y))
power(k) = k == 0 ? '1' : sprintf('1e%d', k)

set multiplot
set border 3 linewidth 0.8 linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid linewidth 0.6 linetype 1 linecolor rgb '#dddddd'
unset key
unset mxtics
unset mytics
set samples 400

# 1
set lmargin at screen across(left_1)
set rmargin at screen across(right_1)
set tmargin at screen down(top_1)
set bmargin at screen down(bottom_1)
set logscale xy
y_low = 10.0**(below(agreement) - 1)
y_high = 10.0
arm(error) = error > best_error / 10 ? error : NaN
set xrange [2.0**-51:1]
set yrange [y_low:y_high]
set xtics ()
set ytics ()
do for [k = 0:15:3] {
    set xtics add (power(-k) 10.0**-k)
}
do for [k = below(y_low):0] {
    if (k % 3 == 0) {
        set ytics add (power(k) 10.0**k)
    }
}
set label 1 title at screen across(width / 2.0), screen down(26.0) center font title_font
set label 2 '1. One step: truncation on one side, rounding on the other' \
    at screen across(left_1), screen down(62.0) left font heading_font
set label 3 '(L(x + h) - L(x - h)) / 2h, where L is a sum of all outputs with random weights, ' \
    . 'against the complex step, which rounds nothing away' \
    at screen across(left_1), screen down(82.0) left font small_font textcolor rgb '#444444'
set label 4 'error, relative to the derivative' at screen across(18.0), \
    screen down((top_1 + bottom_1) / 2) center rotate by 90
set label 5 'step h, in units of max(1, |x|)' at screen across((left_1 + right_1) / 2), \
    screen down(bottom_1 + 42) center
entry_x(k) = left_1 + (k > 2 ? 430 : 0)
entry_y(k) = 106.0 + (k - 1) % 2 * 20
level_dash(k) = k == 2 ? 11 : k == 3 ? 12 : 13
level_colour(k) = colour_of(k == 4 ? 4 : 3)
do for [k = 1:4] {
    set label 10 + k step_names[k] at screen across(entry_x(k) + 44), screen down(entry_y(k)) left
}
set label 20 '' at screen across(entry_x(1) + 18), screen down(entry_y(1)) \
    point pointtype hollow pointsize mark_size linewidth 1.4 linecolor rgb colour_of(1)
do for [k = 2:4] {
    set arrow 10 + k from screen across(entry_x(k)), screen down(entry_y(k)) \
        to screen across(entry_x(k) + 36), screen down(entry_y(k)) nohead \
        linewidth 2 dashtype level_dash(k) linecolor rgb level_colour(k)
}
set label 21 'rounding, grows as 1/h' at first 6 * rounding / 3e-2, first 3e-2 left
set label 22 'truncation, falls as h²' at first sqrt(1e-3 / truncation) / 6, first 1e-3 right
do for [k = 1:2] {
    set label 22 + k best_names[k] at first best_step, \
        first best_error * 10.0**(k == 1 ? 5.4 : 4.3) center
}
set arrow 20 from first best_step, first best_error * 10.0**3.6 to first best_step, first best_error * 4 \
    size screen 0.008, 20 filled linewidth 1 linecolor rgb '#444444'
plot arm(truncation * x**2) with lines linewidth 2.5 dashtype 14 linecolor rgb colour_of(5), \
     arm(rounding / x) with lines linewidth 2.5 dashtype 14 linecolor rgb colour_of(5), \
     extrapolated with lines linewidth 2 dashtype level_dash(2) linecolor rgb level_colour(2), \
     estimate with lines linewidth 2 dashtype level_dash(3) linecolor rgb level_colour(3), \
     agreement with lines linewidth 2 dashtype level_dash(4) linecolor rgb level_colour(4), \
     $steps1 using 1:2 with points pointtype hollow pointsize mark_size linewidth 1.4 \
         linecolor rgb colour_of(1)
unset label
unset arrow

# 2
set rmargin at screen across(right_2)
set tmargin at screen down(top_2)
set bmargin at screen down(bottom_2)
set xrange [2.0**-47:2.0**-2]
y_low = 10.0**(below(taylor_low) - 2)
set yrange [y_low:10.0**(above(taylor_high) + 1)]
set xtics ()
set ytics ()
do for [k = 0:12:3] {
    set xtics add (power(-k) 10.0**-k)
}
do for [k = below(y_low):above(taylor_high)] {
    if (k % 3 == 0) {
        set ytics add (power(k) 10.0**k)
    }
}
set label 2 "2. Taylor's remainder: the slope tells" at screen across(left_1), screen down(502.0) left \
    font heading_font
set label 3 '|L(x + hu) - L(x) - h g·u|: g by backward, u a random direction' at screen across(left_1), \
    screen down(522.0) left font small_font textcolor rgb '#444444'
set label 4 'remainder' at screen across(18.0), screen down((top_2 + bottom_2) / 2) center rotate by 90
set label 5 'step h' at screen across((left_1 + right_2) / 2), screen down(bottom_2 + 42) center
mark_of(k) = k == 1 ? hollow : cross
do for [k = 1:2] {
    set label 10 + k taylor_names[k] at screen across(left_1 + 32), screen down(522.0 + 20 * k) left
    set label 20 + k '' at screen across(left_1 + 12), screen down(522.0 + 20 * k) \
        point pointtype mark_of(k) pointsize mark_size linewidth 1.4 linecolor rgb colour_of(k)
}
set label 31 'falls as h' at first 1e-8, first wrong_factor * 4e-8 right
set label 32 'falls as h²' at first 4e-6, first right_factor * 1e-12 left
set label 33 'as much may be rounding' at first 0.1, first taylor_low / 20 right
slope(remainder) = remainder > taylor_low ? remainder : NaN
plot slope(right_factor * x**2) with lines linewidth 2.5 dashtype 14 linecolor rgb colour_of(5), \
     slope(wrong_factor * x) with lines linewidth 2.5 dashtype 14 linecolor rgb colour_of(5), \
     $taylor1 using 1:3 with lines linewidth 1.6 dashtype 12 linecolor rgb '#444444', \
     for [k = 1:2] '$taylor'.k using 1:2 with points pointtype mark_of(k) pointsize mark_size \
         linewidth 1.4 linecolor rgb colour_of(k)
unset label

# 3
set lmargin at screen across(left_3)
set rmargin at screen across(left_3 + side)
unset logscale xy
set xrange [-limit:limit]
set yrange [-limit:limit]
set xtics autofreq
set ytics autofreq
set label 2 '3. Every entry' at screen across(left_3), screen down(502.0) left font heading_font
set label 3 'of all inputs and weights: a right gradient lies on the diagonal' at screen across(left_3), \
    screen down(522.0) left font small_font textcolor rgb '#444444'
set label 4 'by backward, as part of the largest of its block' at screen across(left_3 - 52), \
    screen down((top_2 + bottom_2) / 2) center rotate by 90
set label 5 'by extrapolated differences, likewise' at screen across(left_3 + side / 2), \
    screen down(bottom_2 + 42) center
do for [k = 1:2] {
    set label 10 + k entry_names[k] at screen across(left_3 + 32), screen down(522.0 + 20 * k) left
    set label 20 + k '' at screen across(left_3 + 12), screen down(522.0 + 20 * k) \
        point pointtype mark_of(k) pointsize mark_size linewidth 1.4 linecolor rgb colour_of(k)
}
plot x with lines linewidth 1.6 dashtype 11 linecolor rgb colour_of(5), \
     for [k = 2:1:-1] $entries1 using 1:(column(k + 1)) with points pointtype mark_of(k) \
         pointsize mark_size linewidth 1.2 linecolor rgb colour_of(k)
unset multiplot
