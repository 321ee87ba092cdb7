#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A lock that nobody gets in time is asked for again at the end: one with a lease comes free (delayed), one without an end does not (stuck).
# TAP. Usage: live-closing.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

"$bin" run lost-reply -b redis-reentrant@redis,redis-setnx@redis -g none -n 1 -j 2 --seed 1 -o "$dir/reply" >"$dir/out" 2>&1
"$bin" run crash-between -b redis-setnx@redis -g none -n 1 --seed 1 -o "$dir/between" >>"$dir/out" 2>&1

ends() { # VERDICT RUN SCENARIO SYSTEM
  check "$3 $4: $1" grep -q "^$3,$4,none,.*,$1," "$dir/$2/trials.csv"
  "$bin" check --export json "$dir/$2/histories/$3.$4.none".* | sed -n '/"phase":"closing"/,$p' >"$dir/events"
  check '  somebody asks again' grep -q '"e":"acquire"' "$dir/events"
}
granted() { grep -q '"e":"granted"' "$dir/events"; }

ends delayed reply lost-reply redis-reentrant@redis
check '  and is granted' granted
check '  the story says when' sh -c '"$1" explain "$2" lost-reply redis-reentrant@redis | grep -q "^Then client-2 was granted it, at +"' - "$bin" "$dir/reply"
for cell in 'reply lost-reply' 'between crash-between'; do
  # shellcheck disable=SC2086 # two words
  ends stuck $cell redis-setnx@redis
  check '  and is not granted' not granted
  check '  to the end' grep -q '"phase":"closed"' "$dir/events"
done
echo "1..$n"
