#!/bin/sh
# test: compute
# SPDX-License-Identifier: MIT
# How every Python program of the project ends (plots/ending.py): bad input is one line and 2; output that cannot be written is one line and 1;
# a reader that went away is 141 and nothing. Never a traceback. TAP. Exit 77: python3 or matplotlib is missing.
# Usage: test-endings.sh; $LB_SOURCE_DIR is the root of the sources (default: the folder above this one).
root=${LB_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
python=${LOCKBENCH_PYTHON:-/usr/bin/python3}
"$python" -c 'import matplotlib' 2>/dev/null || { echo "1..0 # SKIP python3 or matplotlib is missing"; exit 77; }
. "$root/tests/helpers/tap.sh"
export PYTHONDONTWRITEBYTECODE=1 LOCKBENCH_BIN="$root/tests/data/plots/lockbench" LC_ALL=C.UTF-8

good() { rm -rf "$dir/run" && "$python" "$root/tests/data/make-run-sample.py" "$dir/run"; }
good
mkdir "$dir/other" "$dir/broken" "$dir/list" "$dir/columns" && echo text >"$dir/other/file"
cp -R "$dir/run/." "$dir/broken" && printf '{"schema_version": 1,\n "id": }\n' >"$dir/broken/run.json"
cp -R "$dir/run/." "$dir/list" && echo '[1, 2]' >"$dir/list/run.json"
cp -R "$dir/run/." "$dir/columns" && for file in trials latency; do # the columns that all need are not there
  sed -i '1s/scenario,system/scene,sys/' "$dir/columns/$file.csv"
done
cp -R "$root/tests/data/hunt-sample" "$dir/hunts" && cp -R "$dir/hunts" "$dir/hunts-columns" && sed -i '1s/timeline/time/' "$dir"/hunts-columns/*/hunt.csv

# call PROGRAM WORD...: its exit status in $code, its stderr in the file err.
call() {
  program=$1 && shift
  "$python" "$root/$program" "$@" 2>"$dir/err" </dev/null
  code=$?
}
ends() { # ends CODE LINES [TEXT]
  echo "exit $code, expected $1; stderr:" && cat "$dir/err"
  [ "$code" -eq "$1" ] && [ "$(wc -l <"$dir/err")" -eq "$2" ] && { [ -z "${3-}" ] || grep -qF -- "$3" "$dir/err"; }
}
bad_input() { ends 2 1; }
bad_or_not_read() { ends 2 1 || ends 0 0; } # not every figure reads those files

# PROGRAM|words before the run folder|words after it
cat >"$dir/programs" <<END
plots/truth_table.py||
plots/report.py||
plots/draw_all.py||
plots/guard_table.py||
plots/violation.py||
plots/scaling.py||
plots/latency.py||
plots/safety_speed.py||
plots/distance.py||
plots/load.py||
plots/lagging_follower.py||
plots/speed.py||
plots/readme_chart.py||$dir/chart.png redis-token@redis
plots/lost_table.py||failover
plots/carries.py||redis-token@redis
plots/bare.py||
plots/hunt.py||$dir/hunt.svg
plots/hunt_theory.py|$dir/hunts|
plots/readme_figure.py||$dir/readme.png
paper/numbers||$dir/numbers
plots/verdict_table.py||
END
while IFS='|' read -r program before after; do
  for kind in 'not there' other broken list columns; do
    # shellcheck disable=SC2086 # words
    call "$program" $before "$dir/$kind" $after >/dev/null
    wanted=bad_input
    case $kind:$program in
      columns:plots/[!h]* | *:peers/*) wanted=bad_or_not_read ;;
    esac
    check "$program, folder '$kind'" $wanted
  done
done <"$dir/programs"
call paper/numbers "$root/results/reference-speed" "$dir/numbers" >/dev/null
check "paper/numbers, a run of one's own: one line says what it lacks" ends 2 1 'a timeline that broke a lock ('
call plots/hunt.py "$dir/hunts-columns" "$dir/hunt.svg" >/dev/null
check 'plots/hunt.py, a column of hunt.csv is missing' bad_input
call plots/hunt_theory.py "$dir/hunts" "$dir/other/file" >/dev/null
check 'plots/hunt_theory.py, what is no list of expectations' bad_input
call plots/theory.py >/dev/null
check 'plots/theory.py, what is no list of expectations' bad_input
call plots/predict.py predict --text local@none >/dev/null
check 'plots/predict.py, what is no list of expectations' bad_input
call paper/check-numbers "$dir/nothing.tex" >/dev/null
check 'paper/check-numbers, no such file' bad_input
call peers/known.py something >/dev/null
check 'peers/known.py, an unknown word' bad_input
for program in plots/draw_all.py plots/report.py plots/speed.py plots/scaling.py plots/hunt.py; do
  call $program >/dev/null
  check "$program without words" bad_input
done

# What is printed does not arrive. Into a closed stream only Python's own rules differ, so two programs will do.
cat >"$dir/printing" <<END
plots/truth_table.py|$dir/run
plots/scaling.py|$dir/run
plots/distance.py|$dir/run
plots/load.py|$dir/run
plots/style.py|
plots/draw_all.py|$dir/run
paper/numbers|$root/results/reference $dir/numbers
peers/known.py|packages
peers/known.py|list
plots/verdict_table.py|--help
END
while IFS='|' read -r program words; do
  # shellcheck disable=SC2086 # words
  "$python" "$root/$program" $words >"$dir/said" 2>/dev/null </dev/null
  [ -s "$dir/said" ] || continue # nothing to print here, or no such run
  # shellcheck disable=SC2086
  call "$program" $words >/dev/full
  check "$program $words: a full disk" ends 1 1 'cannot write to standard output: No space left on device'
  # shellcheck disable=SC2086
  { { sleep 0.05; call "$program" $words; echo "$code" >"$dir/code"; } | :; }
  code=$(cat "$dir/code")
  check "$program $words: a reader that went away" ends 141 0
done <"$dir/printing"
for program in plots/style.py plots/truth_table.py; do
  call $program "$dir/run" >&-
  check "$program: a closed stream" ends 1 1 'cannot write to standard output: Bad file descriptor'
done
rm -rf "$dir/run/figures"
call plots/draw_all.py "$dir/run" >/dev/full
check 'figures and page are made, whether they can be spoken of or not' test -s "$dir/run/figures/truth-table.svg" -a -s "$dir/run/report.html"

# Nobody is left out: what can be started ends through ending.of(), or through figure.main(), which does.
check 'every program ends the same way' sh -c 'cd "$1" || exit 1
  for file in $(grep -lE "^if __name__|^sys\.exit|^main\(\)" plots/*.py paper/numbers paper/check-numbers paper/*.py peers/known.py setup/docs); do
    grep -qE "ending\.of\(|figure\.main\(" "$file" || { echo "$file"; exit 1; }
  done' - "$root"
echo "1..$n"
