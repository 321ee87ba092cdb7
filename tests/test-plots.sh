#!/bin/sh
# SPDX-License-Identifier: MIT
# The figures of a run: drawn from the sample run folder, held against its CSV files, and the ways plots/render can end.
# One line per statement. Exit 0, 1 (a statement does not hold), 77 (gnuplot, python3 or matplotlib is missing).
# Usage: test-plots.sh; $LB_SOURCE_DIR is the root of the sources (default: the folder above this one).
root=${LB_SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
python=${LOCKBENCH_PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null 2>&1 || python=python3
export PYTHONDONTWRITEBYTECODE=1
for need in gnuplot "$python"; do
  command -v "$need" >/dev/null 2>&1 || { echo "skipped: $need is missing"; exit 77; }
done
"$python" -c 'import matplotlib' 2>/dev/null || { echo "skipped: matplotlib is missing"; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
bad=0

holds() { # holds STATEMENT COMMAND...
  statement=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok: $statement"
  else
    echo "NOT: $statement"
    sed 's/^/  /' "$work/said"
    bad=1
  fi
}

sample() { # sample NAME: a fresh copy of the sample run
  rm -rf "${work:?}/$1"
  cp -R "$root/tests/data/run-sample" "$work/$1"
}

render() { # render NAME: its exit status in $code, what it said in out and err
  "$root/plots/render" "$work/$1" >"$work/out" 2>"$work/err"
  code=$?
}

ends_with() { # ends_with CODE: the latest render; shows what it said
  cat "$work/out" "$work/err"
  echo "exit $code, expected $1"
  [ "$code" -eq "$1" ]
}

one_line() { # one_line FILE TEXT: the file is one line that holds the text
  cat "$1"
  [ "$(wc -l <"$1")" -eq 1 ] && grep -qF -- "$2" "$1"
}

same() { cmp "$work/$1/$3" "$work/$2/$3"; }

fills() { # fills COLOUR COUNT: so many cells and legend boxes of a colour
  found=$(grep -c "style=\"fill: $1\"" "$work/first/truth-table.svg")
  echo "$found of $1, expected $2"
  [ "$found" -eq "$2" ]
}

# Drawing.
sample first
ls -A "$work/first" >"$work/before"
render first
holds 'the sample is drawn' ends_with 0
holds 'one line per figure' test "$(wc -l <"$work/out")" -eq 2
for figure in truth-table.svg truth-table.png throughput.svg; do
  holds "$figure is there" test -s "$work/first/$figure"
done
ls -A "$work/first" | grep -vxE 'truth-table\.(svg|png)|throughput\.svg' >"$work/after"
holds 'nothing else is left in the folder' cmp "$work/before" "$work/after"
for figure in truth-table.svg throughput.svg; do
  holds "$figure is well-formed" "$python" -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$work/first/$figure"
done

# Elsewhere, in another folder, language, time zone and second: the same bytes.
sample 'second run'
sleep 1
(cd / && TZ=Asia/Tokyo LC_ALL=C HOME=/nonexistent SOURCE_DATE_EPOCH=5 "$root/plots/render" "$work/second run" >/dev/null 2>&1)
for figure in truth-table.svg truth-table.png throughput.svg; do
  holds "$figure is byte-identical when drawn again" same first 'second run' "$figure"
done

# What is shown.
holds 'every number in throughput.svg is one of the CSV files, and none is missing' \
  "$python" "$root/tests/drawn-points.py" "$work/first"
count() { "$python" -c "import json, sys; print(sum(c['verdict'] == '$1' for c in json.load(open(sys.argv[1]))['cells']) + 1)" \
  "$work/first/run.json"; }
holds 'every safe cell is drawn safe' fills '#b8e2d5' "$(count safe)"
holds 'every violated cell is drawn violated' fills '#d55e00' "$(count violated)"
holds 'every stuck cell is drawn stuck' fills '#bfe0f5' "$(count stuck)"
holds 'every undecided cell is drawn undecided' fills '#faf5b5' "$(count undecided)"
holds 'both programs draw in one style' sh -c '"$1" "$2/plots/style.py" | diff - "$2/plots/style.gp"' - "$python" "$root"

# Bad input: one line, exit 2, and the figures of before stay.
sample bad
printf '{"schema_version": 1,\n "id": }\n' >"$work/bad/run.json"
echo old >"$work/bad/throughput.svg"
render bad
holds 'malformed run.json ends with 2' ends_with 2
holds 'malformed run.json is one line with file and line' one_line "$work/err" 'run.json:2:'
holds 'a figure that cannot be drawn again stays' grep -qx old "$work/bad/throughput.svg"
sample bad
sed 's/"verdict": "stuck"/"verdict": "sutck"/' "$root/tests/data/run-sample/run.json" >"$work/bad/run.json"
render bad
holds 'an unknown verdict ends with 2' ends_with 2
holds 'an unknown verdict is named' one_line "$work/err" "verdict 'sutck', expected one of safe"
sample bad
sed '3s/,none,/,none,many/' "$root/tests/data/run-sample/trials.csv" >"$work/bad/trials.csv"
render bad
holds 'a bad number in trials.csv ends with 2' ends_with 2
holds 'a bad number in trials.csv is one line with its place' one_line "$work/err" "trials.csv:3: clients is 'many"
rm -f "$work/bad/trials.csv"
render bad
holds 'a missing trials.csv ends with 2' ends_with 2
render 'not there'
holds 'a missing folder ends with 2' ends_with 2
holds 'a missing folder is one line' one_line "$work/err" 'no such folder'

# A run without speed: nothing to draw is no error, and an old figure does not stay for a new run.
sample slow
sed -n '1p; /^failover/p' "$root/tests/data/run-sample/trials.csv" >"$work/slow/trials.csv"
echo old >"$work/slow/throughput.svg"
render slow
holds 'a run without speed ends with 0' ends_with 0
holds 'a run without speed says so' grep -q 'throughput.svg: not drawn' "$work/out"
holds 'no throughput figure of another run stays' test ! -e "$work/slow/throughput.svg"

# A missing program: said, and the other figure is drawn.
mkdir "$work/bin"
for program in sh sed mktemp rm mv dirname "$(command -v "$python")"; do
  ln -s "$(command -v "$program")" "$work/bin/$(basename "$program")"
done
sample less
(PATH=$work/bin && export PATH && "$root/plots/render" "$work/less" >"$work/out" 2>"$work/err")
code=$?
holds 'without gnuplot it ends with 5' ends_with 5
holds 'without gnuplot it says so' one_line "$work/err" 'gnuplot is missing'
holds 'without gnuplot the truth table is drawn' same first less truth-table.svg
printf '#!/bin/sh\ncase $* in *matplotlib*) exit 1 ;; esac\nexec "%s" "$@"\n' "$(command -v "$python")" >"$work/bin/no-matplotlib"
chmod +x "$work/bin/no-matplotlib"
sample less
(LOCKBENCH_PYTHON=$work/bin/no-matplotlib && export LOCKBENCH_PYTHON && "$root/plots/render" "$work/less" >"$work/out" 2>"$work/err")
code=$?
holds 'without matplotlib it ends with 5' ends_with 5
holds 'without matplotlib it says so' one_line "$work/err" 'matplotlib is missing'
holds 'without matplotlib the throughput is drawn' same first less throughput.svg
exit $bad
