#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# What `show --cost` counts where it is known: one round trip and one command each. TAP. Usage: live-cost.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

# FILE ROW ACQUIRE RELEASE REFUSED: the three numbers of a row.
counts() {
  got=$(awk -v row="$2" 'index($0, row "  ") == 1 { print $(NF - 2), $(NF - 1), $NF }' "$dir/$1")
  echo "$2: $got, expected $3 $4 $5"
  [ "$got" = "$3 $4 $5" ]
}

"$bin" show null --cost >"$dir/null" 2>&1
code=$?
check 'without servers it ends well' test $code -eq 0
check 'without servers: no round trips, and nobody is refused' counts null 'round trips' 0.00 0.00 -
check 'without servers: it says that there are none' grep -q 'it has none' "$dir/null"

"$bin" show redis-token --cost >"$dir/token" 2>&1
code=$?
if [ $code -eq 5 ]; then
  echo "ok $((n + 1)) - redis-token # SKIP no Redis server here"
  echo "1..$((n + 1))"
  exit 0
fi
check 'on servers it ends well' test $code -eq 0
check 'one round trip each' counts token 'round trips' 1.00 1.00 1.00
check 'one request each' counts token requests 1.00 1.00 1.00
check 'one SET to acquire, also in vain' counts token 'command set' 1.00 0.00 1.00
check 'one script to release' counts token 'command evalsha' 0.00 1.00 0.00
check 'a key is set and deleted, and a refusal changes nothing' counts token 'writes committed' 1.00 1.00 0.00
check 'a server that keeps nothing writes nothing' counts token 'writes to files' 0.00 0.00 0.00
check 'nor does it sync' counts token fsyncs 0.00 0.00 0.00
echo "1..$n"
