#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Campaigns on real servers: schedules that a seed decides, faults that are proved, and that whoever was hit is back when a fault
# is over. TAP. Usage: live-campaign.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

# ---- asking ---------------------------------------------------------------------------------------------------------
run() { # RUN SEED, then what to run
  run=$1 seed=$2
  shift 2
  "$bin" run "$@" -n 1 -j 3 --seed "$seed" -o "$dir/$run" >"$dir/$run.out" 2>&1
  echo $? >"$dir/$run.code"
}
trial() { # COLUMN RUN SYSTEM: of its only trial there; `why` may have commas, so what is behind it is counted from the end
  awk -F, -v column="$1" -v system_="$3" '
    NR == 1 { columns = NF; for (i = 1; i <= NF; i++) at[$i] = i }
    $2 == system_ { print $(at[column] > at["why"] ? at[column] + NF - columns : at[column]) }' "$dir/$2/trials.csv"
}
schedule() { echo "$dir/$1/schedules/$2.txt"; } # RUN, name of the trial
events() { "$bin" check --export json "$dir/$1/histories/$2.hist"; }

# ---- runs -----------------------------------------------------------------------------------------------------------
own() { # NAME DURATION, faults
  printf '[scenario]\ntitle = t\nquestion = q\nrefuted = r\nmin_handoffs = 0\n[workload]\nclients = 3\nhold_ms = 5\nthink_ms = 1\n' >"$dir/$1.ini"
  printf 'ttl_ms = 400\nwait_ms = 1500\nwarmup_s = 0.2\nduration_s = %s\n[campaign]\nevery_ms = 100\nlasts_ms = 600\n' "$2" >>"$dir/$1.ini"
  name=$1
  shift 2
  {
    printf 'fault = %s\n' "$@"
    printf '[proof]\npast_lease = yes\n[expect]\nredis-token@redis = race: it is a test\n'
  } >>"$dir/$name.ini"
}
own back 10 'kill client any' 'kill primary' 'pause holder' 'pause primary' 'cut client any from primary' 'clock node any +5s'
own clocks 4 'clock node any +5s'
sed -i 's/lasts_ms = .*/lasts_ms = 300/' "$dir/clocks.ini"
own nobody 1 'cut primary from replicas'
own aside 4 'cut client any from node 3' # a replica: clients talk to the primary and to Sentinels
own strangers 4 'cut primary from replicas' 'pause client any'
short="-s duration_s=4"
# Three lanes of about the same length.
{
  run first 7 storm -b redis-token@redis,pg-lease@pg,broken -g none $short
  run fenced 7 storm -b redis-token@redis -g fence $short
  run other 8 storm -b local -g none $short
} &
{
  run back 28 "$dir/back.ini" -b redis-token@redis
  run nobody 1 "$dir/nobody.ini" -b redis-token@redis,local
} &
{
  run clocks 1 "$dir/clocks.ini" -b redis-token@redis
  run aside 1 "$dir/aside.ini" -b redis-token@sentinel
  run strangers 3 "$dir/strangers.ini" -b redlock@redis-x3,redis-token@sentinel
} &
wait
reason=$(cat "$dir"/*.out | grep -m1 -E 'skipped: .*(, which is not installed|needs network namespaces|needs the clock shim)')
if [ -n "$reason" ]; then
  echo "1..0 # SKIP $reason"
  exit 0
fi

# ---- schedules ------------------------------------------------------------------------------------------------------
one=$(schedule first storm.redis-token@redis.none.c5.t1)
check 'a trial has a schedule' test -s "$one"
check 'another system has the same faults' cmp "$one" "$(schedule first storm.pg-lease@pg.none.c5.t1)"
check 'one without servers has as many' test "$(wc -l <"$one")" -eq "$(wc -l <"$(schedule first storm.broken@none.none.c5.t1)")"
check '  of which those without a host are replaced' grep -q '(in place of: ' "$(schedule first storm.broken@none.none.c5.t1)"
check 'another run with the same seed and another guard, too' cmp "$one" "$(schedule fenced storm.redis-token@redis.fence.c5.t1)"
other=$(schedule other storm.local@none.none.c5.t1)
check 'another seed has other faults' test -s "$other"
check '  which are not the same' sh -c '! cmp -s "$1" "$2"' - "$one" "$other"

# ---- verdicts -------------------------------------------------------------------------------------------------------
check 'the liar is caught' test "$(trial verdict first broken@none)" = violated
took=$(trial trial_ms first broken@none)
check '  in less than ten seconds' test "${took%.*}" -lt 10000
check 'faults of a Redis are proved' test "$(trial faults first redis-token@redis)" -gt 0
check 'and of a PostgreSQL' test "$(trial faults first pg-lease@pg)" -gt 0
check 'all of them are as expected: exit 0' test "$(cat "$dir/first.code")" -eq 0
check 'no server logs are kept of them' test -z "$(ls "$dir/first/logs" 2>/dev/null)"
check 'without any fault a system with servers is undecided' test "$(trial verdict nobody redis-token@redis)" = undecided
check '  and the reason is said' grep -qF '0 of 0 faults were proved' "$dir/nobody/trials.csv"
check '  in the history, too' \
  sh -c '"$1" check --export json "$2" | grep -q "\"e\":\"not-done\",\"what\":\"cut primary from replicas\",.*\"why\":\"this system has no such host\""' - \
  "$bin" "$dir/nobody/histories/nobody.redis-token@redis.none.c3.t1.hist"
check 'one without servers is not' test "$(trial verdict nobody local@none)" = safe
check '  and has no faults' test "$(trial faults nobody local@none)" -eq 0

# ---- cuts that change nothing ---------------------------------------------------------------------------------------
check 'a cut that nobody used is proved' test "$(trial faults aside redis-token@sentinel)" -gt 0
check '  and no fault that was tested' test "$(trial faults_tested aside redis-token@sentinel)" -eq 0
check '  but one that was not used' test "$(trial faults_unused aside redis-token@sentinel)" -eq "$(trial faults aside redis-token@sentinel)"
check '  as the kept faults say' grep -q '"e":"unused"' "$dir/aside/faults/aside.redis-token@sentinel.none.c3.t1.jsonl"
apart=$(schedule strangers strangers.redlock@redis-x3.none.c3.t1)
check 'servers that never talk are not cut from one another' sh -c 'grep -q "pause.*(in place of: cut primary" "$1" && ! grep -q ": cut primary from replicas$" "$1"' - "$apart"
check '  those that replicate are' grep -q ': cut primary from replicas$' "$(schedule strangers strangers.redis-token@sentinel.none.c3.t1)"
check '  as often' test "$(grep -c 'cut primary' "$apart")" -eq "$(grep -c 'cut primary' "$(schedule strangers strangers.redis-token@sentinel.none.c3.t1)")"
check '  and that cut is used' test "$(trial faults_unused strangers redis-token@sentinel)" -eq 0

# ---- who was hit is back --------------------------------------------------------------------------------------------
faults=$(schedule back back.redis-token@redis.none.c3.t1)
for kind in 'kill client' 'kill primary' 'pause holder' 'pause primary' 'cut client' 'clock node 1'; do
  check "the seed of this test draws: $kind" grep -q "$kind" "$faults"
done
events back back.redis-token@redis.none.c3.t1 >"$dir/events"
proved=$(grep -c '"e":"proved",' "$dir/events")
check 'faults that were proved are counted' test "$(trial faults back redis-token@redis)" -eq "$proved"
check '  nearly all of those that were drawn' test $((proved + 1)) -ge "$(wc -l <"$faults")"
check '  and each of them is over' test "$(grep -c '"e":"over",' "$dir/events")" -eq "$(wc -l <"$faults")"
# From the end of each fault, but for those in the last two seconds: every client is granted again.
awk '
  { t = $0; sub(/.*"t":/, "", t); t += 0 }
  /"e":"over",/ { over[++count] = t; sub(/.*"what":"/, ""); sub(/".*/, ""); text[count] = $0 }
  /"e":"granted"/ { c = $0; sub(/.*"c":"/, "", c); sub(/".*/, "", c); granted[c] = 1; last[c] = t
    for (i = 1; i <= count; i++) if (!((i, c) in again)) again[i, c] = t }
  /"phase":"end"/ { end = t }
  END {
    for (i = 1; i <= count; i++)
      if (over[i] < end - 2e9)
        for (k = 1; k <= 3; k++)
          if (!((i, "client-" k) in again)) print "client-" k " is not granted after: " text[i]
    print count " faults, " length(granted) " clients" > "/dev/stderr"
  }' "$dir/events" >"$dir/missing" 2>"$dir/seen"
check "after every fault every client is granted again ($(cat "$dir/seen"))" test ! -s "$dir/missing"
sed 's/^/# /' "$dir/missing"
check '  all three of them' grep -q ' 3 clients' "$dir/seen"
events clocks clocks.redis-token@redis.none.c3.t1 >"$dir/events"
grep '"host":"redis-1","clock":"wall"' "$dir/events" >"$dir/told"
check 'a clock is set right before it is set again' sh -c '! grep -vE "\"ms\":(4[5-9]|5[0-4])[0-9][0-9]\}" "$1"' - "$dir/told"
check '  and that was looked at more than once' test "$(wc -l <"$dir/told")" -gt 3
echo "1..$n"
