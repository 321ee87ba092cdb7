# SPDX-License-Identifier: MIT
# throughput.gp - what a lock costs, in three panels: rate over clients, time to get the lock, spread of the repeats.
# Called by throughput.py, which explains the data:
#   gnuplot -c throughput.gp DATA OUT.svg SYSTEMS CLIENTS FOOTER RANGES RANKS
# SYSTEMS, CLIENTS, RANGES (from and to of each panel, and the step of the last) and RANKS (see lb_style) are words.
# Numbers in all panels are those of DATA; nothing is fitted or smoothed.
data = ARG1
systems = ARG3
clients = ARG4
n = words(systems)
groups = words(clients)
most = word(clients, groups)
range_of(k) = word(ARG6, k) + 0.0
below = 0.999 # a hair of room: a tick exactly on the edge may be lost to rounding
load "style.gp"

# In pixels from the bottom: footer, legend, panels; the picture grows with the legend.
legend_columns = 4
legend_rows = (n + legend_columns - 1) / legend_columns
legend_bottom = 62
legend_top = legend_bottom + 23 * legend_rows
panel_bottom = legend_top + 66
panel_top = panel_bottom + 348
height = panel_top + 84
at(pixels) = 1.0 * pixels / height

set encoding utf8
set terminal svg size 1240,height fixed noenhanced font "DejaVu Sans,12" background "#ffffff" dashlength 0.6
set output ARG2
set multiplot
unset key
set border 3 lc rgb "#595959"
set tics nomirror out scale 0.6 textcolor rgb "#000000"
set grid ytics lc rgb "#E5E5E5" dt 1 lw 1
style_of(i) = lb_style(word(systems, i), word(ARG7, i) + 0)

set tmargin at screen at(panel_top)
set bmargin at screen at(panel_bottom)
set label 1 "What does a lock cost?  Scenario contention: all clients want the same lock" font ",16" \
  at screen 0.012, at(height - 24) left
set label 2 ARG5 at screen 0.012, at(34) left font ",10" textcolor rgb "#595959"

# 1: rate over clients. Large markers and lines: medians; small dots, a little to the right to stay visible: repeats.
set lmargin at screen 0.065
set rmargin at screen 0.330
set title "Grants per second (median, repeats as dots)" font ",12"
set xlabel "clients"
set ylabel "grants/s (log)" offset 1
set logscale x 2
set logscale y 10
set xtics ()
do for [c=1:groups] { set xtics add (word(clients, c) word(clients, c) + 0) }
room = groups > 1 ? 1.25 : 2
set xrange [word(clients, 1) / room : most * room]
set yrange [range_of(1) * below : range_of(2)]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1 k" 1e3, "10 k" 1e4, "100 k" 1e5, "1 M" 1e6, "10 M" 1e7)
plot for [i=1:n] data index "rates ".i using ($1 * 1.09):2 with points ls style_of(i) pt 7 ps 0.3, \
     for [i=1:n] data index "rate ".i using 1:2 with linespoints ls style_of(i)
unset label 1
unset label 2

# 2: time to get the lock. Systems stand side by side in each group, in the order of the legend.
set lmargin at screen 0.395
set rmargin at screen 0.690
set title "Time to get the lock (p50, line up to p99, repeats as dots)" font ",12"
set xlabel "clients  (acquire: sent → granted; hand-off: released → next granted)"
set ylabel "time (log)" offset 1
unset logscale x
set yrange [range_of(3) * below : range_of(4)]
set xrange [-0.5 : groups - 0.5]
set xtics () scale 0
do for [c=1:groups] {
  set xtics add (word(clients, c).(word(clients, c) eq "1" ? ": acquire" : ": hand-off") c - 1)
  if (c > 1) { set arrow c from c - 1.5, graph 0 to c - 1.5, graph 1 nohead lc rgb "#D9D9D9" }
}
set ytics ("1 ns" 1e-3, "10 ns" 0.01, "100 ns" 0.1, "1 µs" 1, "10 µs" 10, "100 µs" 100, \
  "1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6, "10 s" 1e7, "100 s" 1e8)
beside(group, i) = group + (n > 1 ? 0.8 * ((i - 1.0) / (n - 1) - 0.5) : 0)
plot for [i=1:n] data index "time ".i using (beside($1, i)):2:2:3 with yerrorbars ls style_of(i) pt -1 dt 1 lw 1.2, \
     for [i=1:n] data index "times ".i using (beside($1, i) + 0.025):2 with points ls style_of(i) pt 7 ps 0.3, \
     for [i=1:n] data index "time ".i using (beside($1, i)):2 with points ls style_of(i)
unset arrow

# 3: how far the repeats lie from their median, as a line from the least to the most and a dot for each.
set lmargin at screen 0.845
set rmargin at screen 0.985
set title "Repeats at ".most." clients" font ",12"
set xlabel "grants/s over their median"
unset ylabel
unset logscale y
set yrange [n + 0.5 : 0.5]
set xrange [range_of(5) : range_of(6)]
set xtics range_of(5), range_of(7), range_of(6) format "%g" scale 0.6
set ytics () scale 0
do for [i=1:n] { set ytics add (word(systems, i) i) }
set grid noytics xtics
plot for [i=1:n] data index "spread ".i using 1:(i) with lines ls style_of(i) dt 1, \
     for [i=1:n] data index "spread ".i using 1:(i) with points ls style_of(i) ps 0.6

# Legend: a panel of its own below the others.
set tmargin at screen at(legend_top)
set bmargin at screen at(legend_bottom)
set lmargin at screen 0.02
set rmargin at screen 0.98
unset title
unset tics
unset grid
unset border
unset xlabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0.5, graph 0.5 center center horizontal Left reverse samplen 3.5 width 2 spacing 1.2 \
  maxcols legend_columns
plot NaN notitle, for [i=1:n] keyentry with linespoints ls style_of(i) title word(systems, i)
unset multiplot
