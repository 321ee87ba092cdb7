#!/bin/sh
# test: alone
# SPDX-License-Identifier: MIT
# A run that is stopped at any moment, by Ctrl-C, SIGTERM, kill -9 or a full disk, keeps what is decided; resumed, it has the same
# trials, cells and verdicts as one that was not stopped. One that stands still for a while goes on. TAP. Usage: live-resume.sh LOCKBENCH
# RESUME_POINTS=20 tries so many moments of each signal and of a full disk, RESUME_TRIALS=3 with more trials; RESUME_SEED draws other ones.
bin=$(realpath "$1") points=${RESUME_POINTS:-1} draw=${RESUME_SEED:-$$} more=
. "$(dirname "$0")/../../helpers/tap.sh"
echo "# RESUME_SEED=$draw"

# Scenarios without a race in them, so that two runs have the same verdicts; a load, which measures; and a system that is n/a somewhere.
cp "$(dirname "$0")/../../../scenarios/pause/pause-holder.ini" "$dir/pause.ini"
run() { # FOLDER, then what it is called by; $more are arguments. What it says goes to NAME.out and NAME.err in $dir, for FOLDER may be on a full disk
  out=$1 says=$dir/${1##*/}
  shift
  "$@" "$bin" run "$dir/pause.ini" control failover contention -b redis-token@redis,local@none -g none -n "${RESUME_TRIALS:-1}" -j 3 -s duration_s=0.2 -s warmup_s=0.1 -s settle_s=0 \
    --seed 7 $more -o "$out" >"$says.out" 2>"$says.err"
}
verdicts() { cut -d, -f1-8 "$1/trials.csv" | sed 's/,[^,]*$//'; }
cells() { grep -E '^   "(scenario|system|guard|verdict|trials|undecided)"' "$1/run.json"; }
same() { # FOLDER: as the run that was not stopped
  verdicts "$dir/whole" >"$dir/x" && verdicts "$1" >"$dir/y" && diff "$dir/x" "$dir/y" && cells "$dir/whole" >"$dir/x" && cells "$1" >"$dir/y" && diff "$dir/x" "$dir/y"
}
member() { sed -n "s/^ \"$2\": \\(.*[^,]\\),*\$/\\1/p" "$1/run.json"; }
none_left() { [ -z "$(servers)" ] && [ -z "$(find "$dir" -maxdepth 1 -name '.*.partial')" ]; }
is_whole() { [ "$(member "$1" partial)" = false ] && [ ! -e "$1/resume.json" ] && [ ! -e "$1/resume.bin" ] && [ ! -e "$1/parts" ]; }
is_part() { # FOLDER: whole for the trials that it has
  [ "$(member "$1" partial)" = true ] && [ "$(member "$1" exit_code)" = 130 ] && member "$1" verdict | grep -q '^"partial, ' || return 1
  [ "$(member "$1" done)" -eq $(($(wc -l <"$1/trials.csv") - 1)) ] || return 1
  for history in $(sed -n 's/.*,\(histories[^,]*\)$/\1/p' "$1/trials.csv"); do [ -s "$1/$history" ] || return 1; done
  [ "$(ls "$1/histories" 2>/dev/null | wc -l)" -eq "$(grep -c ',histories/' "$1/trials.csv")" ]
}
resume() { # FOLDER
  (cd / && "$bin" run --resume "$1" >"$dir/${1##*/}.out" 2>"$dir/${1##*/}.err")
}
plays_on() { # WHERE FOLDER: which may not be there, if nothing was decided
  [ -e "$2" ] || return 0
  if [ -e "$2/resume.json" ]; then
    check "$1: what is decided is there" is_part "$2"
    check "$1: the rest is played" resume "$2"
  fi
  check "$1: then it is whole" is_whole "$2"
  check "$1: with the same cells and verdicts" same "$2"
}
random() { # a moment in the run, in seconds, into $at
  draw=$(((draw * 1103515245 + 12345) % 2147483648))
  at=$(echo "$((draw / 65536 % whole_ms))" | awk '{ printf "%.3f", $1 / 1000 }')
}

begin=$(date +%s%N)
check 'a run that is not stopped' run "$dir/whole"
whole_ms=$((($(date +%s%N) - begin) / 1000000))
check 'is whole' is_whole "$dir/whole"

for signal in INT TERM KILL; do
  point=0
  while [ $point -lt "$points" ]; do
    point=$((point + 1)) folder=$dir/$signal-$point
    random
    run "$folder" setsid &
    shell=$!
    sleep "$at"
    tool=$(pgrep -f "^$bin run .*-o $folder" | head -n 1)
    [ -z "$tool" ] || kill -s $signal -- "-$tool"
    wait $shell
    code=$?
    where="SIG$signal after $at s"
    check "$where: nothing is left over" wait_until 15 none_left
    [ -e "$folder" ] || check "$where: nothing was decided yet" test "$signal" = KILL -o $code -eq 130 -o $code -eq 143 # 143: before it listened
    [ $signal = KILL ] || [ ! -e "$folder/resume.json" ] ||
      check "$where: exit 130, and a line that says how to go on" sh -c "[ $code -eq 130 ] && grep -q -- '--resume $folder' '$folder.err'"
    plays_on "$where" "$folder"
  done
done

# ---- a budget -----------------------------------------------------------------------------------------------------
more='--budget 1s'
check 'a budget ends a run, with the code of what is decided' run "$dir/budget" env
more=
check 'what is decided is there' sh -c "grep -q '\"partial\": true' '$dir/budget/run.json' && [ -s '$dir/budget/resume.bin' ]"
check 'the rest is played' resume "$dir/budget"
check 'with the same cells and verdicts' same "$dir/budget"

# ---- a stop -------------------------------------------------------------------------------------------------------
stands_still() { # FOLDER SECONDS: with all that it has started
  run "$1" setsid &
  wait_until 60 test -s "$dir/.$(basename "$1").partial/resume.bin"
  group=$(pgrep -f "^$bin run .*-o $1" | head -n 1)
  kill -s STOP -- "-$group" && sleep "$2" && kill -s CONT -- "-$group"
  wait $!
}
check 'a run that stood still goes on, and ends' stands_still "$dir/still" "${RESUME_STILL:-2}"
check 'it is whole' is_whole "$dir/still"
# A trial that stood still for longer than half a lease may be undecided. No other verdict may differ.
still_same() { # FOLDER
  verdicts "$dir/whole" >"$dir/x" && verdicts "$1" | paste -d, - "$dir/x" | awk -F, '$7 != $14 && $7 != "undecided" { print; bad = 1 } END { exit bad }'
}
check 'no verdict differs, but for what is undecided' still_same "$dir/still"

# ---- a full disk --------------------------------------------------------------------------------------------------
if mkdir "$dir/full" && mount -t tmpfs -o size=16m none "$dir/full" 2>/dev/null; then
  trap 'umount "$dir/full"; rm -rf "$dir"' EXIT
  point=0
  while [ $point -lt "$points" ]; do
    point=$((point + 1)) folder=$dir/full/run-$point
    random
    where="a disk full after $at s"
    run "$folder" env &
    if [ $point -eq 1 ]; then wait_until 60 test -s "$dir/full/.run-1.partial/resume.bin"; else sleep "$at"; fi
    dd if=/dev/zero of="$dir/full/fill" bs=64k 2>/dev/null
    wait $!
    code=$?
    check "$where: nothing is left over" wait_until 15 none_left
    [ $point -gt 1 ] || check "$where, behind the first trial: the run was stopped" test -e "$folder/resume.json"
    [ -e "$folder" ] || check "$where: nothing was decided, and a line says why" sh -c "[ $code -ne 0 ] && [ -s '$dir/${folder##*/}.err' ]"
    [ ! -e "$folder/resume.json" ] || check "$where: exit 130, and one line says why" sh -c "[ $code -eq 130 ] && [ \$(grep -c 'No space left on device' '$dir/${folder##*/}.err') -eq 1 ]"
    rm -f "$dir/full/fill"
    plays_on "$where" "$folder"
    rm -rf "$folder"
  done
fi

# ---- what cannot be resumed -----------------------------------------------------------------------------------------
stop_half_way() { # FOLDER
  run "$1" env &
  wait_until 60 test -s "$dir/.$(basename "$1").partial/resume.bin"
  kill -TERM "$(pgrep -f "^$bin run .*-o $1" | head -n 1)"
  wait $!
  [ -e "$1/resume.bin" ]
}
refused() { # PATTERN FOLDER
  resume "$2"
  [ $? -eq 2 ] && [ "$(wc -l <"$2.err")" -eq 1 ] && grep -q -- "$1" "$2.err"
}
check 'a run is stopped' stop_half_way "$dir/torn"
size=$(stat -c %s "$dir/torn/resume.bin")
truncate -s $((size - 100)) "$dir/torn/resume.bin"
check 'an outcome that was cut off is played again' resume "$dir/torn"
check 'with the same cells and verdicts' same "$dir/torn"
check 'another run is stopped' stop_half_way "$dir/other"
cp -r "$dir/other" "$dir/before"
sed -i 's/^title = .*/title = another question/' "$dir/pause.ini"
check 'a scenario that has changed is refused' refused 'expected the same plan' "$dir/other"
check 'and the folder is as it was' sh -c "cd '$dir' && diff -r other before"
check 'a run that is whole is refused' refused 'nothing of it is left to play' "$dir/whole"
check 'a folder that is none of a run is refused' refused 'expected the folder of a run that was stopped' "$dir/full"
echo "1..$n"
