# The panels of gradcheck.gp in characters, for a terminal: the same variables and data.

down(y) = 1 - y / (1.0 * height)
across(x) = x / (1.0 * width)
array tops[4] = [2, 30, 52, height]
top(p) = tops[p]
bottom(p) = tops[p + 1] - 4
above(y) = ceil(log10(y))
below(y) = floor(log10(y))
power(k) = k == 0 ? '1' : sprintf('1e%d', k)

set multiplot
set lmargin at screen across(9)
set rmargin at screen across(width - 3)
set border 3 back
set tics nomirror
unset mxtics
unset mytics
unset key
set label 1 title at screen 0.5, screen down(1) center

set tmargin at screen down(top(1) + 7)
set bmargin at screen down(bottom(1))
set logscale xy
y_low = 10.0**(below(agreement) - 1)
set xrange [2.0**-51:1]
set yrange [y_low:10]
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
set label 2 '1. error of a derivative, relative to it' at screen across(1), screen down(top(1) + 1) left
array marks[4] = ['o', '=', '-', '.']
do for [k = 1:4] {
    set label 2 + k marks[k] . '  ' . step_names[k] at screen across(4), screen down(top(1) + 1 + k) left
}
set label 7 '   ' . best_names[1] . ' ' . best_names[2] at screen across(4), screen down(top(1) + 6) left
set label 8 'step h, in units of max(1, |x|)' at screen 0.5, screen down(bottom(1) + 2.5) center
plot estimate with points pointtype '-', extrapolated with points pointtype '=', \
     agreement with points pointtype '.', $steps1 using 1:2 with points pointtype 'o'
unset label

set tmargin at screen down(top(2) + 4)
set bmargin at screen down(bottom(2))
y_low = 10.0**(below(taylor_low) - 1)
set xrange [2.0**-47:2.0**-2]
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
set label 2 "2. Taylor's remainder: the slope tells" at screen across(1), screen down(top(2) + 1) left
set label 3 'o  ' . taylor_names[1] at screen across(4), screen down(top(2) + 2) left
set label 4 'x  ' . taylor_names[2] at screen across(4), screen down(top(2) + 3) left
set label 5 'step h along a random direction' at screen 0.5, screen down(bottom(2) + 2.5) center
plot $taylor1 using 1:2 with points pointtype 'o', $taylor2 using 1:2 with points pointtype 'x'
unset label

set tmargin at screen down(top(3) + 4)
set bmargin at screen down(bottom(3))
unset logscale xy
set xrange [-limit:limit]
set yrange [-limit:limit]
set xtics autofreq
set ytics autofreq
set label 2 '3. every entry by backward, as part of the largest of its block' \
    at screen across(1), screen down(top(3) + 1) left
set label 3 'o  ' . entry_names[1] at screen across(4), screen down(top(3) + 2) left
set label 4 'x  ' . entry_names[2] at screen across(4), screen down(top(3) + 3) left
set label 5 'by extrapolated differences, likewise' at screen 0.5, screen down(bottom(3) + 2.5) center
plot $entries1 using 1:3 with points pointtype 'x', $entries1 using 1:2 with points pointtype 'o'
unset multiplot
