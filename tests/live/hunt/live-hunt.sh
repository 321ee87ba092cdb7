#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A lock that breaks when two of five conditions hold together, which the day draws, and gives itself away only to a client that opens its session behind them: a
# hunt finds just these two, and nothing with one fault alone; without the kind of one of them, or without the client that comes late, it finds nothing. Its file
# replays, its halves do not. What breaks in three of ten is listed as that, and a fault that hides another takes nothing away. Then what a user meets: an interrupted hunt goes on, a killed one leaves nothing behind. TAP.
# Usage: live-hunt.sh LOCKBENCH PLUGIN_FOLDER
bin=$1 plugin=$2/plugin-planted.so
. "$(dirname "$0")/../../helpers/tap.sh"

# Ten pairs of five; the word of a condition, and what it is called in an id.
pair=${PAIR:-$(($(date +%s) / 86400 % 10))}
set -- 'c1-behind c2-ahead' 'c1-behind p-ahead' 'c1-behind p-restarted' 'c2-ahead p-ahead' 'c2-ahead p-restarted' 'p-ahead p-restarted' \
  'c1-behind p-fast' 'c2-ahead p-fast' 'p-ahead p-fast' 'p-restarted p-fast'
shift $pair
first=${1% *} second=${1#* }
fault_of() {
  case $1 in
    c1-behind) echo behind-c1 ;;
    c2-ahead) echo ahead-c2 ;;
    p-ahead) echo ahead-P ;;
    p-restarted) echo restart-P ;;
    p-fast) echo fast-P ;;
  esac
}
a="($(fault_of "$first"))@[A-Z]+(-[a-z]+)?" b="($(fault_of "$second"))@[A-Z]+(-[a-z]+)?"
echo "# the pair: $first and $second"

# Kinds that none of the five conditions is about are left out here, to be quick, and clocks that are fast on most days; by hand all of them have been run.
hunt() { "$bin" hunt --plugin "$plugin" -s "planted.first=$first" -s "planted.second=$second" -s planted.fresh=yes --seed 5 --without "$without" "$@" >"$dir/out" 2>"$dir/err"; }
without=cut,cutoff,pause,kill,slow
[ "$second" = p-fast ] || without=$without,fast
csv() { cat "$dir/$1/planted@redis/hunt.csv"; }
sets() { csv "$1" | awk -F, '$11 == "minimal" {print $1}'; }

check 'a hunt ends well' hunt --faults 2 -o "$dir/two"
check 'nothing breaks with no fault or one' not sh -c "grep -E '^[LSD][01]\\.' '$dir/two/planted@redis/hunt.csv' | grep -q minimal"
check 'there is a minimal set of two faults' test -n "$(sets two)"
check 'every minimal set is that pair' sh -c "! grep -E ',minimal,' '$dir/two/planted@redis/hunt.csv' | grep -qvE '^[LSD]2\\.($a\\+$b|$b\\+$a),'"
# Its count is safe, lease and so on; a clock that only makes leases longer comes last.
looks() { csv two | awk -F, -v of="$1" '$1 ~ of {n = $4 + $5 + $6 + $7 + $8 + $9; if (!least || n < least) least = n} END {print least + 0}'; }
check 'what hits the ground of the grant is looked at three times' test "$(looks '^[LS]1[.](restart|ahead)-P@H$')" -ge 3
check 'and what does not, once' test "$(looks '^[LS]1[.]behind-P@H$')" = 1
missing=$(fault_of "$first" | sed 's/-.*//')
without=$without,$missing hunt --faults 2 -o "$dir/less"
check 'without the kind of one of them nothing is found' test -z "$(sets less)"
# Kinds of other conditions are left out, too: what is looked for is in what is left.
rest=cut,cutoff,pause,kill,slow
for kind in restart ahead behind fast; do
  case " $(fault_of "$first") $(fault_of "$second")" in
    *" $kind-"*) ;;
    *) rest=$rest,$kind ;;
  esac
done
without=$rest,client-3 hunt --faults 2 -o "$dir/two-clients"
one=$(sets two | head -1)
check 'without the client that comes late nothing is found, and what breaks with it was played' \
  test "$(csv two-clients | awk -F, -v one="$one" 'NR > 1 {broke += $5 + $6; played += $1 == one && $4 > 0} END {print broke, played}')" = '0 1'
check 'what a hunt was done without stands in its journal' sh -c "head -1 '$dir/two-clients/planted@redis/trials.csv' | grep -q ', without .*client-3,'"
check 'every minimal set was replayed twenty times, and agreed' sh -c "python3 -c 'import json, sys; sets = [s for s in json.load(open(sys.argv[1]))[\"sets\"] if s[\"standing\"] == \"minimal\"]; sys.exit(not sets or any((s[\"replayed\"], s[\"agreed\"]) != (20, 20) for s in sets))' '$dir/two/planted@redis/hunt.json' && grep -q 'in 20 of 20 replays' '$dir/two/planted@redis/hunt/01.ini'"
check 'nothing is undecided' sh -c "! awk -F, 'NR > 1 && \$10 > 0 && \$4 + \$5 + \$6 + \$7 + \$8 + \$9 == 0' '$dir/two/planted@redis/hunt.csv' | grep ."
file=$dir/two/planted@redis/hunt/01.ini
check 'its file replays' sh -c "'$bin' run '$file' --plugin '$plugin' -s planted.first=$first -s planted.second=$second -s planted.fresh=yes -n 5 -o '$dir/again' && ! grep -q ',safe,' '$dir/again/trials.csv'"

numbers() { "$bin" hunt --plugin "$plugin" -s planted.first=p-ahead -s planted.second=p-ahead -s planted.numbers=yes --seed 5 --faults 1 --without cut,cutoff,kill,pause,restart,behind,fast,slow -o "$dir/numbers" >"$dir/out" 2>"$dir/err"; }
check 'a lock of which only the numbers repeat is hunted' numbers
of_numbers() { csv numbers | awk -F, "NR == 1 {for (i = 1; i <= NF; i++) at[\$i] = i} NR > 1 {$1} END {print n + 0}"; }
check 'it has minimal sets of numbers' test "$(of_numbers 'n += $at["set"] == "minimal" && $at["numbers"] > 0')" -gt 0
check 'and no trial in which exclusion was lost' test "$(of_numbers 'n += $at["lease"] + $at["expired"]')" = 0

# Shards share the search, and the same call without --shard goes on with what they have seen.
shard() { hunt --faults 2 -o "$dir/shared" "$@"; }
minimal() { csv "$1" | awk -F, '$11 == "minimal" {print $1}' | sort; }
lines() { sed -n '2,$p' "$dir/shared/shard-$1-of-2/planted@redis/trials.csv" | grep '^[LSD]2' | cut -d, -f1 | sort -u; }
nothing_twice() { lines 1 >"$dir/x" && lines 2 >"$dir/y" && [ -s "$dir/x" ] && [ -s "$dir/y" ] && [ -z "$(comm -12 "$dir/x" "$dir/y")" ]; }
check 'a shard of two looks at its part' shard --shard 1/2
check 'and the other one' shard --shard 2/2
check 'of two faults nothing is looked at by both' nothing_twice
check 'then the hunt goes on' shard
check 'it has the sets of a hunt that was not shared' sh -c '[ -n "$1" ] && [ "$1" = "$2" ]' - "$(minimal two)" "$(minimal shared)"
looked() { csv "$1" | awk -F, 'NR > 1 && $4 + $5 + $6 + $7 + $8 + $9 > 0 {print $1}' | sort; }
check 'and looked at the same timelines' sh -c '[ "$1" = "$2" ]' - "$(looked two)" "$(looked shared)"
check 'who played what is told' test "$(grep -c '"started_utc"' "$dir/shared/planted@redis/hunt.json")" = 3
sed -i 's/"started_utc": "2/"started_utc": "3/' "$dir/shared/shard-2-of-2/planted@redis/hunt.json"
check 'what it has is there when it is called again' shard
check 'and a shard that ended later is named' sh -c "grep -q 'shard-2-of-2 ended after' '$dir/err' && ! grep -q 'shard-1-of-2 ended' '$dir/err'"
check 'an impossible part is refused' sh -c "'$bin' hunt redis-token@redis --shard 3/2 2>&1 | grep -q 'expected I/N'"

# With a budget the same search: it finds the set and is whole, or says that it is not.
budget() { "$bin" hunt --plugin "$plugin" -s planted.first=p-ahead -s planted.second=p-ahead --seed 5 --faults 1 --without cut,cutoff,kill,pause,restart,behind,fast,slow --budget "$1" -o "$dir/budget-$1" >"$dir/out" 2>"$dir/err"; }
ended() { python3 -c 'import json, sys; h = json.load(open(sys.argv[1])); print(h["sittings"][-1]["end"], len([s for s in h["sets"] if s["standing"] == "minimal"]))' "$dir/budget-$1/planted@redis/hunt.json"; }
check 'a hunt with time enough ends well' budget 60s
check 'it is whole, and has the minimal sets' test "$(ended 60s)" = 'whole 2'
check 'a hunt without time ends well' budget 1s
check 'and says that it is not whole' sh -c 'case $1 in "out of budget "*) ;; *) exit 1 ;; esac' - "$(ended 1s)"

export PLANTED_COUNTER="$dir/counter"
id=$one
planted() { "$bin" hunt --plugin "$plugin" -s "planted.first=$1" -s "planted.second=$2" -s "$3" --seed 5 --faults 2 --without "$4" -o "$5" --only "$6" >"$dir/out" 2>&1; }
check 'what breaks in three of ten is played' planted "$first" "$second" planted.of_ten=3 "$without" "$dir/three" "$id"
check 'and listed as sometimes' grep -q "hunt/01.ini  3/5  $id, sometimes" "$dir/out"
hidden() { planted p-restarted p-restarted planted.hidden=c2-ahead "$without" "$dir/hide" "$1"; }
check 'a fault hides another' hidden L2.ahead-c2@B+restart-P@H
check 'then nothing breaks' sh -c "[ \$(grep -c '^L2.*,safe,' '$dir/hide/planted@redis/trials.csv') = 5 ]"
check 'it is played without a fault' hidden L0
check 'and alone' hidden L1.restart-P@H
check 'which is a minimal set all the same' sh -c "grep -q '^L1.restart-P@H,.*,minimal,' '$dir/hide/planted@redis/hunt.csv'"

hunt --faults 1 -o "$dir/cut" &
has_some() { [ "$(cat "$dir/cut/planted@redis/trials.csv" 2>/dev/null | wc -l)" -gt 3 ]; }
wait_until 30 has_some
pkill -9 -o -f -- "hunt --plugin $plugin .*-o $dir/cut"
wait
check 'a killed hunt leaves no process behind' wait_until 10 not pgrep -f -- "-o $dir/cut"
check 'nor servers' wait_until 10 sh -c "! ls -ld /proc/[0-9]*/cwd 2>/dev/null | grep -q hunt-"
rows=$(wc -l <"$dir/cut/planted@redis/trials.csv")
check 'it goes on from its journal' hunt --faults 1 -o "$dir/cut"
check 'what it had is still there' sh -c "[ $rows -lt \$(wc -l <'$dir/cut/planted@redis/trials.csv') ] && head -$rows '$dir/cut/planted@redis/trials.csv' | tail -1 | grep -q ."
check 'a journal of another hunt is refused with one line' sh -c "'$bin' hunt --plugin '$plugin' --without $without --seed 6 --faults 1 -o '$dir/cut' >'$dir/out' 2>&1; [ \$? = 2 ] && grep -q 'expected .# hunt 2 of planted@redis, seed 6' '$dir/out'"
check 'a wrong word of --without is refused with one line' sh -c "'$bin' hunt --plugin '$plugin' --without client-2 -o '$dir/none' >'$dir/out' 2>&1; [ \$? = 2 ] && [ \$(wc -l <'$dir/out') = 1 ] && grep -q \"did you mean 'client-3'\" '$dir/out'"
check 'a wrong id is refused with one line' sh -c "'$bin' hunt --plugin '$plugin' --only L1.kil-P@H -o '$dir/none' >'$dir/out' 2>&1; [ \$? = 2 ] && [ \$(wc -l <'$dir/out') = 1 ]"
check 'the same seed gives the same list' sh -c "'$bin' hunt --plugin '$plugin' --list >'$dir/l1' && '$bin' hunt --plugin '$plugin' --list >'$dir/l2' && cmp '$dir/l1' '$dir/l2'"
echo "1..$n"
