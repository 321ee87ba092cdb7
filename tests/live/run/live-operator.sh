#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A step that a person does, or the command of --hook: what it does is seen by the clients, another exit than 0 is undecided, and who has
# neither a terminal nor a hook is refused before anything starts. TAP. Usage: live-operator.sh LOCKBENCH
bin=$(realpath "$1") helpers=$(dirname "$0")/../../helpers
. "$helpers/tap.sh"
cat >"$dir/by-hand.ini" <<'INI'
[scenario]
min_handoffs = 0
title = by hand, the server is emptied while a client holds
question = Does somebody else get the lock?
refuted = It does.
guards = none
[workload]
clients = 2
ttl_ms = 20000
[timeline]
step = client 1 acquire within 2s
step = operator "empty the server"
step = client 2 acquire within 1s
[expect]
* = safe: nobody empties it
INI
run="$bin run $dir/by-hand.ini -b redis-token@redis -n 1 --again"
play() { $run "$@" </dev/null >"$dir/printed" 2>"$dir/complained"; }
verdict() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { print $at["verdict"] }' "$1/trials.csv"; }
refused() { # CODE WORDS [OPTION...]
  code=$1 words=$2
  shift 2
  play -o "$dir/refused" "$@"
  [ $? -eq "$code" ] && [ "$(wc -l <"$dir/complained")" -eq 1 ] && grep -qF -- "$words" "$dir/complained" && [ ! -e "$dir/refused" ]
}
check 'without a terminal and a hook it is refused' refused 2 'nobody can press Enter here: expected a terminal, or --hook CMD'
"$bin" run control -b local@none --hook true -o "$dir/no" >/dev/null 2>"$dir/complained"
check 'a hook without an order is refused' [ "$?:$(cat "$dir/complained")" = '2:lockbench: --hook true: no step here is an `operator "..."`' ]

hook='set -- ${LOCKBENCH_SERVERS#*//}; [ "$LOCKBENCH_ORDER" = "empty the server" ] && redis-cli -h ${1%:*} -p ${1#*:} flushall'
play -o "$dir/done" --hook "$hook"
check 'what the hook does breaks the lock' [ "$(verdict "$dir/done")" = violated ]
play -o "$dir/nothing" --hook true
check 'a hook that does nothing leaves it safe' [ "$(verdict "$dir/nothing")" = safe ]
told() { "$bin" explain "$1" by-hand.redis-token@redis >"$dir/story" && grep -qF "$2; what it did is not known from that" "$dir/story" && ! grep -q 'nobody to' "$dir/story"; }
check 'the story says no more of it than the hook does' told "$dir/nothing" 'the hook exited 0'
play -o "$dir/failed" --hook 'echo no right to do it; exit 3'
check 'a hook that fails leaves it undecided' [ "$(verdict "$dir/failed")" = undecided ]
check 'and says why' grep -q 'the hook was not done: .*no right to do it' "$dir/failed/trials.csv"

# A terminal: what is typed before the order counts for nothing, Enter comes when one was printed. Two orders are two Enters; one that closes has done nothing.
cat >"$dir/type.py" <<'PY'
import os, pty, sys
enters = int(sys.argv[1])
pid, tty = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
os.write(tty, b"\n\n\n")
said = b""
while True:
    try: got = os.read(tty, 4096)
    except OSError: break
    if not got: break
    said += got
    if b"then press Enter" in said:
        print(said.decode(), flush=True)
        said = b""
        os.write(tty, b"\n" if enters > 0 else b"\x04")
        enters -= 1
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
types() { python3 "$dir/type.py" "$@" >"$dir/printed" 2>&1; }
types 1 $run -o "$dir/typed"
check 'a person presses Enter, and it goes on' [ "$(verdict "$dir/typed")" = safe ]
check 'the order was printed' [ "$(grep -c 'empty the server, then press Enter' "$dir/printed")" = 1 ]
check 'the story says who did it' told "$dir/typed" 'Enter was pressed'
types 0 "$bin" run "$dir/by-hand.ini" -b redis-token@redis -n 1 -o "$dir/closed"
check 'who ends the input has done nothing' [ "$(verdict "$dir/closed")" = undecided ]
check 'and it says so' grep -q 'nobody pressed Enter' "$dir/closed/trials.csv"
sed -i 's/^step = operator.*/&\nstep = operator "look at it"/' "$dir/by-hand.ini"
types 2 $run -o "$dir/twice"
check 'two orders are two Enters' [ "$(verdict "$dir/twice"):$(grep -c 'then press Enter' "$dir/printed")" = safe:2 ]
check 'nothing is left' [ -z "$(servers)" ]
echo "1..$n"
