#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# Bad input, every kind at every command: exit 2, one line on stderr that names what is wrong, nothing on stdout, and no file left behind. No byte of
# the line but printable ASCII, whatever was typed. No server is started. TAP. Usage: test-cli-inputs.sh LOCKBENCH PLUGIN_FOLDER
bin=$(realpath "$1") plugins=$(realpath "$2") n=0 inputs=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export LOCKBENCH_RESULTS="$dir/results"
unset LOCKBENCH_CALLED_AS LOCKBENCH_SERVE
export LC_ALL=C
newline='
'
esc=$(printf '\033[31m') line='a
b' latin=$(printf '\351t\351') long=$(printf '%0300d' 0)

# refused TEXT WORD...: the line has the text. Without further programs where it can be: there are hundreds of these.
refused() {
  text=$1 wrong=
  shift
  "$bin" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  err=$(cat "$dir/err")
  n=$((n + 1)) inputs=$((inputs + 1))
  [ $code -eq 2 ] || wrong="exit $code (expected 2)"
  [ ! -s "$dir/out" ] || wrong="$wrong, something on stdout"
  case $err in *"$newline"*) wrong="$wrong, several lines" ;; esac
  case $err in 'lockbench: '*"$text"*) ;; *) wrong="$wrong, expected: $text" ;; esac
  case $err in *[!\ -~$newline]*) wrong="$wrong, bytes that are no ASCII" ;; esac
  name="$*"
  case $name in *[!\ -~]* | *'#'*) name=$(printf %s "$name" | tr -c ' "$-~' '?') ;; esac
  if [ -z "$wrong" ]; then printf 'ok %d - %s\n' $n "$name"; else
    printf 'not ok %d - %s\n' $n "$name"
    printf '# %s\n' "$wrong"
    head -n 5 "$dir/err" | sed 's/^/# /'
  fi
}
check() { # NAME, then a command that must succeed
  n=$((n + 1)) name=$1
  shift
  if "$@" >"$dir/said" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name"; sed 's/^/# /' "$dir/said"; fi
}

# ---- files that are not what is expected -------------------------------------------------------------------------------------------------------

mkdir "$dir/folder.ini" "$dir/cwd"
printf '[scenario]\ntitle = t\nquestion = q\nrefuted = r\nsystems = local@none\nmin_handoffs = 0\n[workload]\nclients = 2\n[timeline]\nstep = client 1 acquire within 1s\n[expect]\nlocal@none = safe: it is\n' >"$dir/good.ini"
: >"$dir/empty.ini"
printf '\177ELF\0\1\2\377' >"$dir/binary.ini"
printf '[scenario]\ntitle = \351t\351\n' >"$dir/latin.ini"
printf '[scenario]\ntitle = \033[31m\n' >"$dir/escape.ini"
cp "$dir/good.ini" "$dir/$esc.ini"
printf '{"format":2}\n{"t":1,"c":"\351","k":"x","e":"acquire"}\n' >"$dir/latin.jsonl"
echo x >"$dir/file"
mkdir "$dir/$(printf '%099d' 0)"
cd "$dir/cwd" || exit 1
"$bin" run "$dir/good.ini" -n 1 -o "$dir/run" >"$dir/out" 2>&1
for broken in empty json cut cells dir no-csv csv csv-dir; do cp -r "$dir/run" "$dir/$broken"; done
rm "$dir"/empty/*.*
echo 'no json' >"$dir/json/run.json"
head -c 300 "$dir/run/run.json" >"$dir/cut/run.json"
echo '{"schema_version": 1, "id": "x"}' >"$dir/cells/run.json"
rm "$dir/dir/run.json" && mkdir "$dir/dir/run.json"
rm "$dir/no-csv/trials.csv"
echo '"' >"$dir/csv/trials.csv"
rm "$dir/csv-dir/trials.csv" && mkdir "$dir/csv-dir/trials.csv"
state() { (cd "$dir" && find . -name out -o -name err -o -name said -o -type f -exec cksum {} + -o -print | sort); }
before=$(state)

# ---- every option of every command, as its help has it -----------------------------------------------------------------------------------------

# A value that is right, for what stands for it in the help; "" = an option that may be given again.
value_of() {
  case $1 in
    N | TRIALS | JOBS | K) echo 1 ;;
    MS) echo 1000 ;;
    TIME) echo 10s ;;
    WHERE) echo disk ;;
    HOST:PORT,...=NAME) echo h:1=m ;;
    CONNINFO) echo 'host=h user=u' ;;
    GUARD) echo none ;;
    *,... | KEY=VALUE | OPTION=VALUE | CMD | VERDICT) ;;
    FILE) [ "$2" != --auth ] || echo x ;;
    *) echo x ;;
  esac
}
words_of() {
  case $1 in
    run) echo control ;;
    suite) echo quick ;;
    show | hunt | conform) echo local ;;
    serve) echo redis ;;
    check) echo "$dir/file" ;;
    explain) echo "$dir/run good" ;;
    compare) echo "$dir/run $dir/run" ;;
  esac
}
commands=$("$bin" help | sed -nE 's/^  lockbench ([a-z][a-z-]*).*/\1/p' | sort -u)
for command in $commands; do
  words=$(words_of "$command")
  COLUMNS=120 "$bin" "$command" --help | sed -nE 's/^  (-[a-z]), (--[a-z-]+) ([^ ]+)(  .*)?$/\1 \3\n\2 \3/p; s/^  (--[a-z-]+) ([^ ]+)(  .*)?$/\1 \2/p' >"$dir/options"
  while read -r option value; do
    # shellcheck disable=SC2086 # words
    {
      refused "$option '': expected $value" "$command" $words "$option" ''
      refused "$option: expected a value" "$command" $words "$option"
      good=$(value_of "$value" "$option")
      case $value in
        *,...) refused "$option a,,b: an entry is empty, expected $value" "$command" $words "$option" a,,b ;;
        *) [ -z "$good" ] || refused "$option $good: given twice" "$command" $words "$option" "$good" "$option" "$good" ;;
      esac
    }
  done <"$dir/options"
  refused "unknown option '--nosuch'" "$command" --nosuch
  refused 'is empty' "$command" ''
done

# ---- and by hand: what it has to say | the words, as in a shell --------------------------------------------------------------------------------

while IFS='|' read -r says words; do
  eval "refused \"$says\" $words"
done <<'END'
unknown command ''|''
did you mean 'run'|rnu
unknown command '\\x1b[31m'|"$esc"
unknown command 'a\\nb'|"$line"
unknown command '\\xe9t\\xe9'|"$latin"
unknown command '--verson'|--verson
version: expected nothing more, found 'x'|version x
--version: expected nothing more|--version x
help: expected nothing more, found 'run'|help run run
did you mean 'run'|help rnu
expected a scenario|run
unknown scenario 'nosuch'|run nosuch
con\\x1b[31mtrol|run "con${esc}trol"
a\\nb|run "$line"
\\xe9t\\xe9|run "$latin"
No such file|run "$dir/nosuch.ini"
Is a directory|run "$dir/folder.ini"
[scenario] is missing|run "$dir/empty.ini"
latin.ini:2: byte 9 is 0xe9|run "$dir/latin.ini"
escape.ini:2: byte 9 is 0x1b|run "$dir/escape.ini"
binary.ini:1: byte 1 is 0x7f|run "$dir/binary.ini"
\\x1b[31m.ini: the name '\\x1b[31m'|run "$dir/$esc.ini"
is named twice|run control control
unknown protocol 'nosuch'|run control -b nosuch
unknown protocol 'standart', did you mean 'standard'|run control -b standart
unknown protocol 'nosuch'|run control -b local,nosuch
unknown protocol 'nosuch'|run control -b local -b nosuch
unknown topology 'nosuch'|run control -b redis-token@nosuch
unknown topology ''|run control -b redis-token@
expected PROTOCOL@TOPOLOGY|run control -b @redis
lo\\x1b[31mcal|run control -b "lo${esc}cal"
-g nosuch: unknown guard|run control -g nosuch
-g nosuch: unknown guard|run control -g none,nosuch
-g nosuch: unknown guard|run control -g none -g nosuch
-g \\x1b[31m: unknown guard|run control -g "$esc"
-n 0: expected a whole number from 1|run control -n 0
-n -1: expected|run control -n -1
-n 1.5: expected|run control -n 1.5
-n 1e3: expected|run control -n 1e3
expected a whole number|run control -n 99999999999999999999
-n 1\\x1b[31m: expected|run control -n "1$esc"
-j 0: expected|run control -j 0
-j 100000: expected|run control -j 100000
--seed -1: expected|run control --seed -1
--seed x: expected|run control --seed x
given twice|run control -n 1 --trials 1
-s x: expected key=value|run control -s x
cannot set ''|run control -s =5
cannot set 'nosuch'|run control -s nosuch=5
did you mean 'ttl_ms'|run control -s ttl_m=5
contention: an open loop has a rate: expected rate_per_s|run contention -s arrivals=poisson
contention: a closed loop has no rate|run contention -s rate_per_s=100
contention: nobody thinks in an open loop|run contention -s arrivals=poisson -s rate_per_s=100 -s think_ms=1
contention~arrivals=poisson: an open loop has a rate|run contention -s arrivals=closed,poisson
ttl_ms is empty|run control -s ttl_ms=
ttl_ms = x: expected|run control -s ttl_ms=x
ttl_ms = 0: expected|run control -s ttl_ms=0
'' is no value|run control -s ttl_ms=5000,,6000
unknown protocol 'nosuch'|run control -s nosuch.x=5
has no option 'x'|run control -s local.x=5
--expect x: expected safe|run control --expect x
--expect x=safe: expected VERDICT|run control --expect x=safe
given twice for guard none|run control -b local --expect safe --expect none=safe
given twice for guard fence|run control -b local -g none,fence --expect safe --expect fence=safe
folder.ini exists already|run control -b local -o "$dir/folder.ini"
file exists already|run control -b local -o "$dir/file"
file: Not a directory|run control -b local -o "$dir/file/x"
file/x: Not a directory|run control -b local -o "$dir/file/x/y"
/proc/lockbench-x|run control -b local -o /proc/lockbench-x
/dev/null exists already|run control -b local -o /dev/null
/dev/null: Not a directory|run control -b local -o /dev/null/x
more than 100 bytes|run control -b local -o "$dir/$long"
the path has|run control -b local -o "$dir/$(printf '%099d' 0)/$(printf '%099d' 0)"
expected the program of another build|run control --against /bin/true
expected the program of another build|run control --against /bin/cat
expected the program of another build|run control --against /nonexistent
expected the program of another build|run control --against "$dir/file"
expected the program of another build|run control --against "$dir/folder.ini"
unknown scenario 'nosuch'|run nosuch --against "$bin"
unknown protocol 'nosuch'|run control -b nosuch --against "$bin"
file exists already|run control -b local --against "$bin" -o "$dir/file"
not on your own|run control --against "$bin" --redis h:1
nosuch: not found|run control --exec nosuch
before it said what it is|run control --exec true
before it said what it is: three|run control --exec 'sh -c "echo one; echo two; echo three >&2; exit 1" >&2'
its first line is 'hello'|run control --exec 'echo hello'
\\x1b|run control --exec "echo '$esc'; : \\\\033" -b "$esc"
cannot open shared object|run control --plugin nosuch.so
not a loadable library|run control --plugin "$dir/file"
Is a directory|run control --plugin "$dir/folder.ini"
built for contract 999|run control --plugin "$plugins/plugin-abi.so"
address 1: expected HOST:PORT|run control --redis x:y
address 1: expected HOST:PORT|run control --redis "$esc:1"
address 1: expected HOST:PORT|run control --redis '[::1'
address 1: expected HOST:PORT|run control --redis localhost:70000
expected [::1]:6379|run control --redis ::1:6379
expected [fd00::3]:2181|run control --zookeeper fd00::3:2181
address 2 is that of 1 again|run control --redis h:1 --redis h:1
Put it into a file|run control --redis user:pw@h:1
=NAME|run control --sentinel h:1
expected user=NAME|run control --postgres host=h
expected a CONNINFO|run control --postgres x=y
expected servers beside it|run control --auth nosuch
--auth nosuch: No such file|run control --auth nosuch --redis h:1
Is a directory|run control --auth "$dir/folder.ini" --redis h:1
chmod 600|run control --auth "$dir/file" --redis h:1
--json takes no value|run control --json=x
unknown option '-q'|run control -q
did you mean '--seed'|run control --seeed 1
expected one suite|suite
expected one suite|suite quick full
unknown suite 'nosuch'|suite nosuch
did you mean 'quick'|suite quik
unknown suite '\\x1b[31m'|suite "$esc"
Is a directory|suite "$dir/folder.ini"
[suite] is missing|suite "$dir/empty.ini"
binary.ini:1: byte 1|suite "$dir/binary.ini"
names no scenario|suite "$dir/good.ini"
unknown protocol 'nosuch'|suite quick -b nosuch
file exists already|suite quick -b local -o "$dir/file"
list nosuch: expected protocols|list nosuch
did you mean 'points'|list pionts
found 'junk', too|list protocols junk
list \\x1b[31m|list "$esc"
expected one name|show
expected one name|show redlock redlock
unknown name 'nothing', expected a protocol, a topology or a scenario|show nothing
did you mean 'redlock'|show redlok
did you mean 'failover'|show failovr
unknown name '\\x1b[31m'|show "$esc"
Is a directory|show "$dir/folder.ini"
binary.ini:1: byte 1|show "$dir/binary.ini"
No such file|show nosuch.ini
unknown protocol 'nosuch'|show nosuch --cost
does not run on topology 'pg'|show local@pg --cost
-s ttl_ms=5: expected PROTOCOL.OPTION|show local --cost -s ttl_ms=5
expected one history|check
expected one history|check - -
nosuch: cannot be read|check nosuch
\\x1b[31m: cannot be read|check "$esc"
Is a directory|check "$dir/folder.ini"
not UTF-8|check "$dir/latin.jsonl"
found no events|check "$dir/empty.ini"
found a results folder|check "$dir/run"
--export xml: expected json|check --export xml "$dir/file"
expected --export or --json|check --export json --json "$dir/file"
expected a results folder and a cell|explain
nosuch: cannot be read|explain nosuch
unknown cell 'nosuch'|explain "$dir/run" nosuch
unknown cell '\\x1b[31m'|explain "$dir/run" "$esc"
--trial 0: expected|explain "$dir/run" good --trial 0
this cell has 1 trials|explain "$dir/run" good --trial 9
only with a results folder|explain "$dir/file" --trial 2
expected two results folders|compare
expected two results folders|compare a b c
no variants of a scenario|compare "$dir/run"
nosuch/run.json: No such file|compare nosuch "$dir/run"
\\x1b[31m/run.json|compare "$esc" "$dir/run"
file/run.json: Not a directory|compare "$dir/run" "$dir/file"
expected one results folder|report
expected one results folder|report a b
nosuch: expected a results folder|report nosuch
\\x1b[31m: expected a results folder|report "$esc"
file: expected a results folder|report "$dir/file"
csv-dir/trials.csv: Is a directory|report "$dir/csv-dir"
expected a PROTOCOL|conform
unknown protocol 'nosuch'|conform nosuch
does not run on topology 'pg'|conform local@pg
unknown protocol '\\x1b[31m'|conform "$esc"
-s ttl_ms=5: expected PROTOCOL.OPTION|conform local -s ttl_ms=5
has no option 'x'|conform local -s local.x=5
expected one TOPOLOGY|serve
expected one TOPOLOGY|serve redis redis
expected a command behind|serve redis --
unknown topology 'nosuch'|serve nosuch
unknown topology '\\x1b[31m'|serve "$esc"
it has no servers|serve none
--hosts 65: expected|serve redis --hosts 65
--ttl 0: expected|serve redis --ttl 0
--storage tape: expected memory or disk|serve redis --storage tape
expected a step|fault
command of an adapter before it|conform -b redis
nosuch: not found|conform ./nosuch
before it said what it is|conform /bin/true
no statement has 'nosuch'|conform 'echo hello' nosuch
expected PROTOCOL@TOPOLOGY|hunt
unknown protocol 'nosuch'|hunt nosuch
unknown protocol 'nosuch'|hunt local nosuch
unknown protocol '\\x1b[31m'|hunt "$esc"
\`all\` alone, found \`all\` and 'local'|hunt all local
\`all\` alone, found \`all\` and 'local'|hunt local all
does not run on topology 'pg'|hunt local@pg
-g fence: given twice, expected one GUARD|hunt local -g none -g fence
-g none,fence: unknown guard|hunt local -g none,fence
--faults 4: expected|hunt local --faults 4
--budget 0s: expected a time|hunt local --budget 0s
--budget 5: expected a time|hunt local --budget 5
--without nosuch|hunt local --without nosuch
--without nosuch|hunt local --without kill --without nosuch
--only 'nosuch': expected an id|hunt local --only nosuch
-s x: expected PROTOCOL.OPTION|hunt local -s x
-s ttl_ms=5: expected PROTOCOL.OPTION|hunt local -s ttl_ms=5
no system of this hunt is of protocol redlock|hunt local -s redlock.fanout=sequential
it has the results of a run|hunt local -o "$dir/run"
file: Not a directory|hunt local -o "$dir/file"
file/x: Not a directory|hunt local -o "$dir/file/x"
/proc/lockbench-x|hunt local -o /proc/lockbench-x
means nothing beside it|hunt --from "$dir/run" good --list
expected --from DIR|hunt local -n 2
nosuch: expected a results folder|hunt --from nosuch x
unknown cell 'nosuch'|hunt --from "$dir/run" nosuch
is no campaign|hunt --from "$dir/run" good
this cell has 1 trials|hunt --from "$dir/run" good --trial 9
-n 0: expected|hunt --from "$dir/run" good -n 0
--budget x: expected a time|hunt --from "$dir/run" good --budget x
expected servers|clean
expected servers|clean x
expected servers|clean --auth "$dir/file"
address 1: expected HOST:PORT|clean --redis x:y
unknown option '--list', see|clean --redis 127.0.0.1:1 --list
takes no argument, found 'x'|doctor x
END

# A run folder that is broken, for every command that reads one.
while IFS='|' read -r says broken; do
  for command in report 'explain - good' 'hunt - good' 'compare -'; do
    # shellcheck disable=SC2086 # words
    set -- $command
    command=$1
    case $broken in csv | csv-dir) [ "$command" = report ] || [ "$command" = compare ] || continue ;; esac
    shift
    [ $# -eq 0 ] || shift
    [ "$command" != compare ] || set -- "$dir/run"
    [ "$command" != hunt ] || command='hunt --from'
    # shellcheck disable=SC2086 # words
    refused "$dir/$broken$says" $command "$dir/$broken" "$@"
  done
done <<'END'
|empty
/run.json:1: |json
/run.json:|cut
/run.json: |cells
|dir
/trials.csv: No such file|no-csv
/trials.csv:1: |csv
/trials.csv: |csv-dir
END

# Of a run that somebody else has made, or under a name that he chose, nothing reaches the terminal as it is.
"$bin" run contention -b local -g none -n 1 -s clients=2 -s duration_s=0.1 -s warmup_s=0.05 -o "$dir/planted$esc" >"$dir/out" 2>&1
sed -i 's/"\(local@none\|none\)"/"\1\\u001b[31m"/' "$dir/planted$esc/run.json"
sed -i "s/local@none/&$esc/" "$dir/planted$esc"/*.csv
cp "$dir/good.ini" "$dir/planted$esc"
printf '{"format":2}\n{"t":1,"c":"a\\u001b[31m","k":"x\\u001b[31m","e":"granted","until":9}\n{"t":2,"c":"b","k":"x\\u001b[31m","e":"granted","until":9}\n' >"$dir/planted$esc/h.jsonl"
for words in report explain 'compare -' 'show good.ini' 'check h.jsonl' 'explain h.jsonl'; do
  # shellcheck disable=SC2086 # words
  set -- $words
  case $2 in - | '') what=$dir/planted$esc ;; *) what=$dir/planted$esc/$2 ;; esac
  "$bin" "$1" "$what" ${2:+$([ "$2" != - ] || echo "$what")} >"$dir/out" 2>&1
  check "nothing planted reaches the terminal: $words" sh -c '[ -s "$1" ] && ! grep -q "$2" "$1"' - "$dir/out" "$(printf '\033')"
done
rm -r "$dir/planted$esc"

if [ "$(id -u)" -ne 0 ]; then
  mkdir "$dir/ro"
  chmod a-w "$dir/ro"
  for command in 'run control -b local' 'hunt local' 'suite quick -b local'; do
    # shellcheck disable=SC2086 # words
    refused 'Permission denied' $command -o "$dir/ro/x"
  done
  rmdir "$dir/ro"
fi

check "at least 157 inputs ($inputs)" test "$inputs" -ge 157
rm "$dir/options"
check 'and nothing was left behind or changed' sh -c 'printf "%s\n" "$1" >"$3/said"; printf "%s\n" "$2" | diff "$3/said" -' - "$before" "$(state)" "$dir"
echo "1..$n"
