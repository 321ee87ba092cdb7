#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# The seed case, once per system: verdicts, and what a violated trial has to show in its history. TAP.
# Usage: live-failover.sh LOCKBENCH
bin=$1 n=0
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
trap 'exit 1' HUP INT TERM
dir="$top/with a blank"
mkdir "$dir"
check() {
  n=$((n + 1))
  name=$1
  shift
  if "$@" >"$dir/out" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name"; sed 's/^/# /' "$dir/out"; fi
}
# A setting of the user's that would make the synchronous standby asynchronous, if it reached the clients.
export PGOPTIONS=-csynchronous_commit=local
"$bin" run failover -b redis-token@sentinel,pg-row@pg-async -g none -n 1 -o "$dir/run" >"$dir/summary" 2>&1
code=$?
if [ $code -eq 5 ]; then
  echo "1..0 # SKIP $(grep -m1 skipped "$dir/summary")"
  exit 0
fi
check 'every verdict is as expected: exit 0' test $code -eq 0
sed 's/^/# /' "$dir/summary"
for system in redis-token@sentinel pg-row@pg-async; do
  history=$(ls "$dir/run/histories/failover.$system.none".*)
  "$bin" check --export json "$history" >"$dir/history.jsonl"
  check "$system: the key was absent on the promoted server" grep -q '"e":"observed",.*"role":"current primary","present":false' "$dir/history.jsonl"
  check "$system: both clients were granted" test "$(grep '"e":"granted"' "$dir/history.jsonl" | grep -o '"c":"[^"]*"' | sort -u | wc -l)" -eq 2
  "$bin" check --json "$history" >"$dir/check.json"
  check "$system: judged again, the history is violated: exit 3" test $? -eq 3
  check "$system: both held at once" grep -q '"double_holds": 1' "$dir/check.json"
  check "$system: an update was lost" grep -q '"lost_updates": 1' "$dir/check.json"
  "$bin" check --json "$dir/history.jsonl" >"$dir/again.json"
  check "$system: as JSON lines it is judged the same" cmp "$dir/check.json" "$dir/again.json"
done
echo "1..$n"
