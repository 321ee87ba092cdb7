#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Faults on real servers: what each directed scenario comes to, and that a fault which did not fire, a point nobody passed or a
# death that nobody ordered never makes a trial safe. TAP. Usage: live-faults.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"

# ---- asking ---------------------------------------------------------------------------------------------------------
run() { # RUN, then what to run: its cells in RUN.json
  run=$1
  shift
  played 'the machine stalled' "$dir/$run" "$bin" run "$@" -n 1 -j 3 --seed 1 --json
  mv "$dir/$run.out" "$dir/$run.json"
}
value() { # KEY SCENARIO SYSTEM GUARD [RUN]: of that cell, in whatever run it was
  cat "$dir"/${5:-*}.json | awk -v key="$1" -v cell="\"$2\" \"$3\" \"$4\"" '
    { name = $1; sub(/^ *"[a-z0-9_]*": /, ""); sub(/,$/, "") }
    name == "\"scenario\":" { at = $0 }
    name == "\"system\":" || name == "\"guard\":" { at = at " " $0 }
    at == cell && name == "\"" key "\":" { gsub(/^"|"$/, ""); print }'
}
comes_to() { # VERDICT SCENARIO SYSTEM [GUARD [RUN]]
  guard=${4:-none}
  verdict=$(value verdict "$2" "$3" "$guard" "$5")
  n=$((n + 1))
  if [ "$verdict" = "$1" ]; then
    echo "ok $n - $2 $3 $guard: $1"
  else
    echo "not ok $n - $2 $3 $guard: $1"
    echo "# it is '$verdict': $(value why "$2" "$3" "$guard" "$5")"
  fi
}
because() { # SCENARIO PATTERN [RUN [SYSTEM]]: why it is undecided
  comes_to undecided "$1" "${4:-redis-token@redis}" none "$3"
  why=$(value why "$1" "${4:-redis-token@redis}" none "$3")
  check "  because: $2" expr "$why" : ".*$2"
}
has() { # SCENARIO PATTERN [GUARD]: a line of the history of its trial
  "$bin" check --export json "$dir"/*/histories/"$1.redis-token@redis.${3:-none}".* >"$dir/events"
  check "  $2" grep -qE "$2" "$dir/events"
}
proved() { has "$1" "\"e\":\"proved\",\"what\":\"$2\",\"step\":[0-9]+[,}]"; }                  # SCENARIO STEP
answers() { has "$1" "\"e\":\"reply\",\"what\":\"$2\",\"step\":[0-9]+,\"answer\":\"$3\"" "$4"; } # SCENARIO STEP ANSWER [GUARD]
fenced_nobody() { # RUN SCENARIO.SYSTEM: the trial noted, after the failover, a server that goes on though another one was promoted
  "$bin" check --export json "$dir/$1/histories/$2".none.* >"$dir/events" || return 2
  awk '/"e":"failover"/ { over = 1 } over && /"e":"note".*the operator fenced nobody: the old primary postgres-1 still runs/ { found = 1 } END { exit !found }' "$dir/events"
}
own() { # NAME, with steps (and sections) on standard input: a scenario of this test
  printf '[scenario]\ntitle = t\nquestion = q\nrefuted = r\nmin_handoffs = 0\n[workload]\nclients = 2\nttl_ms = 2000\n' >"$dir/$1.ini"
  cat >>"$dir/$1.ini"
  guards=$(sed -n 's/^\[expect \([a-z]*\)\]$/, \1/p' "$dir/$1.ini" | tr -d '\n')
  sed -i "s/^refuted = r\$/&\nguards = none$guards/" "$dir/$1.ini"
  grep -q '^\[expect' "$dir/$1.ini" || printf '[expect]\nredis-token@redis = race: it is a test\n' >>"$dir/$1.ini"
}

# ---- scenarios of this test -----------------------------------------------------------------------------------------
# Stopped before it looks at its clock, or asks, a client notices that it was away; without a guard it does not look.
own before-check <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 1 read
step = stop client 1 at before-check
step = client 1 write
step = client 2 begin acquire within 8s
step = await client 2 holds within 5s
step = client 2 read
step = client 2 write
step = resume client 1
step = client 2 release within 1s
[proof]
past_lease = yes
[expect]
redis-token@redis = violated: the lease is over when it goes on
[expect deadline]
redis-token@redis = safe: it looks after it was stopped
[expect recheck]
redis-token@redis = safe: it asks after it was stopped
E
own crash <<'E'
[timeline]
step = crash client 1 at after-check
step = client 1 acquire within 3s
step = client 2 acquire within 200ms
step = client 1 read
step = client 2 acquire within 6s
step = client 2 read
step = client 2 write
step = client 2 release within 1s
E
# Who asks while the clock is wrong is not answered; before and after it all is well.
own clock-unanswered <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 200ms
step = clock primary +5ms
step = cut client 2 from all
step = client 2 acquire within 300ms
step = heal
step = clock primary -5ms
step = client 1 release within 1s
step = client 2 acquire within 2s
E
own never-passed <<'E'
[timeline]
step = stop client 1 at before-release
step = client 1 acquire within 3s
step = client 2 acquire within 200ms
step = client 1 read
E
# The key expires after one second of this server's two.
own fast-server <<'E'
[timeline]
step = clock node 1 rate 2
step = client 1 acquire within 3s
step = client 1 read
step = client 2 acquire within 1500ms
step = client 2 read
step = client 1 write
step = client 2 write
step = client 1 release within 1s
step = client 2 release within 1s
E
# By its own clock the lease lasts four seconds, so the guard that looks there is content for too long.
own slow-client <<'E'
[timeline]
step = clock client 1 rate 0.5
step = client 1 acquire within 3s
step = client 1 read
step = client 2 acquire within 4s
step = client 2 read
step = client 2 write
step = client 1 write
step = client 2 release within 1s
[proof]
past_lease = yes
[expect deadline]
redis-token@redis = violated: it trusts a clock that is slow
E
# The key of two seconds lives for seven.
own clock-back <<'E'
[timeline]
step = client 1 acquire within 3s
step = clock node 1 -5s
step = client 2 acquire within 3500ms
step = client 1 release within 1s
step = client 2 acquire within 3s
step = client 2 release within 1s
E
# A holder that renews keeps its lock; paused it does not.
own pause-renewed <<'E'
renew = yes
[timeline]
step = client 2 acquire within 3s
step = client 2 read
step = client 1 acquire within 2500ms
step = pause holder
step = client 1 acquire within 5s
step = client 1 read
step = client 1 write
step = resume client 2
step = client 2 write
step = client 1 release within 1s
[proof]
past_lease = yes
E
own pause-resume <<'E'
[timeline]
step = client 2 acquire within 3s
step = pause holder
step = client 1 acquire within 500ms
step = resume holder
step = client 2 read
step = client 2 write
step = client 2 release within 1s
step = client 1 acquire within 3s
step = client 1 release within 1s
E
own cut-waiters <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 begin acquire within 4s
step = cut waiters from all
step = client 1 release within 1s
step = wait 300ms
step = client 1 acquire within 1s
step = client 1 read
step = heal
step = client 1 release within 1s
step = await client 2 holds within 3s
step = client 2 release within 1s
E
# Two cuts hold at once, the younger over a link that the older holds already. Each is proved by its own rules and healed by itself.
own cuts-overlap <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 200ms
step = cut client 1 from all
step = cut primary from clients
step = heal client 1 from all
step = client 1 release within 300ms
step = client 2 acquire within 300ms
step = heal primary from clients
step = client 2 acquire within 4s
step = client 2 release within 1s
step = cut client 1 from all
step = client 2 acquire within 5s
step = client 2 release within 1s
step = heal
step = client 1 acquire within 3s
step = client 1 release within 1s
E
# One way only, over connections that exist: the request arrives and its answer is lost, or the request is lost.
own cut-answers <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = client 1 release within 1s
step = cut primary to client 1
step = client 1 acquire within 300ms
step = client 2 acquire within 200ms
step = heal primary client 1
step = client 2 acquire within 4s
step = client 2 release within 1s
E
own cut-requests <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = client 1 release within 1s
step = cut client 1 to all
step = client 1 acquire within 300ms
step = client 2 acquire within 200ms
step = cut all to client 1
step = heal client 1 all
step = client 1 acquire within 300ms
step = heal all client 1
step = client 2 release within 1s
step = client 1 acquire within 4s
step = client 1 release within 1s
E
# The request arrives and its answer is late: too late for who asked, and the lock is taken all the same. Who is not slow is answered.
own slow-answers <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = client 1 release within 1s
step = slow primary to client 1 700ms
step = client 1 acquire within 300ms
step = client 2 acquire within 200ms
step = wait 500ms
step = heal primary client 1
step = client 2 acquire within 4s
step = client 2 release within 1s
step = client 1 acquire within 3s
step = client 1 release within 1s
E
# Nobody waits for the proof, and who is slow gets the lock later.
own slow-requests <<'E'
[timeline]
step = client 2 acquire within 3s
step = client 1 acquire within 200ms
step = slow client 1 to all 1s
step = client 1 begin acquire within 4s
step = client 2 release within 500ms
step = await client 1 holds within 3s
step = client 1 read
step = client 1 write
step = client 1 release within 3s
E
# What was asked arrives when it is released, when somebody else has been granted.
own hold-requests <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 100ms
step = client 1 release within 1s
step = hold client 1 to all
step = client 1 begin acquire within 4s
step = client 2 acquire within 300ms
step = wait 300ms
step = release client 1 to all
step = client 2 release within 1s
step = await client 1 holds within 3s
step = client 1 release within 1s
step = hold all to client 2
step = heal
step = client 2 acquire within 300ms
step = client 2 release within 1s
E
# Faults that cannot be proved. What comes before them would be enough to be safe.
unprovable() { # NAME, then steps
  name=$1
  shift
  {
    echo '[timeline]'
    printf 'step = %s\n' 'client 1 acquire within 3s' 'client 2 acquire within 200ms' 'client 1 release within 1s' "$@"
  } | own "$name"
}
unprovable cut-dead 'kill primary' 'cut client 1 from primary'
unprovable slow-too-short 'slow primary to client 1 5s' 'heal'
unprovable slow-twice 'slow primary to client 1 300ms' 'hold all to client 1'
unprovable slow-cut 'cut client 1 from all' 'slow primary to client 1 300ms'
unprovable slow-itself 'slow primary to node 1 300ms'
unprovable kill-twice 'kill primary' 'kill node 1'
unprovable kill-nobody 'kill replicas'
unprovable clock-paused 'pause primary' 'clock primary +5s'
unprovable no-holder 'pause holder'
unprovable no-waiter 'cut waiters from all'
unprovable paused-before-point 'client 1 acquire within 1s' 'stop client 1 at before-check' 'pause client 1' 'client 1 read'
unprovable reset-again 'reset client 1 from primary' 'reset client 1 from primary'
unprovable released-nothing 'client 2 release anyway within 1s'
unprovable renews-nothing 'end renewals of client 2'
sed -i 's/^ttl_ms = .*/&\nrenew = yes/' "$dir/renews-nothing.ini"
own clock-mono <<'E'
[timeline]
step = client 1 acquire within 3s
step = clock client 1 monotonic +5s
step = client 2 acquire within 300ms
step = client 1 release within 1s
E
# The clock of a client is set, and that is proved, while the client asks.
own clock-asks <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 begin acquire within 5s
step = clock client 2 +60m
step = client 1 release within 1s
step = client 2 release within 1s
E
# Points that are passed in a command which had begun before.
own begun-stop <<'E'
[timeline]
step = client 1 acquire within 3s
step = stop client 2 at before-set
step = client 2 begin acquire within 3s
step = wait 300ms
step = client 1 release within 1s
step = resume client 2
step = await client 2 holds within 2s
step = client 2 release within 1s
E
own begun-crash <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 2 acquire within 200ms
step = crash client 2 at before-set
step = client 2 begin acquire within 3s
step = wait 300ms
E
# Safe if nobody dies; the later ones have a fault that could hide who did.
dying() { # NAME, then more steps
  name=$1
  shift
  {
    echo '[timeline]'
    printf 'step = %s\n' 'client 1 acquire within 3s' 'client 1 release within 1s' 'stop client 2 at after-check' \
      'client 2 acquire within 1s' 'client 2 read' 'client 1 acquire within 100ms' 'wait 2s' "$@"
  } | own "$name"
}
dying dies
dying dies-kill 'kill client 2'
dying dies-restart 'restart node 1'

# The server that granted falls silent, and another one decides: who asks before it writes has to be answered all the same.
own silent <<'E'
[timeline]
step = client 1 acquire within 3s
step = client 1 read
step = pause primary
step = await failover within 20s
step = client 2 begin acquire within 3s
step = wait 4s
step = client 1 write
step = client 2 release within 2s
E
sed -i 's/^ttl_ms = .*/ttl_ms = 30000/' "$dir/silent.ini"
# What only some locks can do: who gave up has no place, work that the server refuses was not done, a program that knows no `stop` was not told.
unprovable no-place 'await client 2 has a place within 300ms' 'client 2 acquire within 1s' 'client 2 release within 1s'
unprovable no-work 'client 1 acquire within 1s' 'client 1 work within 1s'
unprovable no-stop 'shut down client 1'
sed -i 's/^ttl_ms = .*/&\noption = pg-advisory.work=DROP TABLE none_such/' "$dir/no-work.ini"
sed -i 's/^\[expect\]/&\n* = race: it is a test/' "$dir"/no-place.ini "$dir"/no-work.ini "$dir"/no-stop.ini
# It cannot serve before the cut is healed: that it says so is all that can be waited for.
own restart-alone <<'E'
[timeline]
step = cut node 1 from all
step = restart node 1
step = client 1 acquire within 9s
step = client 2 acquire within 300ms
step = client 1 release within 3s
step = heal node 1 from all
step = client 2 acquire within 9s
step = client 2 release within 3s
[expect]
zk-sequential@zk-x3 = safe: two of three are a majority
etcd-lease@etcd-x3 = safe: two of three are a majority
E
mkdir "$dir/more" && mv "$dir/silent.ini" "$dir/restart-alone.ini" "$dir/no-place.ini" "$dir/no-work.ini" "$dir/no-stop.ini" "$dir/more/"

# ---- somebody dies --------------------------------------------------------------------------------------------------
# The client that stands still at its point shows that the trial is where it should be. Each search is one process: the trial waits two
# seconds only, and on a busy machine one for each process of it would take longer.
stopped() { # RUN
  for status in $(grep -ls '^State:.T' /proc/[0-9]*/status); do
    process=${status%/status}
    tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -qF -- "$dir/$1" && echo "${process#/proc/}"
  done
}
server() { # RUN: the Redis that works in its scratch folder
  find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$dir/*$1*/scratch/*/redis-*" 2>/dev/null | cut -d/ -f3
}
kill_in() { # RUN, what finds the victim, scenario
  run "$1" "$dir/$3.ini" -b redis-token@redis &
  tries=400
  while [ -z "$(stopped "$1")" ] && [ $tries -gt 0 ]; do
    sleep 0.02
    tries=$((tries - 1))
  done
  victim=$($2 "$1")
  [ -n "$victim" ] && kill -9 $victim
  wait $!
}

# ---- runs -----------------------------------------------------------------------------------------------------------
redis() {
  run redis pause-holder slow-holder slow-holder-renewed crash-holder restart-node restart-delayed clock-jump clock-client \
    partition -b redis-token@redis -g none
  run guarded partition -b redis-token@redis -g deadline
}
others() {
  run writer pause-writer -b redis-token@redis -g none,deadline,signal,recheck,claim,fence
  run local pause-holder slow-holder crash-holder -b local@none -g none
  run row pause-writer crash-holder clock-jump partition -b pg-row@pg -g none
  run lease clock-client -b pg-lease-client@pg -g none
  run node restart-node -b pg-lease@pg -g none
  run split split-brain -b redis-token@sentinel,redlock@redis-x3,pg-row@pg-async -g none
  run killed failover -b pg-row@pg-async -g none
}
silent() { run silent "$dir/more/silent.ini" -b redis-token@sentinel,pg-row@pg-async -g recheck; }
alone() { run alone "$dir/more/restart-alone.ini" -b zk-sequential@zk-x3,etcd-lease@etcd-x3 -g none; }
signal() {
  run signal partition -b zk-sequential@zk-x3 -g signal
  for guard in none signal; do run renewed-$guard partition-renewed -b redis-token@redis,redlock@redis-x5 -g $guard; done
}
lagging() {
  run recipe lagging-follower-recipe -b zk-sequential@zk-x3 -g none &
  run lagging lagging-follower -b zk-sequential@zk-x3 -g none &
  wait
  run long lagging-follower-long -b zk-sequential@zk-x3 -g none &
  run between lagging-follower-between -b zk-sequential@zk-x3 -g none &
  run left lagging-follower-left -b zk-sequential@zk-x3 -g none &
  wait
}
some() {
  run place "$dir/more/no-place.ini" -b zk-sequential@zk,etcd-v3lock@etcd -g none
  run work "$dir/more/no-work.ini" -b pg-advisory@pg -g none
  run stop "$dir/more/no-stop.ini" --exec "python3 $(dirname "$0")/../../adapters/flawed.py deaf" -g none
}
mine() { run own "$dir"/*.ini -b redis-token@redis; }
redis &
others &
mine &
silent &
alone &
signal &
some &
wait
reason=$(cat "$dir"/*.json | grep -m1 -E '"why": ".*(, which is not installed|needs network namespaces|needs the clock shim)')
if [ -n "$reason" ]; then
  echo "1..0 # SKIP $reason"
  exit 0
fi
lagging
kill_in client-dies stopped dies
kill_in server-dies server dies
kill_in client-hidden stopped dies-kill
kill_in server-hidden server dies-restart

# ---- what came of them ----------------------------------------------------------------------------------------------
comes_to violated pause-holder redis-token@redis
comes_to stuck pause-holder local@none
for guard in none deadline signal recheck; do
  comes_to violated pause-writer redis-token@redis $guard
  check '  an update was lost' test "$(value lost_updates pause-writer redis-token@redis $guard)" -ge 1
done
comes_to safe pause-writer redis-token@redis fence
check '  because the resource refused' test "$(value fenced_off pause-writer redis-token@redis fence)" -ge 1
check '  and no update was lost' test "$(value lost_updates pause-writer redis-token@redis fence)" -eq 0
comes_to safe pause-writer redis-token@redis claim
check '  because the resource refused' test "$(value refused pause-writer redis-token@redis claim)" -ge 1
check '  and no update was lost' test "$(value lost_updates pause-writer redis-token@redis claim)" -eq 0
comes_to stuck pause-writer pg-row@pg
comes_to safe crash-holder redis-token@redis
orphan=$(value orphan_ms crash-holder redis-token@redis none)
check "  free after ${orphan%.*} ms: not long before the lease is over, nor a second after it" \
  test "${orphan%.*}" -ge 1000 -a "${orphan%.*}" -le 3000
for system in pg-row@pg local@none; do
  comes_to stuck crash-holder $system
  orphan=$(value orphan_ms crash-holder $system none)
  check "  not free for as long as it was waited for: ${orphan%.*} ms" test "${orphan%.*}" -ge 2500
done
comes_to violated slow-holder redis-token@redis
comes_to safe slow-holder local@none
comes_to safe slow-holder-renewed redis-token@redis
comes_to violated restart-node redis-token@redis
comes_to safe restart-node pg-lease@pg
comes_to safe restart-delayed redis-token@redis
comes_to violated clock-jump redis-token@redis
comes_to n/a clock-jump pg-row@pg
comes_to violated clock-client pg-lease-client@pg
comes_to n/a clock-client redis-token@redis
comes_to violated split-brain redis-token@sentinel
comes_to n/a split-brain redlock@redis-x3
comes_to violated split-brain pg-row@pg-async
check '  and names the old primary that the operator left running' fenced_nobody split split-brain.pg-row@pg-async
check '  which a Sentinel that promotes does not do' not fenced_nobody split split-brain.redis-token@sentinel
comes_to violated failover pg-row@pg-async
check '  whose old primary is dead, so nobody was to be fenced' not fenced_nobody killed failover.pg-row@pg-async
comes_to violated partition redis-token@redis
comes_to safe partition redis-token@redis deadline
comes_to stuck partition pg-row@pg
for system in zk-sequential@zk-x3 etcd-lease@etcd-x3; do comes_to safe restart-alone $system; done
comes_to safe partition zk-sequential@zk-x3 signal
check '  because its library had told it' test "$(value stopped_in_doubt partition zk-sequential@zk-x3 signal)" -ge 1
for system in redis-token@redis redlock@redis-x5; do
  comes_to violated partition-renewed $system
  comes_to safe partition-renewed $system signal
  check '  because a renewal brought no answer' test "$(value stopped_in_doubt partition-renewed $system signal)" -ge 1
done
comes_to violated lagging-follower-recipe zk-sequential@zk-x3
"$bin" explain "$dir/recipe" lagging-follower-recipe.zk-sequential@zk-x3 >"$dir/recipe.story"
check '  by a list that was older than that of the other holder' grep -q 'had read an older state' "$dir/recipe.story"
comes_to safe lagging-follower zk-sequential@zk-x3
comes_to safe lagging-follower-long zk-sequential@zk-x3
check 'lagging-follower-between zk-sequential@zk-x3: decided' sh -c 'case $1 in violated | safe) ;; *) echo "$1"; exit 1 ;; esac' sh "$(value verdict lagging-follower-between zk-sequential@zk-x3 none)"
comes_to safe lagging-follower-left zk-sequential@zk-x3
"$bin" explain "$dir/left" lagging-follower-left.zk-sequential@zk-x3 >"$dir/left.story"
check '  and shows that the server left' grep -q 'has left the others: it serves nobody' "$dir/left.story"
for system in redis-token@sentinel pg-row@pg-async; do
  comes_to safe silent $system recheck
  check '  because another server answered' test "$(value checks silent $system recheck)" -eq 2
  check '  and no check went without an answer' test "$(value stopped_no_answer silent $system recheck)" -eq 0
done

comes_to violated before-check redis-token@redis
for guard in deadline recheck; do
  comes_to safe before-check redis-token@redis $guard
  answers before-check 'client 1 write' lost $guard
done
comes_to safe crash redis-token@redis
proved crash 'crash client 1 at after-check'
answers crash 'client 2 acquire within 200ms' refused
check '  the client died' grep -q '"c":"client-1".*"e":"crash"' "$dir/events"
check '  and did not read' sh -c '! grep -q "\"c\":\"client-1\".*\"e\":\"read\"" "$1"' - "$dir/events"
because clock-unanswered 'nobody who asked while .*clock primary +5ms.* lasted was answered'
because never-passed 'stop client 1 at before-release: it never passed that point'
comes_to violated fast-server redis-token@redis
comes_to violated slow-client redis-token@redis deadline
comes_to safe clock-back redis-token@redis
answers clock-back 'client 2 acquire within 3500ms' refused
answers clock-back 'client 2 acquire within 3s' granted
comes_to violated pause-renewed redis-token@redis
answers pause-renewed 'client 1 acquire within 2500ms' refused
comes_to safe pause-resume redis-token@redis
answers pause-resume 'client 1 acquire within 500ms' refused
answers pause-resume 'client 2 write' done
comes_to safe cut-waiters redis-token@redis
answers cut-waiters 'client 1 acquire within 1s' granted

comes_to safe cuts-overlap redis-token@redis
proved cuts-overlap 'cut client 1 from all'
proved cuts-overlap 'cut primary from clients'
answers cuts-overlap 'client 2 acquire within 300ms' '(unknown|no-answer)' # whether its request had left is a matter of moments
answers cuts-overlap 'client 2 acquire within 4s' granted
answers cuts-overlap 'client 2 acquire within 5s' granted # the late request of before may have come between: it is over with its lease
answers cuts-overlap 'client 1 acquire within 3s' granted
comes_to safe cut-answers redis-token@redis
proved cut-answers 'cut primary to client 1'
answers cut-answers 'client 1 acquire within 300ms' unknown
answers cut-answers 'client 2 acquire within 200ms' refused
answers cut-answers 'client 2 acquire within 4s' granted
comes_to safe cut-requests redis-token@redis
proved cut-requests 'cut client 1 to all'
proved cut-requests 'cut all to client 1'
answers cut-requests 'client 2 acquire within 200ms' granted
answers cut-requests 'client 1 acquire within 4s' granted

comes_to safe slow-answers redis-token@redis
proved slow-answers 'slow primary to client 1 700ms'
has slow-answers '"e":"trip","step":4,"from":"redis-1","host":"client-1","ms":([7-9]|[1-9][0-9])[0-9][0-9]}'
has slow-answers '"e":"trip","step":4,"from":"client-1","host":"redis-1","ms":[0-6]?[0-9]?[0-9]}'
check '  somebody used it' sh -c '! grep -q "\"e\":\"unused\"" "$1"' - "$dir/events"
answers slow-answers 'client 1 acquire within 300ms' unknown
answers slow-answers 'client 2 acquire within 200ms' refused
answers slow-answers 'client 2 acquire within 4s' granted
answers slow-answers 'client 1 acquire within 3s' granted
comes_to safe slow-requests redis-token@redis
proved slow-requests 'slow client 1 to all 1s'
answers slow-requests 'client 1 begin acquire within 4s' granted
comes_to safe hold-requests redis-token@redis
proved hold-requests 'hold client 1 to all'
answers hold-requests 'client 2 acquire within 300ms' granted
answers hold-requests 'client 1 begin acquire within 4s' granted
has hold-requests '"e":"trip","step":4,"from":"client-1","host":"redis-1","ms":([3-9]|[1-9][0-9])[0-9][0-9]}'
has hold-requests '"e":"unused","what":"hold all to client 2","step":12}'
because slow-too-short 'slow primary to client 1 5s: undone before its packet had come, so it is not proved'
because slow-twice 'what redis-1 sends to client-1 is late already'
because slow-cut 'the link of redis-1 and client-1 is cut'
because slow-itself 'no link between these two'
because cut-dead 'could not be reached even before the cut'
because kill-twice 'was already dead'
because kill-nobody 'this system has no such host'
because paused-before-point 'client 1 read: no answer in time'
because clock-paused 'who is hit cannot tell the time now'
because reset-again 'reset client 1 from primary: there is no connection'
because released-nothing 'it has released nothing that it could release again'
because renews-nothing 'end renewals of client 2: nothing of it is renewed'
for system in zk-sequential@zk etcd-v3lock@etcd; do
  comes_to delayed no-place $system
  check '  because the servers have none' expr "$(value why no-place $system none)" : '.*the servers have none'
done
because no-work 'client 1 work within 1s: .*none_such' work pg-advisory@pg
because no-stop 'shut down client 1: no such request: stop' stop exec:deaf@redis
comes_to safe clock-mono redis-token@redis
has clock-mono '"host":"client-1","clock":"monotonic","ms":(4999|50[0-9][0-9])}'
proved clock-mono 'clock client 1 monotonic [+]5s'
because no-holder 'nobody held the lock within a second'
because no-waiter 'nobody asked for the lock within a second'
comes_to safe dies redis-token@redis none own
because dies 'client-2 died by itself: died of SIGKILL' client-dies
because dies 'redis.* died by itself' server-dies
comes_to safe dies-kill redis-token@redis none own
because dies-kill 'client-2 died by itself' client-hidden
comes_to safe dies-restart redis-token@redis none own
because dies-restart 'redis.* died by itself' server-hidden
comes_to safe clock-asks redis-token@redis
proved clock-asks 'clock client 2 [+]60m'
answers clock-asks 'client 2 begin acquire within 5s' granted
comes_to safe begun-stop redis-token@redis
proved begun-stop 'stop client 2 at before-set'
answers begun-stop 'client 2 begin acquire within 3s' granted
comes_to safe begun-crash redis-token@redis
proved begun-crash 'crash client 2 at before-set'
echo "1..$n"
