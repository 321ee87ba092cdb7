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
play -o "$dir/failed" --hook 'echo no right to do it; exit 3'
check 'a hook that fails leaves it undecided' [ "$(verdict "$dir/failed")" = undecided ]
check 'and says why' grep -q 'the hook was not done: .*no right to do it' "$dir/failed/trials.csv"

# A terminal: Enter comes when the order was printed.
cat >"$dir/type.py" <<'PY'
import os, pty, sys
pid, tty = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while True:
    try: got = os.read(tty, 4096)
    except OSError: break
    if not got: break
    said += got
    if b"then press Enter" in said: os.write(tty, b"\n"); print(said.decode()); said = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
python3 "$dir/type.py" $run -o "$dir/typed" >"$dir/printed" 2>&1
check 'a person presses Enter, and it goes on' [ "$(verdict "$dir/typed")" = safe ]
check 'the order was printed' grep -q 'empty the server, then press Enter' "$dir/printed"
check 'nothing is left' [ -z "$(servers)" ]
echo "1..$n"
