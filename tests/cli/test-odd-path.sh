#!/usr/bin/env bash
# test: beside, all
# SPDX-License-Identifier: MIT
#
# test-odd-path.sh - a checkout in a folder with blanks and umlauts: it configures, builds, installs and runs a trial. Speaks TAP.
set -uo pipefail

here=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/odd path.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
unset LOCKBENCH_ROOT LOCKBENCH_RESULTS LB_SOURCE_DIR
tree="$work/mein Schloß, für alle (1)/lock's bench"
n=0

check() { # statement, command...
  local what=$1
  shift
  n=$((n + 1))
  if "$@" >"$work/out" 2>&1; then echo "ok $n - $what"; else
    echo "not ok $n - $what"
    tail -20 "$work/out" | sed 's/^/# /'
    failed=1
  fi
}

failed=0
mkdir -p -- "$tree" && chmod 755 -- "$work" || exit 1
tar -C "$here" --exclude=./build --exclude='./build-*' --exclude=./.git --exclude=./results/run-* --exclude=node_modules --exclude=__pycache__ -cf - . | tar -C "$tree" -xf - || exit 1
check 'it configures' meson setup -Doptimization=0 -Dwerror=false -Dprefix="$work/its prefix" "$tree/build" "$tree"
check 'it builds' nice -n 5 ninja -C "$tree/build" program
headers() { meson introspect --installed "$tree/build" | grep -q "its prefix/include/lockbench/backends/doubt.h"; }
check 'it knows what it would install' headers
check 'it plays a trial without servers' "$tree/build/lockbench" run control -b local -g none -n 1 -o "$work/a run/ü"
echo "1..$n"
exit $failed
