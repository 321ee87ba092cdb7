#!/bin/bash
# SPDX-License-Identifier: MIT
# How near lockbench comes to the wire: redis-token in `spread` with 16 clients (or CLIENTS), beside what redis-benchmark reaches with the same two
# commands (SET NX PX and the release script, each in a run of its own: pairs/s = 1 / (1/a + 1/b)), in turn, in the same minute.
# Prints both and their ratio per round, and the median, the least and the greatest. A benchmark: it judges nothing.
# A round in which lockbench says that there is no speed (the hypervisor took time away) is left out; it ends after ROUNDS others, or three times as many in all.
# With DRIVER coroutine our clients share a process for each core; redis-benchmark has one process for all.
# Usage: bench-floor.sh LOCKBENCH [ROUNDS [CLIENTS [DRIVER]]]
bin=$1 rounds=${2:-3} clients=${3:-16} driver=${4:-process}
dir=$(mktemp -d) || exit 1
trap '[ -n "$server" ] && kill $server; rm -rf "$dir"' EXIT
redis=$(command -v redis-server || command -v redis-check-rdb) || { echo 'no Redis server program'; exit 77; }
port=$((20000 + $$ % 20000))
(exec -a redis-server "$redis" --port $port --bind 127.0.0.1 --save '' --appendonly no --dir "$dir") >"$dir/log" 2>&1 &
server=$!
tries=100
until redis-cli -p $port ping >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || { cat "$dir/log"; exit 1; }
  sleep 0.05
done
script='if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
sha=$(redis-cli -p $port script load "$script")
wire() { # command...: requests per second
  timeout 60 redis-benchmark -p $port -c $clients -n 200000 -r 1000000000 --csv "$@" | tail -1 | cut -d, -f2 | tr -d '"'
}
echo "redis-token@redis in spread, $clients clients by $driver, against redis-benchmark -c $clients on the same machine"
for round in $(seq $((3 * rounds))); do
  set_rate=$(wire SET lock:__rand_int__ tok NX PX 60000)
  release_rate=$(wire EVALSHA "$sha" 1 lock:__rand_int__ tok)
  redis-cli -p $port flushall >/dev/null
  "$bin" run spread -b redis-token@redis -n 1 -s clients=$clients -s driver=$driver -s duration_s=3 -o "$dir/run$round" >/dev/null 2>"$dir/err" || { cat "$dir/err"; exit 1; }
  ours=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "grants_per_s") c = i } NR == 2 { print $c }' "$dir/run$round/trials.csv")
  [ -n "$ours" ] || { echo "round $round: no speed"; continue; }
  awk -v r="$round" -v a="$set_rate" -v b="$release_rate" -v o="$ours" \
    'BEGIN { f = 1 / (1 / a + 1 / b); printf "round %d: floor %.0f pairs/s (SET %.0f/s, EVALSHA %.0f/s), ours %.0f pairs/s, ours/floor %.2f\n", r, f, a, b, o, o / f }'
  rounds=$((rounds - 1))
  [ "$rounds" -gt 0 ] || break
done | tee "$dir/rounds"
grep -o 'ours/floor .*' "$dir/rounds" | cut -d' ' -f2 | sort -n |
  awk '{ v[NR] = $1 } END { if (NR) printf "median ours/floor %.2f (%.2f to %.2f) over %d rounds\n", v[int((NR + 1) / 2)], v[1], v[NR], NR }'
