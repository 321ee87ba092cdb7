#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# `lockbench play` on real servers: a job per line comes in, an outcome per line goes out, and whatever ends it leaves nothing. TAP.
# Usage: live-play.sh LOCKBENCH
bin=$(realpath "$1")
. "$(dirname "$0")/../../helpers/tap.sh"
export TMPDIR="$dir"

job() { # SCENARIO SYSTEM, then more members
  printf '{"scenario":"%s","system":"%s"%s}\n' "$1" "$2" "${3:+,$3}"
}
play() { # what is on standard input; then $dir/got, $dir/err and $code
  "$bin" play "$@" >"$dir/got" 2>"$dir/err"
  code=$?
}
got() { grep -c "$1" "$dir/got"; }
outcomes() { wc -l <"$dir/got"; }
member() { # ID MEMBER
  sed -n "/\"id\":$1,/s/.*\"$2\":\"*\([^,\"}]*\).*/\1/p" "$dir/got"
}
has_ended() { ! kill -0 "$tool" 2>/dev/null || grep -q '^State:.Z' "/proc/$tool/status" 2>/dev/null; } # the shell may have reaped it
none_left() { [ -z "$(servers)" ] && [ -z "$(find "$dir" -maxdepth 2 -name '.*.partial')" ]; }

{
  job control redis-token@redis '"id":1'
  echo
  job split-brain redis-token@sentinel '"id":"two","seed":7'
  job split-brain redis-token@redis '"id":3'
  job contention redis-token@redis '"id":4,"guard":"fence","set":["clients=2","duration_s=0.2"]' | tr -d '\n'
} >"$dir/jobs"
play -j 4 -o "$dir/kept" <"$dir/jobs"
check 'jobs are played until the end of the input, which may have no newline' [ "$code $(outcomes)" = '0 4' ]
check 'control is safe' [ "$(member 1 verdict)" = safe ]
check 'split-brain on Sentinel is violated' [ "$(member '"two"' verdict)" = violated ]
check '  its violations are counted' [ "$(member '"two"' violations)" -ge 1 ]
check '  its history is kept and says the same' sh -c "\"$bin\" check '$(member '"two"' history)' >/dev/null; [ \$? -eq 3 ]"
check 'what means nothing there says so' [ "$(member 3 verdict)" = n/a ]
check 'guard and settings are those of the job' [ "$(member 4 cell) $(member 4 verdict)" = 'contention.redis-token@redis.fence safe' ]
check '  nothing but histories is kept' [ "$(ls -A "$dir/kept")" = histories ]
check 'a folder that has histories is refused' sh -c "\"$bin\" play -o '$dir/kept' </dev/null 2>/dev/null; [ \$? -eq 2 ]"

{
  job control redis-token@redis '"id":1'
  job control redis-token@redis '"sead":1'
  job control redis-token@redis '"id":3'
} >"$dir/jobs"
play <"$dir/jobs"
check 'a line that is wrong ends it with 2' [ "$code" = 2 ]
check '  and says which one it is, in one line' [ "$(wc -l <"$dir/err") $(grep -c "line 2: .*'sead'.*'seed'" "$dir/err")" = '1 1' ]
check '  after the jobs before it, and none behind it' [ "$(outcomes) $(member 1 verdict)" = '1 safe' ]
for wrong in '{' '[]' '{"scenario":"control"}' '{"scenario":"control","system":"redis-token@redi"}' '{"scenario":"kontrol","system":"redis-token@redis"}' \
  '{"scenario":"control","system":"redis-token@redis,redlock@redis-x3"}' '{"scenario":"contention","system":"redis-token@redis"}' \
  '{"scenario":"control","system":"redis-token@redis","guard":"fnce"}' '{"scenario":"control","system":"redis-token@redis","seed":-1}' \
  '{"scenario":"control","system":"redis-token@redis","set":["ttl_ms=x"]}' '{"scenario":"control","system":"redis-token@redis","fresh":1}'; do
  echo "$wrong" >"$dir/jobs"
  play <"$dir/jobs"
  check "  $wrong" [ "$code $(wc -l <"$dir/err") $(grep -c 'line 1: ' "$dir/err") $(outcomes)" = '2 1 1 0' ]
done

# Whoever writes the jobs waits for outcomes: the input stays open as long as 3 does.
mkfifo "$dir/in"
begin() {
  "$bin" play "$@" <"$dir/in" >"$dir/got" 2>"$dir/err" &
  tool=$!
  exec 3>"$dir/in"
}
begin -j 1
job control redis-token@redis '"id":1,"fresh":false' >&3
check 'an outcome comes while the input is open' wait_until 30 got '"id":1,'
job control redis-token@redis '"id":2,"fresh":false' >&3
check '  then the next job is played' wait_until 30 got '"id":2,'
check '  on the same servers' [ "$(member 1 fresh) $(member 2 fresh)" = 'true false' ]
job control redis-token@redis '"id":3' >&3
check '  or on its own, if it wants that' wait_until 30 got '"id":3,.*"fresh":true'
exec 3>&-
wait $tool
check 'the end of the input ends it' [ $? -eq 0 ]
check '  and nothing is left' none_left

begin
job pause-holder redis-token@redis >&3
job restart-node redis-token@sentinel '"fresh":false' >&3
check 'while it plays' wait_until 30 servers
kill -INT $tool
wait $tool
check '  SIGINT ends it with 130' [ $? -eq 130 ]
check '  and nothing is left' wait_until 15 none_left
exec 3>&-

mkfifo "$dir/pipe"
head -n 1 <"$dir/pipe" >"$dir/head" &
"$bin" play -j 1 <"$dir/in" >"$dir/pipe" 2>"$dir/err" &
tool=$!
exec 3>"$dir/in"
job control redis-token@redis '"id":1' >&3
job control redis-token@redis '"id":2' >&3
wait_until 30 has_ended || kill -KILL "$tool"
wait $tool
check 'a reader that goes away ends it, though the input is open' [ $? -eq 141 ]
check '  in silence' [ "$(wc -l <"$dir/head") $(wc -c <"$dir/err")" = '1 0' ]
exec 3>&-
check '  and nothing is left' wait_until 15 none_left

echo "1..$n"
