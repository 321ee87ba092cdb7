#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# One of the locks of tests/data/planted.csv, which the day draws: each of its timelines breaks it, and neither fault of one does alone. So the places of tests/python/test-hunt-order.py are those of real breaks. TAP.
# Usage: live-hunt-planted.sh LOCKBENCH PLUGIN_FOLDER; LOCK=N chooses a line.
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
locks=$(dirname "$0")/../../data/planted.csv
number=${LOCK:-$(($(date +%s) / 86400 % ($(wc -l <"$locks") - 1) + 1))}
line=$(sed 1d "$locks" | sed -n "${number}p")
IFS=, read -r plugin system lock timelines <<X
$line
X
echo "# $system, $lock"
plugin=$2/plugin-$plugin.so settings=
for setting in $lock; do settings="$settings -s ${system%@*}.$setting"; done

# came TIMELINE: what its decided trials came to, each once.
came() {
  # shellcheck disable=SC2086
  "$bin" hunt "$system" --plugin "$plugin" $settings --seed 5 -o "$dir/of" --only "$1" >"$dir/out" 2>&1
  grep "^$1,none," "$dir/of/$system/trials.csv" | cut -d, -f3 | grep -v undecided | sort -u | tr '\n' ' '
}
check 'it is safe without a fault' test "$(came L0)" = 'safe '
for timeline in $timelines; do
  faults=${timeline#*.}
  check "$timeline breaks it" test "$(came "$timeline")" = 'lease '
  for fault in "${faults%+*}" "${faults#*+}"; do
    check "$fault alone does not" test "$(came "${timeline%%2.*}1.$fault")" = 'safe '
  done
done
echo "1..$n"
