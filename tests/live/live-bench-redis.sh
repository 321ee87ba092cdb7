#!/bin/sh
# SPDX-License-Identifier: MIT
# bench-redis leaves nothing behind, neither folder nor process: when it ends, when it fails, when it is interrupted. TAP.
# Usage: live-bench-redis.sh LOCKBENCH TESTS
bin=$2/bench-redis
. "$(dirname "$0")/../helpers/tap.sh"
mkdir "$dir/tmp" "$dir/bin"
export TMPDIR="$dir/tmp"

works() { [ -n "$(servers)" ]; }
none_runs() { [ -z "$(servers)" ]; }
nothing_left() {
  ls -A "$dir/tmp"
  servers
  [ -z "$(ls -A "$dir/tmp")" ] && wait_until 5 none_runs
}
ended_with() {
  echo "exit $code, expected $1"
  [ "$code" -eq "$1" ]
}

"$bin" 0.05 >"$dir/out" 2>&1
code=$?
if [ $code -eq 77 ]; then
  echo '1..0 # SKIP no Redis server here'
  exit 0
fi
check 'it ends well' ended_with 0
check 'it has compared six times' test "$(grep -c ' pairs/s = ' "$dir/out")" -eq 6
check 'it leaves nothing' nothing_left

for signal in INT:130 TERM:143; do
  # A shell starts what is in the background with SIGINT ignored.
  env --default-signal=INT "$bin" 5 >"$dir/out" 2>&1 &
  pid=$!
  wait_until 10 works
  kill -${signal%:*} $pid
  wait $pid
  code=$?
  check "SIG${signal%:*} ends it" ended_with ${signal#*:}
  check "it leaves nothing after SIG${signal%:*}" nothing_left
done

printf '#!/bin/sh\nexit 1\n' >"$dir/bin/redis-benchmark" && chmod +x "$dir/bin/redis-benchmark"
PATH=$dir/bin:$PATH "$bin" 0.05 >"$dir/out" 2>&1
code=$?
check 'it fails without redis-benchmark' ended_with 1
check 'it leaves nothing when it fails' nothing_left
echo "1..$n"
