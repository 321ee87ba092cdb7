# SPDX-License-Identifier: MIT
# What the tests that are shell scripts share. Sourced, not run: it makes $dir, a folder of the test's own that goes with it, counts
# statements in $n and says them in TAP.
n=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

check() { # NAME, then a command that must succeed; what it said, and what the program under test left in $dir/out, is shown if it does not
  n=$((n + 1))
  name=$1
  shift
  if "$@" >"$dir/said" 2>&1; then echo "ok $n - $name"; else
    echo "not ok $n - $name"
    [ ! -f "$dir/out" ] || cat "$dir/out" >>"$dir/said"
    sed 's/^/# /' "$dir/said"
  fi
}
not() { if "$@"; then return 1; fi; }
wait_until() { # SECONDS, then a command that comes to succeed by then
  i=$(($1 * 50))
  shift
  while [ $i -gt 0 ]; do
    "$@" && return 0
    sleep 0.02
    i=$((i - 1))
  done
  return 1
}
# Servers work in folders below the one of the test; some hide their arguments.
servers() { ls -ld /proc/[0-9]*/cwd 2>/dev/null | grep -F -- "-> $dir/"; }
# A `lockbench run` with its options, at most three times: a trial that is undecided for a reason like PATTERN is no answer. FOLDER.out, FOLDER.err and its exit code.
played() { # PATTERN FOLDER COMMAND...
  no_answer=$1 into=$2
  shift 2
  for again in 1 2 3; do
    rm -rf "$into"
    "$@" -o "$into" >"$into.out" 2>"$into.err"
    code=$?
    grep -q ",undecided,.*$no_answer" "$into/trials.csv" 2>/dev/null || break
  done
  return $code
}
