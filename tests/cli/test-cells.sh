#!/bin/sh
# test: beside, exit
# SPDX-License-Identifier: MIT
#
# test-cells.sh LOCKBENCH - a small suite leaves no cell blank, and the walk over its cells (check-cells.py) notices each way
# in which one could be.
set -u
bin=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

check() { # check NAME COMMAND...
  name=$1
  shift
  if "$@" >"$dir/log" 2>&1; then echo "ok - $name"; else
    failed=1
    echo "not ok - $name"
    sed 's/^/# /' "$dir/log"
  fi
}

cat >"$dir/small.ini" <<'END'
[suite]
title = small
question = Is there a blank cell?
systems = local@none, null@none, broken@none
guards = none, deadline, recheck, fence
trials = 1
[control]
[spread]
duration_s = 0.2
warmup_s = 0
[slow-holder]
[failover]
[storm]
duration_s = 2
END
LOCKBENCH_ROOT=$root "$bin" suite -v "$dir/small.ini" -o "$dir/run" >"$dir/summary" 2>&1
check 'a small suite runs' test -s "$dir/run/run.json"
check 'none of its cells is blank' "$root/tests/check-cells.py" "$dir/run"
check 'and the reasons are numbered below its tables' grep -q 'there are no servers' "$dir/summary"

# Each change of run.json is one hole that must be found. $1: what is said of it; $2: Python that makes it in `cells`.
hole() {
  mkdir -p "$dir/broken"
  python3 - "$dir/run/run.json" "$dir/broken/run.json" "$2" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
cells = run["cells"]
first = lambda verdict: next(c for c in cells if c["verdict"] == verdict and c["scenario"] != "storm")
exec(sys.argv[3])
json.dump(run, open(sys.argv[2], "w"))
END
  "$root/tests/check-cells.py" "$dir/broken" >"$dir/found" 2>&1
  code=$?
  cp "$dir/found" "$dir/log"
  check "found: $1" sh -c 'test "$1" -eq 1 && test "$(wc -l <"$2")" -eq 1 && grep -q -- "$3" "$2"' - "$code" "$dir/found" "$1"
}
hole 'there is no such cell' 'cells.remove(first("n/a"))'
hole 'it is there twice' 'cells.append(dict(first("n/a")))'
hole 'n/a without a reason' 'first("n/a")["why"] = None'
hole 'skipped without a reason' 'first("n/a").update(verdict="skipped", why=" ")'
hole 'undecided without a cause' 'first("safe").update(verdict="undecided", undecided=1, why=None)'
hole "verdict 'none'" 'first("safe")["verdict"] = "none"'
hole 'but it has 1 trials' 'first("n/a")["trials"] = 1'
hole 'but 0 trials were decided' 'first("safe").update(trials=0)'
hole 'violated, but its trials were' 'next(c for c in cells if c["scenario"] == "slow-holder" and c["verdict"] == "safe").update(verdict="violated", violated=1, trials=2)'
hole 'but none of its trials was' 'next(c for c in cells if c["scenario"] == "spread" and c["verdict"] == "safe").update(verdict="stuck")'
hole 'safe, but 1 of 2 trials were decided' 'first("safe").update(trials=2, undecided=1)'
exit $failed
