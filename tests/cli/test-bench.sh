#!/usr/bin/env bash
# test: beside
# SPDX-License-Identifier: MIT
#
# test-bench.sh - ./bench as its user meets it, without installing anything: help, odd paths, the quick second call,
# the polite refusals, and the count at the end of `./bench test`. Speaks TAP.
#
# Every check works on a checkout of its own: the real bench and its scripts beside a tiny project that stands in for lockbench. What
# a fresh machine makes of ./bench is the matter of clean-machine.sh.
# shellcheck disable=SC2317,SC2015 # statements are called by name; "a && b || explain" means just that
set -uo pipefail

here=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/bench test.XXXXXX") || exit 1
trap 'chmod -R u+w -- "$work"; rm -rf -- "$work"' EXIT
chmod 755 -- "$work"
unset LOCKBENCH_ROOT LOCKBENCH_RESULTS LOCKBENCH_PYTHON LOCKBENCH_CALLED_AS MAKEFLAGS CC
export XDG_CACHE_HOME=$work/cache
export CCACHE_DISABLE=1 # it would keep its files there, too, those of root first

# ---- a stand-in for lockbench -----------------------------------------------------------------------------------

make_checkout() { # folder
  mkdir -p -- "$1/"{results,tests,plots}
  cp -R -- "$here/bench" "$here/setup" "$1/"
  cp -- "$here/tests/run.py" "$1/tests/"
  cp -- "$here/plots/ending.py" "$here/plots/run_folder.py" "$1/plots/"
  cat >"$1/main.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "version.h"

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) printf("[%s]", argv[i]);
  printf("\nversion=%s\nroot=%s\nresults=%s\n", version, getenv("LOCKBENCH_ROOT"), getenv("LOCKBENCH_RESULTS"));
  printf("python=%s\ncalled_as=%s\n.\n", getenv("LOCKBENCH_PYTHON"), getenv("LOCKBENCH_CALLED_AS"));
  return argc > 1 && strcmp(argv[1], "exit") == 0 ? atoi(argv[2]) : 0;
}
END
  echo 'int main(void) { return 0; }' >"$1/a-test.c"
  echo 'static const char version[] = "@VCS_TAG@";' >"$1/version.h.in"
  cat >"$1/meson.build" <<'END'
project('stand-in', 'c')
version_h = vcs_tag(command: ['echo', '1'], input: 'version.h.in', output: 'version.h') # runs every time
alias_target('program', executable('lockbench', 'main.c', version_h))
executable('a-test', 'a-test.c')
sh = find_program('sh')
add_test_setup('valgrind', exclude_suites: ['live'])
test('one', sh, args: ['-c', 'exit 0'], suite: ['unit', 'memory', 'threads'])
test('statements', sh, args: ['-c', 'echo 1..3; echo ok 1 - a; echo ok 2 - b; echo "ok 3 - c # SKIP no server"'],
  protocol: 'tap', suite: 'live')
test('cmocka', sh, args: ['-c', 'echo 1..2; echo ok 1 - a; echo "not ok 2 # SKIP b"'], suite: 'live')
END
}

fails_too() { # folder: adds a failing program, a failing statement and a crash after a good statement
  cat >>"$1/meson.build" <<'END'
test('bad', sh, args: ['-c', 'exit 1'], suite: 'unit')
test('absent', sh, args: ['-c', 'exit 77'], suite: 'live')
test('wrong', sh, args: ['-c', 'echo 1..2; echo ok 1 - a; echo not ok 2 - b'], protocol: 'tap', suite: 'live')
test('crash', sh, args: ['-c', 'echo 1..1; echo ok 1 - a; kill -SEGV $$'], protocol: 'tap', suite: 'live')
END
}

# Runs bench as a user without rights, also when we are root.
as_nobody() {
  if ((EUID == 0)); then setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; else "$@"; fi
}

# Runs a command where hiredis is not installed and nobody is root: namespaces of its own, so nothing real changes.
without_hiredis() {
  # shellcheck disable=SC2016
  unshare --user --map-root-user --mount \
    sh -c 'mount -t tmpfs tmpfs /usr/include/hiredis && exec unshare --user -- "$@"' sh "$@"
}

# Runs a command where matplotlib is not installed, but a sudo that says yes installs it, and the python3 in PATH is
# somebody's broken one.
without_matplotlib() {
  mkdir -p -- "$work/provider"
  broken_python "$work/provider"
  cat >"$work/provider/sudo" <<'END'
#!/bin/sh
case "$*" in *install_as_root*) : >/usr/lib/python3/dist-packages/matplotlib/__init__.py ;; esac
END
  chmod 755 -- "$work/provider/sudo"
  # shellcheck disable=SC2016
  unshare --user --map-root-user --mount sh -c '
    mount -t tmpfs -o mode=1777 tmpfs /usr/lib/python3/dist-packages/matplotlib && exec unshare --user -- "$@"' \
    sh env "PATH=$work/provider:$PATH" "$@"
}

# A python3 that cannot do anything, for the front of PATH.
broken_python() { # folder
  mkdir -p -- "$1" && printf '#!/bin/sh\nexit 1\n' >"$1/python3" && chmod 755 -- "$1/python3"
}

# ---- statements: each succeeds or prints why not ----------------------------------------------------------------

expect() { # text that must stand in $out
  [[ $out == *"$1"* ]] || { printf 'expected: %s\ngot: %s\n' "$1" "$out" && return 1; }
}

expect_code() { # expected
  ((code == $1)) || { printf 'exit code %d instead of %d: %s\n' "$code" "$1" "$out" && return 1; }
}

call() { # command...; leaves $out (both streams) and $code
  out=$("$@" 2>&1 </dev/null)
  code=$?
}

help_names_both_commands_and_builds_nothing() {
  local word
  make_checkout "$work/help"
  for word in help -h --help; do
    call "$work/help/bench" "$word"
    expect_code 0 && expect './bench   ' && expect './bench test' && expect './bench ARGS' || return
  done
  [[ ! -e $work/help/build ]]
}

help_has_as_many_columns_as_there_are() {
  local columns
  for columns in '' 60 100; do
    call env ${columns:+COLUMNS=$columns} "$work/help/bench" help
    expect_code 0 || return
    ! awk -v most="${columns:-80}" 'length > most { print; bad = 1 } END { exit !bad }' <<<"$out" || return
  done
  grep -q '^.\{90\}' <<<"$out"
}

help_goes_on_to_the_program_once_it_is_built() {
  make_checkout "$work/help built"
  call "$work/help built/bench" list
  call "$work/help built/bench" help
  expect './bench test' && expect '[help]'
}

arguments_and_exit_code_pass_unchanged() {
  make_checkout "$work/with spaces"
  call "$work/with spaces/bench" exit 3 'a b' '' '*' --json
  expect_code 3 && expect $'\n[exit][3][a b][][*][--json]\n' && expect "root=$work/with spaces"
}

no_arguments_run_the_quick_suite() {
  call "$work/with spaces/bench"
  expect_code 0 && expect '[suite][quick]'
}

only_a_test_run_builds_the_tests() {
  [[ -x "$work/with spaces/build/lockbench" && ! -e "$work/with spaces/build/a-test" ]]
}

works_through_a_symlink_from_another_folder() {
  ln -s '../with spaces/bench' "$work/help/link"
  call env -C / "$work/help/link" list
  expect_code 0 && expect "root=$work/with spaces" && [[ ! -e $work/help/build ]]
}

second_call_is_silent_and_takes_less_than_a_second() {
  local before after started
  before=$(stat -c %y -- "$work/with spaces/build/build.ninja" "$work/with spaces/build/lockbench")
  started=${EPOCHREALTIME/./}
  call "$work/with spaces/bench" list
  ((${EPOCHREALTIME/./} - started < 1000000)) || { echo 'took longer' && return 1; }
  after=$(stat -c %y -- "$work/with spaces/build/build.ninja" "$work/with spaces/build/lockbench")
  [[ $before == "$after" && $out == '[list]'* ]] || { printf '%s\n' "$before" "$after" "$out" && return 1; }
}

changed_source_is_built_again() {
  sed -i 's/\[%s\]/<%s>/' "$work/with spaces/main.c"
  call "$work/with spaces/bench" list
  expect 'building' && expect '<list>'
}

changed_build_description_is_read_again() {
  sed -i "s/version_h)/version_h, c_args: '-Dmain=main')/" "$work/with spaces/meson.build"
  call "$work/with spaces/bench" list
  expect 'building' && expect '<list>' && grep -q Dmain=main "$work/with spaces/build/build.ninja"
}

setup_speaks_on_stderr_only() {
  make_checkout "$work/streams"
  out=$("$work/streams/bench" list 2>/dev/null)
  [[ $out == '[list]'* ]] || { printf 'got: %s\n' "$out" && return 1; }
}

moved_checkout_is_set_up_again() {
  mv -- "$work/streams" "$work/moved"
  sed -i 's/\[%s\]/<%s>/' "$work/moved/main.c"
  call "$work/moved/bench" list
  expect_code 0 && expect '<list>' && expect "root=$work/moved" || return
  ! grep -F /streams "$work/moved/build/build.ninja" # ninja escapes the space before it
}

build_of_ones_own_is_kept() {
  make_checkout "$work/own"
  meson setup "$work/own/build" "$work/own" -Doptimization=3 >/dev/null && call "$work/own/bench" list
  expect_code 0 && grep -q -e -O3 "$work/own/build/build.ninja"
}

compile_error_is_shown_and_ends_with_1() {
  make_checkout "$work/error"
  echo 'int x = "' >>"$work/error/main.c"
  call "$work/error/bench" list
  expect_code 1 && expect 'main.c' && expect 'error:' && expect "the build in $work/error/build failed"
}

two_calls_at_once_both_succeed() {
  local first code
  make_checkout "$work/twice"
  "$work/twice/bench" list >"$work/twice.out" 2>&1 &
  first=$!
  call "$work/twice/bench" list
  wait "$first" && expect_code 0 && expect '[list]' && grep -q '\[list\]' "$work/twice.out"
}

read_only_checkout_builds_in_the_cache() {
  local folder=$work/results
  make_checkout "$work/read only"
  mkdir -p -- "$XDG_CACHE_HOME" "$folder" && chmod 777 -- "$XDG_CACHE_HOME" "$folder"
  chmod -R a-w -- "$work/read only"
  call as_nobody env -C "$folder" "$work/read only/bench" list
  expect_code 0 && expect "root=$work/read only" && expect "results=$folder/lockbench-results" || return
  [[ ! -e "$work/read only/build" ]] && compgen -G "$XDG_CACHE_HOME/lockbench/*/build/lockbench" >/dev/null
}

missing_package_without_sudo_is_refused_with_5() {
  make_checkout "$work/refuse"
  mkdir -p -- "$work/bin" && printf '#!/bin/sh\necho RAN\n' >"$work/bin/apt-get" && chmod 755 -- "$work/bin/apt-get"
  call without_hiredis env "PATH=$work/bin:$PATH" "$work/refuse/bench" list
  expect_code 5 && expect 'there is no sudo' && expect 'libhiredis-dev         client library of Redis' &&
    expect 'apt-get install --no-install-recommends libhiredis-dev' && [[ $out != *RAN* ]]
}

refusal_of_sudo_is_told_with_5() {
  printf '#!/bin/sh\nexit 1\n' >"$work/bin/sudo" && chmod 755 -- "$work/bin/sudo"
  call without_hiredis env "PATH=$work/bin:$PATH" "$work/refuse/bench" list
  rm -- "$work/bin/sudo"
  expect_code 5 && expect 'sudo refused' && expect 'libhiredis-dev' && [[ $out != *RAN* ]]
}

python_is_chosen_when_the_packages_are_there() {
  make_checkout "$work/python"
  call without_matplotlib "$work/python/bench" list
  expect_code 0 && expect 'python3-matplotlib' && expect 'installed in' && expect $'\npython=/usr/bin/python3\n'
}

python_of_ones_own_is_kept() {
  call env LOCKBENCH_PYTHON=/opt/python "$work/python/bench" list
  expect_code 0 && expect $'\npython=/opt/python\n'
}

a_meson_and_a_ninja_that_do_not_run_are_passed_over() {
  mkdir -p -- "$work/leftovers"
  printf '#!/bin/sh\necho "no such command in this Python" >&2\nexit 127\n' | tee "$work/leftovers/"{meson,ninja} >/dev/null
  chmod 755 -- "$work/leftovers/"{meson,ninja}
  make_checkout "$work/passed over"
  call env "PATH=$work/leftovers:$PATH" "$work/passed over/bench" list
  expect_code 0 && expect '[list]' || return
  call env "PATH=$work/leftovers:$PATH" "$work/passed over/bench" test one
  expect_code 0 && expect '1 passed, 0 failed'
}

tells_the_program_how_it_was_called() {
  make_checkout "$work/called"
  call env -C "$work/called" ./bench list
  expect $'\ncalled_as=./bench\n' || return
  call env -C "$work/called/results" ../bench list
  expect $'\ncalled_as=../bench\n' || return
  call env -C "$work/called" bash bench list
  expect $'\ncalled_as=./bench\n' || return
  ln -s -- called/bench "$work/link to bench"
  call env -C "$work" './link to bench' list
  expect $'\ncalled_as=./link\\ to\\ bench\n' || return
  call env "PATH=$work/called:$PATH" bench list
  expect $'\ncalled_as=bench\n' || return
  call env "PATH=$work/called:$PATH" LOCKBENCH_CALLED_AS=wrong "$work/python/bench" list
  expect $'\ncalled_as='"$(printf %q "$work/python/bench")"$'\n'
}

refusal_names_the_command_as_it_was_called() {
  call without_hiredis env -C "$work" "PATH=$work/bin:$PATH" refuse/bench list
  expect_code 5 && expect 'or run refuse/bench once as root'
}

another_release_is_named_with_what_to_do() {
  printf 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n' >"$work/os-release"
  call without_hiredis env -C "$work" "PATH=$work/bin:$PATH" "LOCKBENCH_OS_RELEASE=$work/os-release" refuse/bench list
  expect 'bench: Ubuntu 24.04.1 LTS is neither Debian 12 nor 13. If' && expect 'docs/install.md' || return
  printf 'ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian 13"\n' >"$work/os-release"
  call without_hiredis env -C "$work" "PATH=$work/bin:$PATH" "LOCKBENCH_OS_RELEASE=$work/os-release" refuse/bench list
  expect 'libhiredis-dev' && [[ $out != *neither* ]]
}

a_package_has_the_name_of_its_release() {
  mkdir -p -- "$work/apt" && printf '#!/bin/sh\n[ "$3" = new-2 ] || [ "$3" = both-1 ] || [ "$3" = both-2 ]\n' >"$work/apt/apt-cache" || return
  chmod 755 -- "$work/apt/apt-cache"
  out=$(PATH=$work/apt:$PATH bash -c "$(sed -n '/^pick_names()/,/^}/p' "$here/setup/install")"'; pick_names "$@"' sh one new-1/new-2 both-1/both-2 no-1/no-2 | paste -sd ' ')
  [[ $out == 'one new-2 both-1 no-1' ]] || { echo "got: $out" && return 1; }
}

peers_are_those_of_these_names() {
  local bench=$work/peers/bench name
  make_checkout "$work/peers"
  mkdir -- "$work/peers/peers" && cp -- "$here/peers/"{known.py,install} "$work/peers/peers/" || return
  for name in alpha beta gamma; do
    printf '[%s]\nrun = /nowhere/%s\nsays = name=%s\nversion = 1\nlike = x\npackages =\nnpm =\nthere = /nowhere/%s\nsummary = s\n' "$name"{,,,}
  done >"$work/peers/peers/peers.ini"
  call "$bench" peers
  expect_code 0 && expect 'alpha  ' && expect 'beta  ' && expect 'gamma  ' || return
  call "$bench" peers beta peer:gamma
  expect_code 0 && expect 'beta  ' && expect 'gamma  ' && [[ $out != *alpha* ]] || { echo "$out" && return 1; }
}

peers_are_compiled_when_their_maker_is_newer() {
  local bench=$work/peers/bench folder=$work/peers/peers
  printf '[%s]\nrun = /nowhere/x\nsays = name=%s\nversion = 1\nlike = x\npackages = %s\nnpm =\nthere = $PEERS/%s.made\nmaker = make-it it.c\nsummary = s\n' \
    delta{,} '' delta >>"$folder/peers.ini"
  # shellcheck disable=SC2016 # for the maker
  printf '#!/bin/sh\necho made >>"$1/delta.made"\n' >"$folder/make-it" && chmod +x "$folder/make-it" && touch "$folder/it.c"
  call "$bench" peers delta
  expect_code 0 && expect 'bench: compiling it.c ...' || return
  call "$bench" peers delta
  expect_code 0 && [[ $out != *compiling* ]] || { echo "$out" && return 1; }
  touch -d '+1 minute' "$folder/it.c"
  call "$bench" peers delta
  expect_code 0 && expect 'bench: compiling it.c ...'
}

peers_says_in_one_line_what_a_registry_did_not_give() {
  local bench=$work/peers/bench folder=$work/peers/peers
  mkdir -p -- "$folder/node" "$work/no-registry" && cp -- "$here/peers/node/"package{,-lock}.json "$folder/node/" || return
  printf '[eta]\nrun = /nowhere/eta\nsays = name=eta\nversion = 1\nlike = x\npackages =\nnpm = eta@1\nthere = $PEERS/eta\nsummary = s\n' >>"$folder/peers.ini"
  printf '#!/bin/sh\necho "npm error code ECONNREFUSED" >&2\nexit 1\n' >"$work/no-registry/npm"
  printf '#!/bin/sh\n' >"$work/no-registry/node" && chmod 755 -- "$work/no-registry/"{npm,node} || return
  PATH=$work/no-registry:$PATH call "$bench" peers eta
  expect_code 1 && expect 'bench: npm could not fetch them: npm error code ECONNREFUSED (see ' && expect 'eta ' && expect 'bench: fetching the peers in JavaScript with npm: 24 MB' || return
  [[ $(grep -c ECONNREFUSED <<<"$out") == 1 ]] || { echo "$out" && return 1; }
}

peers_refuses_what_is_no_name() {
  local bench=$work/peers/bench
  call "$bench" peers bta
  expect_code 2 && [[ $out == "bench: peers: unknown library 'bta', did you mean 'beta'?" ]] || { echo "$out" && return 1; }
  call "$bench" peers alpha zzzzzz
  expect_code 2 && [[ $out == "bench: peers: unknown library 'zzzzzz', "* && $out != *$'\n'* ]] || { echo "$out" && return 1; }
  call "$bench" peers --all
  expect_code 2 && [[ $out == "bench: "*"'--all'" ]] || { echo "$out" && return 1; }
}

test_counts_statements_and_ends_with_the_sum() {
  make_checkout "$work/count"
  call "$work/count/bench" test one statements cmocka
  expect_code 0 && [[ $out == *$'\n4 passed, 0 failed, 2 skipped' ]] || { echo "$out" && return 1; }
}

test_counts_with_a_broken_python_in_front() {
  broken_python "$work/stub"
  call env "PATH=$work/stub:$PATH" "$work/count/bench" test one statements cmocka
  expect_code 0 && [[ $out == *$'\n4 passed, 0 failed, 2 skipped' ]] || { echo "$out" && return 1; }
}

test_refuses_what_matches_no_test() {
  local bench=$work/count/bench
  call "$bench" test --suite nope
  expect_code 2 && expect "bench: no test matches '--suite nope'; the suites are: live memory threads unit" || return
  call "$bench" test nosuchname
  expect_code 2 && expect "bench: no test matches 'nosuchname'; the suites are: live memory threads unit" || return
  call "$bench" test one nosuchname
  expect_code 2 && expect "bench: no test matches 'nosuchname'; the suites are: live memory threads unit" || return
  call "$bench" test --suite unit nosuchname
  expect_code 2 && expect "bench: no test matches 'nosuchname'; the suites are: live memory threads unit" || return
  call "$bench" test --suite=unit --suite=nope
  expect_code 2 && expect "bench: no test matches '--suite nope'; the suites are: live memory threads unit" || return
  call "$bench" test --suite live one
  expect_code 2 && expect "bench: no test matches '--suite live one'; the suites are: live memory threads unit"
}

test_takes_the_options_of_meson() {
  call "$work/count/bench" test --repeat 2 -v --suite unit --no-suite live one
  expect_code 0 && [[ $out == *$'\n2 passed, 0 failed' ]] || { echo "$out" && return 1; }
  call "$work/count/bench" test --list
  expect_code 0 && expect 'unit+memory+threads / one'
}

test_names_failures_and_exits_with_1() {
  fails_too "$work/count"
  call "$work/count/bench" test --suite unit --suite live
  expect_code 1 && expect 'failed in gcc: stand-in:unit / bad (FAIL)' &&
    expect 'failed in gcc: stand-in:live / wrong: 2 - b' && expect 'failed in gcc: stand-in:live / crash (ERROR)' &&
    [[ $out == *$'\n6 passed, 3 failed, 3 skipped' ]] || { echo "$out" && return 1; }
}

test_of_a_broken_build_is_a_failure() {
  call "$work/error/bench" test one
  expect_code 1 && [[ $out == *$'\n0 passed, 1 failed' ]] || { echo "$out" && return 1; }
}

full_test_sums_all_builds_and_both_lanes() {
  make_checkout "$work/full"
  # shellcheck disable=SC2016 # for the shell of the test
  echo "test('sum', sh, args: ['-c', 'eval \"\$SUM\"'], suite: ['unit', 'compute'], depends: executable('large', 'a-test.c'))" \
    >>"$work/full/meson.build"
  call env SUM=: "$work/full/bench" test
  # gcc: two and a skip, one and a skip, sum; valgrind, address+undefined: one and sum each; thread: one.
  expect_code 0 && [[ $out == *$'\n9 passed, 0 failed, 2 skipped' ]] || { echo "$out" && return 1; }
}

a_tree_is_built_without_what_only_other_tests_need() {
  local tree=$work/full/build
  [[ -x $tree/large && -x $tree-asan/large && -x $tree-tsan/a-test && ! -e $tree-tsan/large ]] || { ls "$tree"* && return 1; }
}

full_test_names_failures_of_the_lane_behind() {
  call env SUM='exit 1' "$work/full/bench" test
  expect_code 1 && expect 'failed in gcc: computes: stand-in:unit+compute / sum (FAIL)' &&
    expect 'failed in address+undefined: computes: stand-in:unit+compute / sum (FAIL)' &&
    [[ $out == *$'\n6 passed, 3 failed, 2 skipped' ]] || { echo "$out" && return 1; }
}

# Adds tests of the suites `live` and `style` to the full checkout: each fails as often as $work/fails/NAME has bytes left.
can_be_unsteady() {
  local name
  mkdir -p -- "$work/fails"
  # shellcheck disable=SC2016 # for the shell of the test
  printf '#!/bin/sh\n%s\n' 'left="$FAILS/${1##*/}"' 'echo "$1" >>"$FAILS.log"; echo 1..2; echo ok 1 - a' \
    'if [ -s "$left" ]; then truncate -s -1 "$left"; echo "not ok 2 - b"; echo "# why"; echo "$2"; else echo "ok 2 - b"; fi' >"$work/full/unsteady.sh"
  for name in 'one of/x@y-x3 a=b' two three four; do
    echo "test('$name', sh, args: [files('unsteady.sh'), '$name', ''], protocol: 'tap', suite: 'live', env: {'FAILS': '$work/fails'})"
  done >>"$work/full/meson.build"
  echo "test('drawn', sh, args: [files('unsteady.sh'), 'drawn', ''], protocol: 'tap', suite: ['live', 'style'], env: {'FAILS': '$work/fails'})
test('sick', sh, args: [files('unsteady.sh'), 'sick', '# | ERROR: AddressSanitizer: stack-overflow'], protocol: 'tap', suite: 'live', env: {'FAILS': '$work/fails'})
test('ended', sh, args: ['-c', 'echo 1..1; echo ok 1 - a; if [ -s ended ]; then : >ended; exit 3; fi'],
  protocol: 'tap', suite: 'live', workdir: '$work/fails')
test('rare', sh, args: ['-c', 'exit 1'], suite: ['live', 'all'])
test('dead', sh, args: ['-c', 'echo 1..1; echo ok 1 - a; if [ -s dead ]; then : >dead; kill -SEGV \$\$; fi'],
  protocol: 'tap', suite: 'live', workdir: '$work/fails')" >>"$work/full/meson.build"
}

# Each NAME:TIMES fails so often; leaves in $ran how often each ran.
full_test_with() { # NAME:TIMES...
  local name
  rm -f -- "$work/fails/"* "$work/fails.log"
  for name in "$@"; do head -c "${name#*:}" /dev/zero >"$work/fails/${name%:*}"; done
  call env SUM=: "$work/full/bench" test
  ran=$(sort "$work/fails.log" | uniq -c | sed 's/^ *//')
}

what_passes_alone_is_unsteady_and_named() {
  can_be_unsteady
  full_test_with 'x@y-x3 a=b:1' ended:1
  expect_code 0 && expect 'unsteady in gcc: stand-in:live / one of/x@y-x3 a=b: 2 - b (failed beside others, passed alone)' &&
    expect 'unsteady in gcc: stand-in:live / ended (ERROR) (failed beside others, passed alone)' &&
    [[ $out != *'failed in'* && $ran == *'2 one of/x'* && $ran == *'1 two'* ]] &&
    [[ $out == *$'\n23 passed, 0 failed, 2 skipped, 2 unsteady' ]] || { printf '%s\n' "$out" "$ran" && return 1; }
  [[ $(head -n 1 -- "$work/full/build/test-times.csv") == seconds,part,test* ]] && grep -qF ',gcc,stand-in:live / two' "$work/full/build/test-times.csv" || return
  ! grep -qF rare "$work/full/build/test-times.csv" || return # of the suite `all`
  out=$(cat "$work/full/build/meson-logs/"bench-gcc{,-again}.txt)
  expect 'not ok 2 - b' && expect $'\nok 2 - b'
}

what_fails_three_times_is_failed() {
  full_test_with 'two:3' 'three:2'
  expect_code 1 && expect 'failed in gcc: stand-in:live / two: 2 - b' && expect 'unsteady in gcc: stand-in:live / three: 2 - b (' &&
    [[ $out == *$'\n22 passed, 1 failed, 2 skipped, 1 unsteady' && $ran == *'3 three'* && $ran == *'3 two'* && $out == *$'== stand-in:live / two said:\nnot ok 2 - b\n# why'* ]] || { printf '%s\n' "$out" "$ran" && return 1; }
}

what_proves_a_mistake_or_computes_is_not_run_again() {
  full_test_with drawn:1 sick:1 dead:1
  expect_code 1 && expect 'failed in gcc: stand-in:live+style / drawn: 2 - b' && expect 'failed in gcc: stand-in:live / sick: 2 - b' &&
    expect 'failed in gcc: stand-in:live / dead (ERROR)' && [[ $out != *'unsteady in'* && $ran == *'1 drawn'*'1 sick'* ]] || { echo "$ran" && return 1; }
}

four_that_fail_are_not_run_again() {
  full_test_with 'x@y-x3 a=b:1' two:1 three:1 four:1
  expect_code 1 && [[ $out == *$'\n19 passed, 4 failed, 2 skipped' && $ran != *'2 '* ]] || { printf '%s\n' "$out" "$ran" && return 1; }
}

# What is signalled is the process group, as by a terminal; the lane behind has one of its own.
an_ended_test_run_ends_its_lane_behind() {
  local tries=600 bench pid=''
  set -m
  # shellcheck disable=SC2016
  SUM='echo $$ >"$OUT.part" && mv "$OUT.part" "$OUT"; exec sleep 200' OUT=$work/long "$work/full/bench" test >/dev/null 2>&1 </dev/null &
  bench=$!
  set +m
  while [[ ! -s $work/long ]] && ((tries-- > 0)); do sleep 0.1; done
  kill -- "-$bench"
  wait "$bench"
  read -r pid <"$work/long" && tries=600
  while [[ -e /proc/$pid ]] && ((tries-- > 0)); do sleep 0.1; done
  [[ -n $pid && ! -e /proc/$pid ]] || { echo "process '$pid' is left" && return 1; }
}

# ---- runner -----------------------------------------------------------------------------------------------------

number=0 bad=0
check() { # function [reason to skip]
  local text=${1//_/ } why
  number=$((number + 1))
  if [[ -n ${2-} ]]; then
    echo "ok $number - $text # SKIP $2"
  elif why=$("$1" 2>&1); then
    echo "ok $number - $text"
  else
    echo "not ok $number - $text"
    printf '%s\n' "$why" | sed 's/^/# /'
    bad=1
  fi
}

no_namespaces='' no_sanitizers='' no_matplotlib=''
without_hiredis true 2>/dev/null || no_namespaces='no user namespaces here'
without_matplotlib true 2>/dev/null || no_matplotlib='no user namespaces here, or no matplotlib to hide'
type -P sudo >/dev/null && no_sudo_check='sudo is installed here' || no_sudo_check=$no_namespaces
type -P clang valgrind >/dev/null || no_sanitizers='no clang or valgrind'

echo 1..43
check help_names_both_commands_and_builds_nothing
check help_has_as_many_columns_as_there_are
check help_goes_on_to_the_program_once_it_is_built
check arguments_and_exit_code_pass_unchanged
check no_arguments_run_the_quick_suite
check only_a_test_run_builds_the_tests
check works_through_a_symlink_from_another_folder
check second_call_is_silent_and_takes_less_than_a_second
check changed_source_is_built_again
check changed_build_description_is_read_again
check setup_speaks_on_stderr_only
check moved_checkout_is_set_up_again
check build_of_ones_own_is_kept
check compile_error_is_shown_and_ends_with_1
check two_calls_at_once_both_succeed
check read_only_checkout_builds_in_the_cache
check missing_package_without_sudo_is_refused_with_5 "$no_sudo_check"
check refusal_of_sudo_is_told_with_5 "$no_namespaces"
check python_is_chosen_when_the_packages_are_there "$no_matplotlib"
check python_of_ones_own_is_kept
check a_meson_and_a_ninja_that_do_not_run_are_passed_over
check tells_the_program_how_it_was_called
check refusal_names_the_command_as_it_was_called "$no_sudo_check"
check another_release_is_named_with_what_to_do "$no_sudo_check"
check a_package_has_the_name_of_its_release
check peers_are_those_of_these_names
check peers_are_compiled_when_their_maker_is_newer
check peers_says_in_one_line_what_a_registry_did_not_give
check peers_refuses_what_is_no_name
check test_counts_statements_and_ends_with_the_sum
check test_counts_with_a_broken_python_in_front
check test_refuses_what_matches_no_test
check test_takes_the_options_of_meson
check test_names_failures_and_exits_with_1
check test_of_a_broken_build_is_a_failure
check full_test_sums_all_builds_and_both_lanes "$no_sanitizers"
check a_tree_is_built_without_what_only_other_tests_need "$no_sanitizers"
check full_test_names_failures_of_the_lane_behind "$no_sanitizers"
check what_passes_alone_is_unsteady_and_named "$no_sanitizers"
check what_fails_three_times_is_failed "$no_sanitizers"
check what_proves_a_mistake_or_computes_is_not_run_again "$no_sanitizers"
check four_that_fail_are_not_run_again "$no_sanitizers"
check an_ended_test_run_ends_its_lane_behind "$no_sanitizers"
exit $bad
