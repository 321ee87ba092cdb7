#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Mistakes a new user makes: each gets one clear line and the documented exit code, and leaves nothing behind. TAP.
# Usage: test-cli.sh LOCKBENCH PLUGIN_FOLDER
bin=$1 plugins=$2 root=$(cd "$(dirname "$0")/../.." && pwd) n=0
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; umount "$dir/full" 2>/dev/null; rm -rf "$dir"' EXIT
export LOCKBENCH_RESULTS="$dir/results"

# expect NAME CODE PATTERN COMMAND...: stderr is one line that matches, stdout is empty.
expect() {
  name=$1 code=$2 pattern=$3
  shift 3
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  lines=$(wc -l <"$dir/err")
  n=$((n + 1))
  if [ $got -eq "$code" ] && [ "$lines" -eq 1 ] && grep -qE -- "$pattern" "$dir/err" && [ ! -s "$dir/out" ]; then
    echo "ok $n - $name"
  else
    echo "not ok $n - $name"
    echo "# exit $got (expected $code), $lines lines, expected: $pattern"
    sed 's/^/# /' "$dir/err"
  fi
}
# says NAME CODE PATTERN COMMAND...: stderr is empty, a line of stdout matches.
says() {
  name=$1 code=$2 pattern=$3
  shift 3
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  n=$((n + 1))
  if [ $got -eq "$code" ] && [ ! -s "$dir/err" ] && grep -qE -- "$pattern" "$dir/out"; then
    echo "ok $n - $name"
  else
    echo "not ok $n - $name"
    echo "# exit $got (expected $code), expected: $pattern"
    head -n 20 "$dir/out" | cat "$dir/err" - | sed 's/^/# /'
  fi
}
check() { # NAME, then a command that must succeed
  n=$((n + 1))
  name=$1
  shift
  if "$@" >"$dir/out" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name"; sed 's/^/# /' "$dir/out"; fi
}
scenario() { # file, text: a scenario of its own
  printf '%s\n' "$2" >"$dir/$1"
}
good='[scenario]
title = t
question = q
refuted = r
systems = local@none
[workload]
clients = 2
ttl_ms = 1000
[timeline]
step = client 1 acquire within 1s
[expect]
local@none = safe: it is'

expect 'a command that is gone says what to type' 2 'the command .play. is gone: `.* run SCENARIO -b SYSTEM --seed N --json`' "$bin" play -o x
while IFS='|' read -r word instead; do
  expect "  $word, too" 2 "the command '$word' is gone: \`.*$instead\`" "$bin" "$word"
done <<'END'
adapter-check|lockbench conform CMD
theory|lockbench list facts
shrink|lockbench hunt --from DIR CELL
completion|install/completion bash
END
says 'there are 18 commands at most' 0 '^1[0-8]$' sh -c '"$1" help | sed -n "s/^  lockbench \\([a-z][a-z]*\\)\\>.*/\\1/p" | grep -vx COMMAND | sort -u | wc -l' - "$bin"
expect 'an unknown command' 2 "unknown command 'rnu', did you mean 'run'" "$bin" rnu
expect 'an unknown scenario' 2 "unknown scenario 'failovr', did you mean 'failover'" "$bin" run failovr
expect 'an unknown system' 2 "unknown protocol 'redis-tokn', did you mean 'redis-token'" "$bin" run control -b redis-tokn
expect 'an unknown topology' 2 "unknown topology 'sentinal', did you mean 'sentinel'" "$bin" run control -b redis-token@sentinal
expect 'a topology that does not fit' 2 "pg-row does not run on topology 'zk'" "$bin" run control -b pg-row@zk
# Libraries, as no machine of ours has them: what is made by ./bench peers is looked for in a folder that is not there.
without_peers() { LOCKBENCH_PEERS=$dir/none "$@"; }
expect 'a library without its kind' 2 "unknown protocol 'reference', did you mean 'peer:reference@redis'\?\$" "$bin" run control -b reference@redis
expect '... misspelt' 2 "unknown protocol 'refrence', did you mean 'peer:reference'\?\$" "$bin" run control -b refrence
expect '... that is not installed' 2 "did you mean 'peer:curator@zk'\? It is not installed: \`./bench peers curator\` installs it\$" without_peers "$bin" run control -b curator@zk
expect '... of a kind' 2 "unknown protocol 'peer:curatr', did you mean 'peer:curator@zk'" "$bin" run control -b peer:curatr@zk
expect '... to show' 2 "unknown name 'reference', did you mean 'peer:reference'" "$bin" show reference
says 'a library to show' 0 '^MISSING:  .*/none/curator.jar .*\./bench peers curator' without_peers "$bin" show peer:curator
says 'a protocol on a topology to show' 0 '^protocol redis-token: ' "$bin" show redis-token@sentinel
cp "$dir/out" "$dir/shown"
check '... is both' grep -q '^topology sentinel: ' "$dir/shown"
expect '... that it does not run on' 2 "pg-row does not run on topology 'zk'" "$bin" show pg-row@zk
expect '... that is misspelt' 2 "unknown topology 'sentinal', did you mean 'sentinel'" "$bin" show redis-token@sentinal
says 'a scenario for two systems' 0 '^expects:  redis-token@sentinel  *none  *violated ' "$bin" show failover -b redis-token@sentinel,peer:curator
check '... says six guards of each, and of nobody else' test "$(sed -n '/^expects:/,$p' "$dir/out" | cut -c11- | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' ')" = ' 6 peer:curator@zk 6 peer:curator@zk-x3 6 redis-token@sentinel '
expect '... for one that is unknown' 2 "unknown protocol 'redis-tokn', did you mean 'redis-token'" "$bin" show failover -b redis-tokn
expect '-b with what is no scenario' 2 'show redlock -b: expected a scenario' "$bin" show redlock -b redis-x3
expect '-b with a system' 2 'show redlock@redis-x3 -b: expected a scenario' "$bin" show redlock@redis-x3 -b redlock
says 'a step inside a lock says nothing of a foreign one' 0 '^expects:  peer:reference@redis  *none  *n/a  *a foreign lock has no points' "$bin" show stopped-before-del -b peer:reference
says '... but of ours' 0 '^expects:  zk-sequential@zk-x3  *none  *n/a  *zk-sequential has no point' "$bin" show stopped-before-del -b zk-sequential@zk-x3
without_peers "$bin" list peers >"$dir/peers" 2>"$dir/peers-said"
check 'libraries that are not installed are one line' sh -c '[ "$(grep -c "libraries are not installed: .\./bench peers. installs them" "$1")" = 1 ] && [ "$(wc -l <"$1")" = 1 ]' - "$dir/peers-said"
check '... beside a line for each library' sh -c '! grep -v "^peer:" "$1" && grep -q "^peer:curator .*needs .*/none/curator.jar" "$1"' - "$dir/peers"
without_peers "$bin" run pause-writer -g none -b peer:curator@zk-x3,peer:zoo-lock@zk-x3,peer:node-redlock-4@redis-x3 >"$dir/shown" 2>&1
check 'a run with three of them says so once' sh -c '[ "$(grep -c "not installed" "$1")" = 1 ] && grep -q "3 of 3 libraries are not installed: .\./bench peers curator zoo-lock node-redlock-4. installs them" "$1"' - "$dir/shown"
expect 'an unknown option' 2 "unknown option '--seeed', did you mean '--seed'" "$bin" run control --seeed 1
expect 'an option without its value' 2 '--seed: expected a value' "$bin" run control --seed
expect 'a number that is none' 2 '-n x: expected a whole number from 1' "$bin" run control -n x
expect 'an unknown workload key' 2 "did you mean 'ttl_ms'" "$bin" run control -s ttl_m=5
expect 'a workload value out of range' 2 'ttl_ms.*-5' "$bin" run control -s ttl_ms=-5
expect 'a pause of who does not poll' 2 "zk-sequential has no option 'poll_ms': it does not poll" "$bin" run contention -s zk-sequential.poll_ms=5
expect 'an unknown protocol option' 2 "broken has no option 'rat', did you mean 'rate'" "$bin" run contention -s broken.rat=1
expect 'more keys than there can be' 2 'keys = 2000000: expected a whole number from 1 to 1000000, or own' \
  "$bin" run contention -b local -s keys=2000000
check 'as many keys as are asked for' "$bin" run contention -b local -n 1 -s keys=5000 -s clients=4 -s duration_s=0.2 -s warmup_s=0.1
mkdir -p "$dir/servers/small"
expect 'a next version that is not there' 2 "-s next=smal: unknown origin 'smal', did you mean 'small'" env LOCKBENCH_SERVERS="$dir/servers" "$bin" run rolling-upgrade -s next=smal
expect 'a protocol option out of range' 2 'broken.rate=7: expected a number from 0 to 1' "$bin" run contention -s broken.rate=7
expect 'an unknown guard' 2 "-g fense: unknown guard, expected none, deadline, signal, recheck, claim or fence; did you mean 'fence'\\?\$" \
  "$bin" run control -g fense
expect 'a guard like no other' 2 '-g x: unknown guard, expected none, deadline, signal, recheck, claim or fence' "$bin" run control -g x
expect 'a guard without its name' 2 '-g: expected a value' "$bin" run control -g
expect 'an unknown suite' 2 "unknown suite 'quik', did you mean 'quick'" "$bin" suite quik
expect 'a suite without its name' 2 'suite: expected one suite, see .*list suites' "$bin" suite
expect 'an unknown list' 2 "list pionts: expected protocols, .* or facts; did you mean 'points'" "$bin" list pionts
expect 'a list of expectations, misspelt' 2 "did you mean 'expectations'" "$bin" list expectatoins
"$bin" list expectations redis-token@redis >"$dir/expected"
check 'every expectation has a scenario, the system, a guard, a verdict, its source and a reason' \
  sh -c '[ -s "$1" ] && ! grep -vE "^[a-z0-9-]+ +redis-token@redis +(none|deadline|signal|recheck|claim|fence) +(safe|violated|stuck|delayed|mixed|race|n/a) +[a-z-]+ +[^ ]" "$1"' - "$dir/expected"
expect 'an unknown name to show' 2 "did you mean 'redlock'" "$bin" show redlok
says 'where a bug was published' 0 '^upstream: https://github.com/etcd-io/etcd/issues/11456 ' "$bin" show "$root/scenarios/museum/etcd-11456.ini"
expect 'one list at a time' 2 "list: expected at most one word, found 'junk', too" "$bin" list protocols junk
expect 'run without a scenario' 2 'expected a scenario' "$bin" run
expect 'a scenario file that is not there' 2 'nowhere.ini' "$bin" run "$dir/nowhere.ini"

# The second column of every list begins behind the longest name.
for list in protocols topologies scenarios suites steps points assumptions; do
  check "columns of list $list" sh -c '"$1" list "$2" | awk "{ match(\$0, /  +/); at = RSTART + RLENGTH } RSTART == 0 || (NR > 1 && at != begin) { exit 1 } { begin = at }"' \
    - "$bin" "$list"
done

# Every command says what it takes, and that is what it takes.
for command in run suite list show check explain report conform serve fault doctor; do
  says "$command --help" 0 "^lockbench $command \\[OPTION\\]" "$bin" "$command" --help
  says "$command -h" 0 '^  -h, --help  *this help$' "$bin" "$command" -h
  says "help $command" 0 "^lockbench $command " "$bin" help "$command"
  says "the help names $command" 0 "^  lockbench $command( |\$)" "$bin" help
done
# Words longer than the room have a line of their own; the longest there is fits into 40 columns of text.
fits() { # WIDTH, then a command without a line that is longer
  width=$1
  shift
  "$@" | awk -v most="$width" 'length > most { print; bad = 1 } END { exit bad || !NR }'
}
for command in "" $("$bin" help | sed -nE 's/^  lockbench ([a-z][a-z-]*).*/\1/p'); do
  # shellcheck disable=SC2086
  check "help $command has lines of 80 columns" fits 80 "$bin" help $command
  # shellcheck disable=SC2086
  check "help $command has as many as COLUMNS says" fits 70 env COLUMNS=70 "$bin" help $command
done
says 'COLUMNS can be more' 0 '^.{100}' env COLUMNS=120 "$bin" help
says 'help behind other words' 0 '^lockbench run ' "$bin" run control -n 2 --help
says 'options of run' 0 '^  -s, --set KEY=VALUE  ' "$bin" run --help
says 'options of suite' 0 '^  --seed N  ' "$bin" suite --help
says 'options of explain' 0 '^  --trial N  ' "$bin" explain --help
says 'options of check' 0 '^  --export json  ' "$bin" check --help
says 'help help is the help of all' 0 '^lockbench: which distributed lock' "$bin" help help
says 'options of list: a plugin' 0 '^  --plugin FILE  *adds a protocol from a shared library$' "$bin" list --help
says 'options of show: a plugin' 0 '^  --plugin FILE  *adds a protocol from a shared library$' "$bin" show --help
says 'options of conform: a plugin' 0 '^  --plugin FILE  *adds a protocol from a shared library$' "$bin" conform --help
says 'options of run: a plugin, and what it changes' 0 'adds a protocol from a shared library; without -b, only plugins run$' env COLUMNS=120 "$bin" run --help
check 'each option once' sh -c '"$1" run --help >"$2" && [ "$(grep -c -e "^  --plugin " -e "^  -s, " "$2")" -eq 2 ]' - "$bin" "$dir/help"
says 'options of conform: no workload key' 0 '^  -s, --set OPTION=VALUE  *PROTOCOL.OPTION=VALUE, as ' "$bin" conform --help
says 'options of conform: how it ends' 0 '^exit: 0 all hold, 1 failure of the harness, 2 usage or no adapter, 3 some do not, 5 servers are missing$' env COLUMNS=120 "$bin" conform --help
check 'no option that it does not take' sh -c '! "$1" doctor --help | grep -q seed' - "$bin"
expect 'a misspelt --help' 2 "unknown option '--hlep', did you mean '--help'" "$bin" report --hlep
expect 'an option of another command' 2 "unknown option '--seed', see .lockbench doctor --help" "$bin" doctor --seed 3
expect 'help of an unknown command' 2 "did you mean 'check'" "$bin" help chek

# A value may be glued to a short option.
says 'values glued to short options' 0 '^  "trials": 1,' "$bin" run control -blocal -n1 -j4 -gnone -sttl_ms=5000 --json
says 'or with an equals sign' 0 '^  "trials": 2,' "$bin" run control -b=local -n=2 -gnone -s=ttl_ms=5000 --json
expect 'a glued number that is none' 2 '-n 1x: expected a whole number from 1' "$bin" run control -n1x
expect 'a glued workload key that is unknown' 2 "did you mean 'ttl_ms'" "$bin" run control -sttl_m=5
expect 'a long option with one dash' 2 "unknown option '-seed', did you mean '--seed'" "$bin" run control -seed 7
expect 'an option that takes no value, with one' 2 "unknown option '-h5'" "$bin" run -h5

# A list may be given again, and has commas; a verdict without a guard is expected under each of them.
both() { # NAME KEY, then words of a run: it has two values of the key
  key=$2
  n=$((n + 1))
  name=$1
  shift 2
  if [ "$("$bin" run "$root/scenarios/speed/control.ini" -n 1 --json "$@" 2>"$dir/err" | grep "^  \"$key\":" | sort -u | wc -l)" -eq 2 ]; then echo "ok $n - $name"; else
    echo "not ok $n - $name"
    sed 's/^/# /' "$dir/err"
  fi
}
both 'several -b' system -b null -b local -g none
both 'several -g' guard --plugin "$plugins/plugin-example.so" -g none -g deadline --expect safe
both 'a list of -g' guard --plugin "$plugins/plugin-example.so" -g none,deadline --expect none=safe --expect deadline=safe

# Hints are what the user can type.
called() { env LOCKBENCH_CALLED_AS=./bench "$@"; }
expect 'called as ./bench: an unknown command' 2 'see `./bench help`' called "$bin" qqqqqqqq
expect 'called as ./bench: an unknown option' 2 'see `./bench run --help`' called "$bin" run --qqqqqqqqqqqq
expect 'called as ./bench: an unknown scenario' 2 'one of `./bench list scenarios`' called "$bin" run qqqqqqqqqq
expect 'called as ./bench: no scenario' 2 'see `./bench list scenarios`' called "$bin" run
expect 'called as ./bench: an unknown protocol' 2 'one of `./bench list protocols`' called "$bin" run control -b qqqqqqqqqq
expect 'called as ./bench: a topology that does not fit' 2 'see `./bench show pg-row`' called "$bin" run control -b pg-row@zk
expect 'called as ./bench: an unknown protocol option' 2 'see `./bench show broken`' called "$bin" run contention -s broken.qqqqqq=1
expect 'called as ./bench: nothing to show' 2 'see `./bench list`' called "$bin" show
says 'called as ./bench: help' 0 '^  ./bench explain ' called "$bin" help
says 'called as ./bench: help of a command' 0 '^./bench run \[OPTION\]... SCENARIO...$' called "$bin" run --help
called "$bin" run control -b local -n 1 -g none -o "$dir/called" >"$dir/out4" 2>&1
check 'called as ./bench: how to draw it' grep -q '^Draw it: ./bench report /' "$dir/out4"
expect 'called by an empty name' 2 'see `lockbench help`' env LOCKBENCH_CALLED_AS= "$bin" qqqqqqqq

scenario step.ini "$(echo "$good" | sed 's/client 1 acquire/client 1 acquier/')"
expect 'a misspelt step' 2 "step.ini:10: .*acquier.*acquire" "$bin" run "$dir/step.ini"
scenario ttl.ini "$(echo "$good" | sed 's/ttl_ms = 1000/ttl_ms = -5/')"
expect 'a negative ttl' 2 'ttl.ini:8: .*-5' "$bin" run "$dir/ttl.ini"
scenario section.ini "$(echo "$good" | sed '/^.expect/,$d')"
expect 'a missing section' 2 'section.ini.*\[expect\]' "$bin" run "$dir/section.ini"
head -c 4000 /dev/urandom >"$dir/garbage.ini"
expect 'binary garbage as a scenario' 2 'garbage.ini' "$bin" run "$dir/garbage.ini"
scenario system.ini "$(echo "$good" | sed 's/^local@none/locl@none/')"
expect 'an expectation for an unknown system' 2 "unknown protocol 'locl', did you mean 'local'" "$bin" run "$dir/system.ini"

abi=$(sed -n 's/^#define LB_ABI //p' "$LB_SOURCE_DIR"/backends/backend.h)
again='compile it again against backends/backend.h$'
expect 'a plugin for a later contract' 2 "plugin-abi.so: built for contract 999, this tool has contract $abi: $again" \
  "$bin" list --plugin "$plugins/plugin-abi.so"
expect 'a plugin that was compiled for contract 1' 2 "plugin-contract1.so: built for contract 1, this tool has contract $abi: $again" \
  "$bin" list --plugin "$plugins/plugin-contract1.so"
expect 'a choice that is none' 2 "-s rogue.fault=hang: expected one of none, hangs, .*; did you mean 'hangs'" \
  "$bin" run control --plugin "$plugins/plugin-rogue.so" -s rogue.fault=hang
expect 'a text that is too short' 2 '-s lock-file.folder=: expected one line of 1 to 200 bytes' \
  "$bin" run control --plugin "$plugins/plugin-example.so" -s lock-file.folder=
expect 'a plugin without the symbol' 2 'no symbol lockbench_plugin' "$bin" list --plugin "$plugins/plugin-empty.so"
expect 'a plugin that lacks a hook' 2 'release are mandatory' "$bin" list --plugin "$plugins/plugin-hook.so"
expect 'a plugin that is not a library' 2 'not a loadable library' "$bin" list --plugin "$dir/step.ini"
expect 'a plugin that is not there' 2 'not a loadable library' "$bin" list --plugin "$dir/none.so"
expect 'a plugin without its name' 2 "^lockbench: --plugin '': expected FILE\$" "$bin" list --plugin ''
expect 'a scenario named twice' 2 "scenario 'contention' is named twice" "$bin" run contention contention -b local
expect 'an option of a lock that is not run' 2 'redlock.node_timeout_ms=5: no system of this run is of protocol redlock' \
  "$bin" run contention -b local -s redlock.node_timeout_ms=5
expect 'an expectation that is no verdict' 2 "--expect saef: expected safe, violated, stuck or delayed; did you mean 'safe'" \
  "$bin" run control --expect saef
expect 'an expectation under a guard that is none' 2 '--expect fense=safe: expected VERDICT, or GUARD=VERDICT with none, ' \
  "$bin" run control --expect fense=safe
expect 'two expectations under one guard' 2 '^lockbench: --expect violated: given twice for guard none$' \
  "$bin" run control -b local --expect safe --expect violated
expect 'the second time by its name' 2 '^lockbench: --expect fence=safe: given twice for guard fence$' \
  "$bin" run control -b local -g fence --expect violated --expect fence=safe
scenario stated.ini "$good"
expect 'an expectation that nothing needs' 2 '--expect none=safe: no system of this run is under that guard without an expectation' "$bin" run "$dir/stated.ini" -b local --expect safe
"$bin" run control --plugin "$plugins/plugin-example.so" -n 1 --expect violated >"$dir/out4" 2>&1
check 'a plugin alone is what is run, and held against what its author expects: exit 3' test $? -eq 3
check 'it, and nothing else' grep -qx 'lock-file: safe in control. NOT as expected: 1 cell: 1 safe, 0 violated, 1 against expectation' "$dir/out4"
widths() { # PATTERN FILE: where it begins is the same in every line that has it
  test "$(grep -E -- "$1" "$2" | awk -v p="$1" '{ print match($0, p) }' | sort -u | wc -l)" -eq 1
}
"$bin" show failover >"$dir/failover"
check 'a scenario says what is expected of the usual systems' sh -c '[ "$(grep -cE " none +(safe|violated|n/a) " "$1")" -gt 5 ]' - "$dir/failover"
check 'names of systems do not shift what is expected of them' widths ' (safe|violated|stuck|delayed|n/a) ' "$dir/failover"
check 'what is refuted is said' grep -q '^the expectation is refuted if: A ' "$dir/failover"
says 'a question that means nothing is not asked: exit 5' 5 '^nothing was asked: 1 cell means nothing on local@none$' "$bin" run failover -b local@none -o "$dir/nothing"
check 'and its page is not green' sh -c '"$1" report "$2" >/dev/null 2>&1; grep -q "class=\"banner\"" "$2/report.html"' - "$bin" "$dir/nothing"
check 'with the reason' grep -q 'lock-file@none: safe, expected violated: said with --expect' "$dir/out4"
check 'a plugin that is as its author expects' "$bin" run control --plugin "$plugins/plugin-example.so" -n 1 --expect safe
expect 'a plugin with a point that fits into no scenario' 2 'plugin-point.so: protocol table has a point whose name has more than 31 bytes' \
  "$bin" list --plugin "$plugins/plugin-point.so"
expect 'a plugin with an option that nobody can set' 2 "plugin-option.so: protocol table has an option whose name has more than a-z, 0-9 and '_'" \
  "$bin" list --plugin "$plugins/plugin-option.so"
expect 'a plugin whose summary would clear the screen' 2 'plugin-text.so: protocol table has a summary that is not one line' \
  "$bin" list --plugin "$plugins/plugin-text.so"
says 'an option of type text' 0 '^option:   -s lock-file.folder=/tmp  where the lock files are \(text, 1 to 200 bytes\)$' \
  "$bin" show lock-file --plugin "$plugins/plugin-example.so"
says 'an option with words' 0 '^option:   -s rogue.fault=none  which line of the contract it breaks \(none, hangs, ' \
  "$bin" show rogue --plugin "$plugins/plugin-rogue.so"
# The lists of protocols and what one of them is.
"$bin" list protocols >"$dir/protocols"
check 'protocols of one server stand together' sh -c 'awk "{ print \$2 }" "$1" | uniq | sort | uniq -d | grep . && exit 1; exit 0' - "$dir/protocols"
check 'their servers are named' grep -qE '^pg-row +PostgreSQL +[^ ]' "$dir/protocols"
check 'who has no server runs without' sh -c '! awk "\$2 == \"none\"" "$1" | grep -vE "\((none|client-cluster)\) \["' - "$dir/protocols"
check 'their traits are shown' grep -qE '^null +none .* \(none\) \[.*known-unsafe.*\]$' "$dir/protocols"
check 'none is left out' test "$(grep -vc '^peer:' "$dir/protocols")" -eq "$(sed -n '/define PROTOCOLS/,/^$/p' "$root/backends/registry.c" | grep -o ' P([a-z0-9_]*)' | wc -l)"
# head_of FILE PROTOCOL: the part of the source's first comment that begins with the name, else its first part, without what stands before each line.
head_of() {
  sed -nE '2,/\*\/$/ { s, *\*/$,,; s,^ \*? ?,,; p }' "$1" |
    awk -v name="$2" '/^[a-z][a-z0-9-]* - / { at = $1; if (first == "") first = at }
      { text[at] = text[at] $0 "\n" }
      END { if (text[name] == "") name = first; sub(/\n+$/, "\n", text[name]); printf "%s", text[name] }'
}
shows_head() { # PROTOCOL FILE
  "$bin" show "$1" | sed "1,\,^backends/$2 says:\$,d" | sed '1d; s/^  //' >"$dir/shown"
  head_of "$root/backends/$2" "$1" | sed 's/\t/  /g' | cmp - "$dir/shown" || return 1
  for word in Promises Breaks Source; do grep -qE "(^|[ .])$word" "$dir/shown" || return 1; done # the table does not say it
}
shows_heads() {
  sed -nE 's,^ *\.name = "([a-z0-9-]+)"\,$,\1,p' "$root"/backends/*/*.c | while read -r protocol; do
    shows_head "$protocol" "$(cd "$root/backends" && grep -lE "^ *\.name = \"$protocol\",$" -- */*.c)" || { echo "$protocol"; exit 1; }
  done
}
check 'a protocol is shown with what its file says of it, every one' shows_heads
called_as_a_lock() { # what `show` names as the file of a protocol is called as that one, or as another one in it
  "$bin" list protocols | grep -v '^[a-z]*:' | while read -r protocol _; do
    file=$("$bin" show "$protocol" | sed -nE 's,^(backends/.*) says:$,\1,p')
    grep -qE "^ *\.name = \"$protocol\"," "$root/$file" && grep -qE "^ *\.name = \"$(basename "$file" .c)\"," "$root/$file" || { echo "$protocol: '$file'"; exit 1; }
  done
}
check 'a protocol has a file of its name, or shares that of its sibling' called_as_a_lock
check 'of a plugin there is no file' sh -c '! "$1" show lock-file --plugin "$2/plugin-example.so" | grep -qE "^backends/.* says:"' - "$bin" "$plugins"
says 'whose locks they are' 0 '^server:   ZooKeeper$' "$bin" show zk-sequential

mkdir "$dir/locks" && chmod 1777 "$dir" "$dir/locks"
check 'a text is what the protocol gets' "$bin" run control --plugin "$plugins/plugin-example.so" -s lock-file.folder="$dir/locks" -n 1 --expect safe
mkdir "$dir/a,b" && chmod 1777 "$dir/a,b"
check 'also one with a comma, which is no list' "$bin" run control --plugin "$plugins/plugin-example.so" -s lock-file.folder="$dir/a,b" -n 1 --expect safe
check 'a good plugin runs' "$bin" run control -b lock-file --plugin "$plugins/plugin-example.so" -n 1

# code NAME CODE PATTERN COMMAND...: what conform says on stdout.
code() {
  name=$1 code=$2 pattern=$3
  shift 3
  n=$((n + 1))
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  if [ $got -eq "$code" ] && grep -qE -- "$pattern" "$dir/out"; then echo "ok $n - $name"; else
    echo "not ok $n - $name"
    echo "# exit $got (expected $code), expected: $pattern"
    sed 's/^/# /' "$dir/out" "$dir/err"
  fi
}
last() { # a command, of whose output the last line counts
  "$@" >"$dir/whole"
  r=$?
  tail -n 1 "$dir/whole"
  return $r
}
code 'a good plugin conforms' 0 '^lock-file@none: ([0-9]+) of \1 statements hold$' "$bin" conform --plugin "$plugins/plugin-example.so"
code 'so does one that finds its master behind Sentinel' 0 '^sentinel-lock@sentinel: ([0-9]+) of \1 statements hold$' \
  "$bin" conform --plugin "$plugins/plugin-sentinel.so" sentinel-lock@redis sentinel-lock@sentinel
code 'and one made of the hooks that locks with a token in one key share' 0 '^token-key@redis: ([0-9]+) of \1 statements hold$' \
  "$bin" conform --plugin "$plugins/plugin-token-key.so" token-key@redis
code 'and one without an owner that says so' 0 '^ownerless@none: ([0-9]+) of \1 statements hold$' \
  "$bin" conform --plugin "$plugins/plugin-ownerless.so"
code 'but not one that does not' 3 '^FAIL a stale release leaves the next holder alone: expected LOST from release, got OK \(first session\)$' \
  "$bin" conform --plugin "$plugins/plugin-ownerless-untold.so"
code 'how many failed is the last line' 3 '^[1-9][0-9]* failures? of [0-9]+ statements on 1 system$' last "$bin" conform --plugin "$plugins/plugin-ownerless-untold.so"
code 'above it stands what its words mean' 3 '^FAIL: it does not' "$bin" conform --plugin "$plugins/plugin-ownerless-untold.so"
code 'one statement alone' 3 '^1 failure of 1 statement on 1 system$' \
  "$bin" conform --only 'a stale release leaves' --plugin "$plugins/plugin-ownerless-untold.so"
code 'with the table that its lock needs' 0 '^ok 1 - a held lock is refused to another session' \
  "$bin" conform --tap --only 'a held lock is refused' pg-lease@pg
expect 'a statement that there is not' 2 "did you mean 'a stale release leaves the next holder alone'" \
  "$bin" conform --only 'a stale relaese leaves the next holder alone' local
expect 'some words of one' 2 "did you mean 'a stale release leaves the next holder alone'" "$bin" conform --only 'stale relaese leaves' local
printf '\357\273\277type,process,f,time_ns,key\n' >"$dir/mark.csv"
printf 'invoke,1,acquire,1,a\nok,1,acquire,2,a\n' | tee -a "$dir/mark.csv" >"$dir/rest"
{ printf 'type,process,f,time_ns,key\n'; cat "$dir/rest"; } >"$dir/plain.csv"
marked() { "$bin" check "$dir/plain.csv" >"$dir/plain" 2>&1; a=$?; "$bin" check "$dir/mark.csv" >"$dir/marked" 2>&1; [ $? -eq $a ] && sed s/plain.csv/mark.csv/ "$dir/plain" | diff - "$dir/marked"; }
check 'a CSV with a mark of byte order is the same without' marked
expect 'fault without a serve' 2 'LOCKBENCH_SERVE is not set' env -u LOCKBENCH_SERVE "$bin" fault heal
expect 'merge of what is no run' 2 'expected the folder of a run that was stopped, or of a shard' "$bin" merge "$dir"
code 'as TAP' 3 '^not ok [0-9]+ - a stale release leaves the next holder alone$' \
  "$bin" conform --tap --plugin "$plugins/plugin-ownerless-untold.so"
code 'flaws that are declared and show' 0 '^ownerless-flawed@none: [0-9]+ of [0-9]+ statements hold, 6 fail as declared$' \
  "$bin" conform --plugin "$plugins/plugin-ownerless-flawed.so"
code 'each with its reason' 0 '^     fails as declared, because a release removes the word, whoever set it$' \
  "$bin" conform --plugin "$plugins/plugin-ownerless-flawed.so"
code 'and as TAP' 0 '^# fails as declared, because a release removes the word, whoever set it$' \
  "$bin" conform --tap --plugin "$plugins/plugin-ownerless-flawed.so"
code 'a flaw that is declared and does not show' 3 \
  '^FAIL a held lock is refused to another session: it holds, though the protocol declares that it does not$' \
  "$bin" conform --plugin "$plugins/plugin-flaw-false.so"
code 'a flaw in a statement that is none' 3 \
  "^FAIL the table is well formed: .* in 'a held lock is refused to other sessions', which is no statement, did you mean 'a held lock is refused to another session'\\?\$" \
  "$bin" conform --plugin "$plugins/plugin-flaw-unknown.so"
code 'a flaw in a statement that nobody asks' 3 "^FAIL the table is well formed: .* 'fences grow', which its traits, hooks or options keep from being asked\$" \
  "$bin" conform --plugin "$plugins/plugin-flaw-unasked.so"
expect 'a flaw of an option that is none' 2 'a flaw whose `where` is no OPTION=VALUE' "$bin" conform --plugin "$plugins/plugin-flaw-where.so"
says 'show: what a protocol fails, and why' 0 '^fails:    "a stale release leaves the next holder alone": a release removes the word, whoever set it$' \
  "$bin" show --plugin "$plugins/plugin-ownerless-flawed.so" ownerless-flawed
code 'with an option on' 0 '^ok   fences grow$' "$bin" conform redis-token -s redis-token.fence=yes
expect 'conform without a name' 2 'conform: expected a PROTOCOL, PROTOCOL@TOPOLOGY or --plugin FILE' "$bin" conform
expect 'conform of an unknown protocol' 2 "unknown protocol 'locl', did you mean 'local'" "$bin" conform locl
for command in conform predict hunt; do
  expect "$command of a floor" 2 "$command floor-redis@redis: is no lock but the floor under one" "$bin" $command floor-redis@redis
done
expect 'conform on a topology that does not fit' 2 "local does not run on topology 'pg'" "$bin" conform local@pg
expect 'conform with a key of a scenario' 2 '-s ttl_ms=5: expected PROTOCOL.OPTION=VALUE' "$bin" conform local -s ttl_ms=5
expect 'conform where a program is missing' 5 'conform redis-token@redis: needs redis-server' env PATH=/nonexistent "$bin" conform redis-token
code 'which is a skip for TAP' 0 '^ok 1 - redis-token@redis # SKIP needs redis-server' env PATH=/nonexistent "$bin" conform --tap redis-token
mkdir "$dir/tmp"
check 'conform keeps its files in TMPDIR' env TMPDIR="$dir/tmp" "$bin" conform local
check 'and leaves nothing there' rmdir "$dir/tmp"
helpers() {
  sed -nE '/^static inline /d; s/^[a-z][a-z_ 0-9]*[ *]+((redis|pg|zk|shm|lb|mc)_[a-z0-9_]+)\(.*/\1/p' "$LB_SOURCE_DIR"/backends/*/*_util.h
  echo lb_lease_end
  echo lb_fail
}
nm -D --defined-only "$bin" >"$dir/exported"
check 'every helper of backends/ can be called by a plugin' \
  sh -c 'while read -r name; do grep -q " $name\$" "$0" || { echo "$name"; missing=1; }; done; [ -z "$missing" ]' "$dir/exported" <<END
$(helpers)
END

expect 'a history that is not there' 2 'none.jsonl' "$bin" check "$dir/none.jsonl"
printf '{"format":2}\n{"t":1,"c":"a","k":"x","e":"acquire"}\n{"t":2,"c":"a","k":"x","e":"grantd"}\n' >"$dir/bad.jsonl"
sed 1d "$dir/bad.jsonl" >"$dir/older.jsonl"
expect 'a history of format 1' 2 'older.jsonl:1: found no "format", expected .* files of format 1, which lack it, are no longer read' "$bin" check "$dir/older.jsonl"
expect 'a malformed history line' 2 'bad.jsonl:3: ' "$bin" check "$dir/bad.jsonl"

# A history of any tool: judged and told, from a file or standard input.
cat >"$dir/late.jsonl" <<'END' # the second holder came when the lease of the first was over
{"format":2}
{"t":1000000,"c":"a","k":"x","e":"granted","until":4000000}
{"t":5000000,"c":"b","k":"x","e":"granted","until":9000000}
{"t":6000000,"c":"a","k":"x","e":"release"}
{"t":7000000,"c":"b","k":"x","e":"release"}
END
sed 's/4000000/5500000/' "$dir/late.jsonl" >"$dir/early.jsonl"
sed '/"a"/d' "$dir/late.jsonl" >"$dir/alone.jsonl"
stdin() { cat "$1" | (shift && "$@"); }
late='exclusion was lost, but only after the earlier holder.s lease was over'
says 'check: an overlap inside the lease' 3 '^violated: 1 double hold of 1.0 ms$' "$bin" check "$dir/early.jsonl"
says 'check: one after it' 4 "^undecided: $late: 1 double hold of 1.0 ms \(0 within a lease\)\$" "$bin" check "$dir/late.jsonl"
says 'and how to count it' 4 ' --past-lease counts ' "$bin" check "$dir/late.jsonl"
says 'check --past-lease' 3 '^violated: 1 double hold of 1.0 ms \(0 within a lease\)$' "$bin" check --past-lease "$dir/late.jsonl"
says 'check: nothing was put to the test' 4 '^undecided: no hand-off put the lock to the test: ' "$bin" check "$dir/alone.jsonl"
says 'check --json: the verdict' 3 '^ "verdict": "violated",$' "$bin" check --json "$dir/early.jsonl"
says 'check --json: without a reason' 3 '^ "why": null,$' "$bin" check --json "$dir/early.jsonl"
says 'check --json: undecided' 4 '^ "verdict": "undecided",$' "$bin" check --json "$dir/late.jsonl"
says 'check --json: why' 4 "^ \"why\": \"$late\",\$" "$bin" check --json "$dir/late.jsonl"
says 'check --json --past-lease' 3 '^ "verdict": "violated",$' "$bin" check --json --past-lease "$dir/late.jsonl"
says 'check --json: safe' 0 '^ "verdict": "safe",$' "$bin" check --json "$root/tests/data/histories/good/two-clients.jsonl"
check 'check --json: no episode' sh -c '"$1" check --json "$2" | tr -d " \n" | grep -q "\"episodes\":\[\]"' - "$bin" "$dir/alone.jsonl"
"$bin" check --json "$dir/early.jsonl" | tr -d ' \n' >"$dir/out4"
check 'check --json: who, when, which key' grep -qF \
  '"episodes":[{"clients":["a","b"],"key":"x","depth":2,"within_lease":true,"begin_ns":5000000,"end_ns":6000000,"begin_ms":4.0,"end_ms":5.0}]' "$dir/out4"
says 'check -' 3 '^violated: ' stdin "$dir/early.jsonl" "$bin" check -
says 'check - --past-lease' 3 '^violated: ' stdin "$dir/late.jsonl" "$bin" check - --past-lease
expect 'check: as events or judged' 2 '^lockbench: check: expected --export or --json, got both$' \
  "$bin" check --export json --json "$dir/late.jsonl"
expect 'check: events have no judgement to change' 2 '^lockbench: check: expected --export or --past-lease, got both$' \
  "$bin" check --export json --past-lease "$dir/late.jsonl"
says 'check --export json -' 0 '^{"t":5000000,.*"e":"granted"' stdin "$dir/late.jsonl" "$bin" check --export json -
expect 'check - of nothing' 2 '^lockbench: standard input:1: found no events' "$bin" check -
expect 'check - of a malformed line' 2 '^lockbench: standard input:3: ' stdin "$dir/bad.jsonl" "$bin" check -
# Over four million events are too many for memory. A sanitizer does not live under this limit.
if (ulimit -d 65536 && "$bin" list suites >"$dir/out" 2>&1); then
  "$plugins/bench-check" 700000 "$dir/large.hist"
  says 'check: 240 MB, and 64 MB of memory' 0 '^safe: 0 violations in 700000 grants' sh -c 'ulimit -d 65536 && "$1" check "$2"' - "$bin" "$dir/large.hist"
  rm "$dir/large.hist"
fi
# What never ends is refused by its first bytes, or by a bound. A sanitizer does not live under this limit.
endless() { # COMMAND that says it all, as PATTERN; `$bin` is in it
  expect "$1" 2 "$2" sh -c "ulimit -v 1500000; bin=\$1; timeout 60 sh -c '$1'" - "$bin"
}
if (ulimit -v 1500000 && "$bin" list suites >"$dir/out" 2>&1); then
  export bin
  endless '"$bin" check - </dev/urandom' '^lockbench: standard input(:1)?: found '
  endless 'yes | "$bin" check -' '^lockbench: standard input:1: found broken JSON'
  endless '"$bin" check /dev/zero' '^lockbench: /dev/zero:1: found a line of more than 1 MiB'
  endless 'yes | "$bin" explain -' '^lockbench: standard input:1: found broken JSON'
  endless 'yes "{:type :ok}" | "$bin" check -' '^lockbench: standard input: found more than 256 MiB in a pipe'
  endless 'yes process,type,f | "$bin" check -' '^lockbench: standard input: found more than 256 MiB in a pipe'
  endless '(echo LBHIST2; cat /dev/zero) | "$bin" check -' '^lockbench: standard input: found more than 256 MiB in a pipe'
  truncate -s 1T "$dir/sparse"
  expect 'check of a sparse file' 2 'sparse:1: found a line of more than 1 MiB' "$bin" check "$dir/sparse"
  rm "$dir/sparse"
fi
expect 'check of two files' 2 'check: expected one history file, or - for standard input' "$bin" check "$dir/late.jsonl" "$dir/early.jsonl"
for history in early late alone; do
  "$bin" check "$dir/$history.jsonl" 2>/dev/null | head -1 >"$dir/first"
  check "explain FILE: the first line is the verdict of check ($history)" \
    sh -c '"$1" explain "$2" | head -1 | cmp - "$3"' - "$bin" "$dir/$history.jsonl" "$dir/first"
done
says 'explain FILE: which file' 0 "late.jsonl: 4 events\$" "$bin" explain "$dir/late.jsonl"
for history in late alone; do
  says "explain FILE, undecided: what a file does not say ($history)" 0 '^  what its scenario counts .* is not in a file: explain RUN CELL ' \
    "$bin" explain "$dir/$history.jsonl"
done
check 'explain FILE, decided: not a word of it' sh -c '! "$1" explain "$2" | grep "is not in a file"' - "$bin" "$dir/early.jsonl"
says 'explain FILE: what is wrong' 0 'b  *granted .*<-- granted while a holds, lease over since 1.000 ms' "$bin" explain "$dir/late.jsonl"
says 'explain FILE: in a sentence' 0 '^a and b held x at the same time for 1.000 ms' "$bin" explain "$dir/late.jsonl"
says 'explain FILE --past-lease' 0 '^violated: ' "$bin" explain --past-lease "$dir/late.jsonl"
says 'explain FILE --json' 0 '^{"t":5000000,.*"e":"granted"' "$bin" explain --json "$dir/late.jsonl"
says 'explain -' 0 '^a and b held x at the same time' stdin "$dir/late.jsonl" "$bin" explain -
says 'explain -: where it is from' 0 '^  standard input: 4 events$' stdin "$dir/late.jsonl" "$bin" explain -
expect 'explain of a malformed file' 2 'bad.jsonl:3: ' "$bin" explain "$dir/bad.jsonl"
expect 'explain of a file that is not there' 2 'none.jsonl: cannot be read' "$bin" explain "$dir/none.jsonl"
expect 'explain FILE --trial' 2 '--trial 2: only with a results folder and a cell' "$bin" explain "$dir/late.jsonl" --trial 2
expect 'explain of nothing' 2 'expected a results folder and a cell, .* or a history file' "$bin" explain
expect 'a report of no run' 2 'run.json' "$bin" report "$dir"

# Points, and guards that a system lacks.
says 'the help names the guards' 0 '-g, --guard GUARD,...  *runs only these guards: none, deadline, signal, recheck, claim or fence' env COLUMNS=120 "$bin" help
"$bin" list steps >"$dir/steps"
check 'all steps are listed with what they mean' grep -qx 'heal  *undoes every cut, slow, drop and hold' "$dir/steps"
says 'scenarios for own servers: what can be asked' 0 '^lost-reply  *redis-token@own-sentinel$' "$bin" list scenarios --for own-sentinel
says 'and what the others lack' 0 "^failover  *no: 'cut primary from replicas' would touch the servers" "$bin" list scenarios --for own-sentinel
says 'for one lock' 0 '^redlock-late  *redlock@redis-x5$' "$bin" list scenarios --for redlock@redis-x5
expect 'for a topology that is none' 2 "unknown topology 'own-sentinal', did you mean 'own-sentinel'" "$bin" list scenarios --for own-sentinal
expect 'an operator of no servers' 2 '--operator: expected servers beside it' "$bin" list scenarios --for own-sentinel --operator "$dir/none"
expect '--for of another list' 2 'list --for: expected the word scenarios before it' "$bin" list steps --for redis
expect 'own servers of another list' 2 'list: expected --for TOPOLOGY beside servers of your own' "$bin" list scenarios --redis 127.0.0.1:1
expect 'a table that is none' 2 'list suites --markdown: expected steps' "$bin" list suites --markdown
expect 'a table without its name' 2 'list --markdown: expected steps' "$bin" list --markdown
check '  those of clients, too' grep -q '^await client N has written within T  *waits until' "$dir/steps"
"$bin" list points >"$dir/points"
for point in 'every client  *before-check' 'every client  *after-check' 'every client  *after-write' 'redis-token  *after-set' \
  'redlock  *after-quorum' 'zk-sequential  *after-create' 'pg-row  *after-insert' 'pg-lease  *before-release'; do
  check "a point: $point" grep -qx "$point" "$dir/points"
done
check 'what a lock rests on is listed' sh -c '"$1" list assumptions | grep -q "^redlock  *memory  " && ! "$1" list assumptions | grep -q "^redlock  *successor\|^local "' - "$bin"
check 'and shown with it' sh -c '"$1" show pg-row | grep -q "^assumes: .*(memory)" && ! "$1" show pg-row | grep -q "(wall-clock)"' - "$bin"
check 'no point twice' test "$(sort "$dir/points" | uniq -d | wc -l)" -eq 0
check 'all lists have it, too' sh -c '"$1" list | grep -qx "redlock  *after-quorum"' - "$bin"
check 'and the protocol itself' sh -c '"$1" show redlock | grep -q "^points: .*after-quorum"' - "$bin"

scenario guards.ini '[scenario]
title = t
question = q
refuted = r
systems = local@none, null@none
guards = none, fence
min_handoffs = 0
[workload]
clients = 2
[timeline]
step = client 1 acquire within 1s
step = client 1 read
step = client 2 acquire within 100ms
step = client 1 release within 1s
[expect none fence]
local@none = safe: it is
null@none = n/a: it has no token'
"$bin" run "$dir/guards.ini" >"$dir/out4" 2>&1
check 'a guard that means nothing: exit 0' test $? -eq 0
check 'and it is as expected' grep -qx 'as expected: 4 cells: 2 safe, 0 violated, 2 n/a' "$dir/out4"
"$bin" run "$dir/guards.ini" -g recheck -b local,null >"$dir/out4" 2>&1
check 'also where the tool finds it out by itself: exit 0' test $? -eq 0
"$bin" run "$dir/guards.ini" -g recheck -b local,null --json >"$dir/out4" 2>&1
check 'and why is said' grep -q '"why": "null has no way to ask whether it still holds"' "$dir/out4"
"$bin" run "$dir/guards.ini" -g none --json >"$dir/out4" 2>&1
check 'a guard of the command is the only one' test "$(grep -o '"guard": .*' "$dir/out4" | sort -u)" = '"guard": "none",'
check 'an expectation is of the guard that is asked for' \
  "$bin" run "$dir/guards.ini" --plugin "$plugins/plugin-example.so" -n 1 -g deadline --expect safe
"$bin" run "$dir/guards.ini" --plugin "$plugins/plugin-example.so" -n 1 -g deadline --expect deadline=violated >"$dir/out4" 2>&1
check 'or of the one it names: exit 3' test $? -eq 3
sed -i 's/^step = client 1 acquire/step = stop client 1 at after-quorum\n&/' "$dir/guards.ini"
"$bin" run "$dir/guards.ini" -g none --json >"$dir/out4" 2>&1
check 'a point the system does not have means nothing there: exit 5' test $? -eq 5
check 'and where to look is said' grep -q "local has no point 'after-quorum', see .lockbench list points" "$dir/out4"

# The story of a trial, from a run folder.
run="$dir/told"
"$bin" run contention -b broken,local -n 2 -s duration_s=0.3 -s clients=4 -o "$run" >"$dir/out" 2>&1
says 'explain without a cell: the first that was violated' 0 '^  broken@none, guard none' "$bin" explain "$run"
expect 'check of a results folder' 2 'told: expected a history, found a results folder' "$bin" check "$run"
for file in "$run"/histories/contention.broken@none.none.c4.t1.hist; do
  says 'explain of a history of a run' 0 '^client-.* held lock-1 at the same time for ' "$bin" explain "$file"
  says 'the same from standard input' 0 '^violated: ' stdin "$file" "$bin" explain -
done
expect '--past-lease of a cell' 2 '--past-lease: only with a history file' "$bin" explain --past-lease "$run" contention.broken@none
expect 'explain of no run' 2 'run.json' "$bin" explain "$dir" contention.broken@none
expect 'explain of an unknown cell' 2 "did you mean 'contention.broken@none'" "$bin" explain "$run" contention.brokn@none
expect 'explain of a cell like no other' 2 'unknown cell .x., this run has contention' "$bin" explain "$run" x
expect 'explain of a guard that was not run' 2 'unknown cell' "$bin" explain "$run" contention.broken@none.fence
both='contention.broken@none, contention.local@none$'
expect 'explain of a scenario with several cells' 2 "'contention' could be any of 2 cells: $both" "$bin" explain "$run" contention
expect 'explain of a guard with several cells' 2 "'contention.none' could be any of 2 cells: $both" "$bin" explain "$run" contention none
expect 'explain of a scenario and an unknown system' 2 "unknown cell 'contention.x', this run has $both" "$bin" explain "$run" contention x
expect 'explain of a misspelt scenario' 2 "unknown cell 'contentoin', did you mean 'contention'" "$bin" explain "$run" contentoin
expect 'explain of a misspelt system' 2 "there is no 'brokn', did you mean 'broken'" "$bin" explain "$run" contention brokn
for cell in broken broken@none 'contention broken' contention.broken 'broken contention none'; do
  says "explain of what only one cell has: $cell" 0 '^  broken@none, guard none, 4 clients, trial 1 of 2' "$bin" explain "$run" $cell
done
expect 'explain of a trial that is not there' 2 'this cell has 2 trials' "$bin" explain "$run" contention.broken@none --trial 3
expect 'explain of trial 0' 2 '--trial 0: expected a whole number from 1' "$bin" explain "$run" contention.broken@none --trial 0
says 'explain --all: a line about the trial, then its events' 0 '^{"format":2}$' "$bin" explain --all "$run"
says 'explain --all: the story is that of the cell' 0 ',"story":".* held lock-1 at the same time for ' "$bin" explain --all "$run"
check 'explain --all: as many events as it says' sh -c '"$1" explain --all "$2" >"$3" && test "$(sed -n "s/^{.scenario.*,.events.:\([0-9]*\)}$/\1/p" "$3" | head -1)" -eq "$(grep -c "^{.t.:" "$3")"' - "$bin" "$run" "$dir/all"
expect 'explain --all of a cell' 2 'explain --all: expected a results folder and nothing else' "$bin" explain --all "$run" contention.broken@none
expect 'explain --all of no run' 2 'run.json' "$bin" explain --all "$dir"
expect 'the events of a history that was not kept' 2 'no history was kept' "$bin" explain "$run" contention.local@none --json
for cell in contention.broken@none contention.broken@none.none 'contention broken@none'; do
  "$bin" explain "$run" $cell >"$dir/story" 2>"$dir/err"
  check "explain $cell: exit 0" test $? -eq 0
  check 'its first line is the verdict' sh -c 'head -1 "$1" | grep -q "^violated: 2 of 2 trials"' - "$dir/story"
  check 'it marks what is wrong' grep -q -- '<-- granted while client-. holds' "$dir/story"
  check 'it says it in a sentence' grep -qE '^client-.* held lock-1 at the same time for ' "$dir/story"
  check 'it is short' test "$(wc -l <"$dir/story")" -lt 50
done
check 'a trial can be named' sh -c '"$1" explain "$2" contention.broken@none --trial 2 | grep -q "trial 2 of 2"' - "$bin" "$run"
check 'a safe cell says so, in the first line' \
  sh -c '"$1" explain "$2" contention local@none | head -1 | grep -q "^safe: no trial of this cell was violated, of 2"' - "$bin" "$run"
"$bin" explain "$run" contention.broken@none --json >"$dir/events.jsonl" 2>&1
"$bin" check --json "$dir/events.jsonl" >"$dir/again" 2>&1
check 'its events as JSON lines are judged again' test $? -eq 3
check 'and alike' sh -c '"$1" check --json "$2"/histories/contention.broken@none.none.c4.t1.hist | cmp - "$3"' - "$bin" "$run" "$dir/again"
check 'stale writes are in the JSON of check' grep -q '"stale_writes"' "$dir/again"
"$bin" check "$dir/events.jsonl" >"$dir/out3" 2>&1
check 'and in its text' grep -q '^  stale writes ' "$dir/out3"
rm "$run"/histories/*c4.t1.hist
check 'of the violated trials, the first with a history' \
  sh -c '"$1" explain "$2" contention.broken@none | grep -q "trial 2 of 2"' - "$bin" "$run"
rm "$run"/histories/*
gone=histories/contention.broken@none.none.c4.t1.hist
again="contention -b broken@none -g none -n 1 -s clients=4 -s duration_s=0.3 .*--seed [0-9]+\$"
expect 'a history that is gone, and how to make it again' 2 \
  "$gone is not in the folder; to make one like it: lockbench run $again" "$bin" explain "$run" contention.broken@none
expect 'the same for --json' 2 'is not in the folder; ' "$bin" explain "$run" contention.broken@none --json
expect 'the same, called as ./bench' 2 "to make one like it: ./bench run $again" called "$bin" explain "$run" contention.broken@none
cp "$run/run.json" "$dir/run.json"
sed -i 's/^ *"argv": \[/&"-s", "local.x=a b", "--plugin", "\\u001b[2J.so", "-s", "clients=1,4",/' "$run/run.json"
expect 'its -s and --plugin are given again, as words of a shell, without what moves a cursor' 2 \
  "-s clients=4 -s duration_s=0.3 .*-s 'local\.x=a b' --plugin '\?\[2J\.so' --seed [0-9]+\$" "$bin" explain "$run" contention.broken@none
mv "$dir/run.json" "$run/run.json"
expect 'its file alone is just not there' 2 "$gone: cannot be read: No such file" "$bin" explain "$run/$gone"
expect 'the kept run left out the histories of storm' 2 'is not in the folder; .*: lockbench run storm -b redis-token@redis -g fence ' \
  "$bin" explain "$root/results/reference" storm redis-token@redis fence
expect 'and of broken' 2 'is not in the folder; .*: lockbench run contention -b broken@none ' \
  "$bin" explain "$root/results/reference" contention broken

# What the machine lacks is said and skipped; the rest runs.
mkdir "$dir/ro" "$dir/full"
check 'without namespaces the rest still runs' env LOCKBENCH_NO_NAMESPACES=1 "$bin" run control -b local -n 1
env LOCKBENCH_NO_NAMESPACES=1 "$bin" run restart-node -b redlock -n 1 >"$dir/out" 2>&1
check 'without namespaces a cut is skipped with the reason: exit 5' test $? -eq 5
env LOCKBENCH_NO_NAMESPACES=1 "$bin" run restart-node -b redlock -n 1 >"$dir/out2" 2>&1
check 'and the reason is said' grep -q 'skipped: cutting links needs network namespaces' "$dir/out2"

env PATH=/nonexistent "$bin" run control -b redis-token@redis,local -n 1 >"$dir/out3" 2>&1
check 'a missing server is a skipped cell: exit 5' test $? -eq 5
check 'its name is said' grep -q 'skipped: redis needs redis-server' "$dir/out3"
check 'and the rest still runs' grep -q 'control  *skipped  *safe 1' "$dir/out3"

# Results that cannot be written.
touch "$dir/file"
expect 'a results folder below a file' 2 'cannot write results' "$bin" run control -b local -n 1 -o "$dir/file/x"
expect 'a results folder that exists' 2 'exists already' "$bin" run control -b local -n 1 -o "$dir/ro"
if [ "$(id -u)" -ne 0 ]; then
  chmod a-w "$dir/ro"
  expect 'a results folder that is read-only' 2 'cannot write results' "$bin" run control -b local -n 1 -o "$dir/ro/x"
fi
if mount -t tmpfs -o size=64k none "$dir/full" 2>/dev/null; then
  dd if=/dev/zero of="$dir/full/filler" bs=1k count=56 2>/dev/null
  "$bin" run control contention -b local -n 2 -o "$dir/full/run" >"$dir/out" 2>"$dir/err"
  check 'a full disk is a failure of the harness: exit 1' test $? -eq 1
  check 'a full disk is said in one line' grep -q 'No space left' "$dir/err"
  check 'a full disk leaves nothing half-written' test "$(ls -A "$dir/full")" = filler
else
  n=$((n + 1))
  echo "ok $n - a full disk # SKIP no permission to mount"
fi
# How long it takes, and how far it is.
local_trials() { trials=$1 && shift && "$bin" run control -b local -g none -n "$trials" "$@" >"$dir/summary" 2>"$dir/progress"; }
local_trials 9 -o "$dir/nine"
check 'more than a few trials: how long they take is said before, and in a pipe nothing per trial' \
  sh -c 'test "$(wc -l <"$1")" -eq 1 && grep -qE "^9 trials, about [0-9.]+ (s|min|h) here$" "$1"' - "$dir/progress"
local_trials 9 -v -o "$dir/nine-v"
check '-v: a line per trial' test "$(grep -cE '^\[[1-9]/9\] control\.local@none\.none\.c2\.t[1-9]: safe, ' "$dir/progress")" -eq 9
local_trials 9 --json -o "$dir/nine-json"
check 'with --json on stderr, too' sh -c 'grep -q "^9 trials, " "$1" && ! grep -q "trials, about" "$2" && head -c 1 "$2" | grep -q "\["' - "$dir/progress" "$dir/summary"
local_trials 2 -o "$dir/two"
check 'of a few that are over at once nothing is said' test ! -s "$dir/progress"
"$bin" hunt local -o "$dir/hunt" --budget 2s >"$dir/summary" 2>"$dir/progress"
check 'a hunt says it, too, and no more than its budget' grep -qE '^local(@none)?: [0-9]+ timelines, about [12] s here$' "$dir/progress"
check 'no run left anything unfinished' test -z "$(ls -A "$dir/results" | grep partial)"
echo "1..$n"
