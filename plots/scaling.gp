# SPDX-License-Identifier: MIT
# scaling.gp - the figure of scaling.py once more, with gnuplot alone and from the same file:
#   gnuplot -c scaling.gp RUN/figures/scaling.csv OUT.svg
# Everything is in that file, and found by the names of its columns: the systems in the order of the legend, their line
# styles (column `style`, numbers in style.gp), the repeats (dots, a little to the right) and the rows `median` with
# their intervals. What a system lacks is marked and named as in scaling.py, and so is a system without a speed.
csv = ARG1
load ARG0[1:strstrt(ARG0, "scaling.gp") - 1]."style.gp"
set encoding utf8
set datafile separator ","
set datafile columnheaders
set datafile missing NaN # a row of another system breaks no line

# What there is to draw: one pass that collects words.
systems = ""
styles = ""
clients = ""
violated = ""
unmeasured = ""
have = "" # METRIC/CLIENTS/SYSTEM of the medians; an axis reaches over all that is drawn on it, whichever column it is from
rate_low = 0; rate_high = 0; time_low = 0; time_high = 0 # 0: nothing is drawn
lower(a, text) = strlen(text) == 0 || (a > 0 && a <= text + 0) ? a : text + 0
higher(a, text) = strlen(text) == 0 || a >= text + 0 ? a : text + 0
note(m) = strcol("repeat") eq "median" && strlen(strcol(m)) > 0 ? (have = have." ".m."/".strcol("clients")."/".strcol("system"), 0) : 0
rates(m) = (rate_low = lower(rate_low, strcol(m)), rate_high = higher(rate_high, strcol(m)), note(m))
times(m) = (time_low = lower(time_low, strcol(m)), time_high = higher(time_high, strcol(m)), note(m))
new(list, w) = strstrt(" ".list." ", " ".w." ") == 0
set xrange [-1:1] # of no meaning, but asked for
set yrange [-1:1]
set table $Seen
plot csv using (strcol("repeat") eq "violated" ? (violated = violated." ".strcol("system"), 0) : \
                strcol("repeat") eq "unmeasured" ? (unmeasured = unmeasured." ".strcol("system"), 0) : \
                new(systems, strcol("system")) ? (systems = systems." ".strcol("system"), \
                                                  styles = styles." ".strcol("style"), 0) : 0): \
               (strlen(strcol("clients")) && new(clients, strcol("clients")) ? (clients = clients." ".strcol("clients"), 0) : 0): \
               (rates("handoffs_per_s"), rates("grants_per_s"), times("handoff_p50_us"), times("handoff_p99_us"), 0) with points
unset table
set autoscale
n = words(systems)
groups = words(clients)
least = 1e9
most = 1
do for [c=1:groups] {
  count = word(clients, c) + 0
  least = count < least ? count : least
  most = count > most ? count : most
}

metrics = ""
do for [m in "handoffs_per_s grants_per_s handoff_p50_us handoff_p99_us"] { if (strstrt(have, " ".m."/") > 0) { metrics = metrics." ".m } }
panels = words(metrics)
title_of(m) = m eq "handoffs_per_s" ? "Hand-offs per second" : m eq "grants_per_s" ? "Grants per second" : \
  m eq "handoff_p50_us" ? "Hand-off, median" : "Hand-off, p99"

# The gaps: METRIC/CLIENTS/SYSTEM, and the lines that name them.
gaps = ""
foot = ""
foot_lines = 0
line = ""
has(m, count, system) = !new(have, m."/".count."/".system)
measured(count, system) = has("grants_per_s", count, system)
wrap = "line = strlen(line) + strlen(part) > 190 ? (foot = foot.line.\"\\n\", foot_lines = foot_lines + 1, \"    \".part) : line.part"
end_line = "foot = foot.line.\"\\n\"; foot_lines = foot_lines + 1; line = \"\""
do for [m in metrics] {
  named = 0
  do for [i=1:n] {
    at = ""
    do for [count in clients] {
      if (strstrt(have, " ".m."/".count."/") > 0 && measured(count, word(systems, i)) && !has(m, count, word(systems, i))) {
        gaps = gaps." ".m."/".count."/".word(systems, i)
        at = at.(strlen(at) ? ", " : "").count
      }
    }
    if (strlen(at)) {
      part = (named ? ", " : "∅ no ".title_of(m).": ").word(systems, i)." (".at.")"
      @wrap
      named = 1
    }
  }
  if (named) { line = line." clients"; @end_line }
}
do for [why in "violated unmeasured"] {
  left_out = why eq "violated" ? violated : unmeasured
  do for [i=1:words(left_out)] {
    part = (i > 1 ? ", " : why eq "violated" ? "not drawn, for it did not exclude: " : "not drawn, for nothing was measured: ").word(left_out, i)
    @wrap
  }
  if (words(left_out)) { @end_line }
}

# In pixels from the bottom: what is named, legend, panels; the picture grows with them.
legend_columns = 4
legend_bottom = 8 + 15 * foot_lines
legend_top = legend_bottom + 4 + 21 * ((n + legend_columns - 1) / legend_columns)
panel_bottom = legend_top + 62
height = panel_bottom + 340 + 44
at(pixels) = 1.0 * pixels / height

set terminal svg size 1300,height fixed noenhanced font "DejaVu Sans,12" background "#ffffff" dashlength 0.6
set output ARG2
set multiplot
unset key
set border 3 lc rgb "#595959"
set tics nomirror out scale 0.6 textcolor rgb "#000000"
set grid ytics lc rgb "#E5E5E5" dt 1 lw 1
set tmargin at screen at(panel_bottom + 340)
set bmargin at screen at(panel_bottom)
set logscale x 2
set logscale y 10
set xrange [least / 1.3 : most * 1.3]
set xtics ()
do for [c=1:groups] { set xtics add (word(clients, c) word(clients, c) + 0) }
set xlabel "clients"

style_of(i) = int(word(styles, i))
mine(i) = strcol("system") eq word(systems, i)
median(i, value) = mine(i) && strcol("repeat") eq "median" ? value : NaN
repeat(i, value) = mine(i) && strcol("repeat") ne "median" ? value : NaN

from_decade(x) = 10.0 ** floor(log10(x)) * 0.95 # a hair of room: a tick exactly on the edge may be lost to rounding
to_decade(x) = 10.0 ** ceil(log10(x)) * 1.05

do for [p=1:panels] {
  set lmargin at screen 0.05 + (p - 1) * 0.955 / panels
  set rmargin at screen 0.005 + p * 0.955 / panels
  m = word(metrics, p)
  set title title_of(m) font ",12"
  if (strstrt(m, "_per_s") > 0) {
    set yrange [from_decade(rate_low) : to_decade(rate_high)] # one axis for both
    set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1 k" 1e3, "10 k" 1e4, "100 k" 1e5, "1 M" 1e6, "10 M" 1e7, "100 M" 1e8)
  } else {
    set yrange [from_decade(time_low) : to_decade(time_high)] # one axis for both
    set ytics ("1 ns" 1e-3, "10 ns" 0.01, "100 ns" 0.1, "1 µs" 1, "10 µs" 10, "100 µs" 100, \
      "1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6, "10 s" 1e7, "100 s" 1e8)
  }
  unset label
  do for [count in clients] {
    level = 0
    do for [i=1:n] {
      if (!new(gaps, m."/".count."/".word(systems, i))) {
        set label "∅" at first count + 0, graph 0.03 + 0.035 * level center font ",8" tc ls style_of(i)
        level = level + 1
      }
    }
  }
  plot for [i=1:n] csv using (column("clients") * 1.07):(repeat(i, column(m))) \
         with points ls style_of(i) pt 7 ps 0.25, \
       for [i=1:n] csv using (column("clients")):(median(i, column(m))):(column(m."_low")):(column(m."_high")) \
         with yerrorbars ls style_of(i) pt -1 dt 1 lw 1.2, \
       for [i=1:n] csv using (column("clients")):(median(i, column(m))) \
         with linespoints ls style_of(i) ps 0.7
}

# Legend: a panel of its own below the others.
set tmargin at screen at(legend_top)
set bmargin at screen at(legend_bottom)
unset label
if (foot_lines) { set label foot at screen 0.015, screen at(legend_bottom - 6) left font ",9" }
set lmargin at screen 0.02
set rmargin at screen 0.98
unset title
unset tics
unset grid
unset border
unset xlabel
unset ylabel
unset logscale
set xrange [0:1]
set yrange [0:1]
set key at graph 0.5, graph 0.5 center center horizontal Left reverse samplen 3.5 width 2 spacing 1.1 \
  maxcols legend_columns
plot NaN notitle, for [i=1:n] keyentry with linespoints ls style_of(i) ps 0.7 title word(systems, i)
unset multiplot
