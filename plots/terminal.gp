# Opens the terminal that fits the picture.
#
# Variables set before: picture ('png', 'svg', 'pdf' or 'text'), output_file ('' for standard output),
# width and height (pixels of 1/96 inch; columns and lines for 'text'), colour (0 or 1, 'text' only).

set encoding utf8
set decimalsign '.'

# In svg a font size is in pixels, elsewhere in points of 4/3 pixels, and marks are larger.
points = picture eq 'svg' ? 4 / 3.0 : 1.0
small_font = sprintf(',%.1f', 9 * points)
mark_scale = picture eq 'svg' ? 0.7 : 1.0
title_font = sprintf(',%.1f', 13 * points)

if (picture eq 'png') {
    set terminal pngcairo noenhanced size width, height font 'Arial,10.5' background rgb 'white'
}
if (picture eq 'svg') {
    set terminal svg noenhanced size width, height font 'Arial,14' background rgb 'white'
}
if (picture eq 'pdf') {
    set terminal pdfcairo noenhanced size width / 96.0, height / 96.0 font 'Arial,10.5' \
        fontscale 0.75 linewidth 1.5 dashlength 0.75 background rgb 'white'
}
if (picture eq 'text' && colour) {
    set terminal dumb noenhanced size width, height ansi
}
if (picture eq 'text' && !colour) {
    set terminal dumb noenhanced size width, height mono
}
if (strlen(output_file) > 0) {
    set output output_file
}
