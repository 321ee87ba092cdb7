#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# `conform` passes the reference adapter, and fails each of tests/adapters/broken.py with the statement that it breaks and a line that says what was read. TAP.
# Usage: live-adapter.sh LOCKBENCH
bin=$1
. "$(dirname "$0")/../../helpers/tap.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
at_once=6 run=0 listed=''

# breaks FAULT STATEMENT PATTERN: this statement alone is tried. All run first, a few at a time, for most of what they do is to wait; then they are judged in their order.
breaks() {
  run=$((run + 1))
  $phase "$@"
}
runs() {
  { "$bin" conform "python3 $here/adapters/broken.py $1" "$2" >"$dir/$1.out" 2>&1; echo $? >"$dir/$1.code"; } &
  if [ $((run % at_once)) -eq 0 ]; then wait $!; fi
}
is_judged() {
  listed="$listed $1"
  cp "$dir/$1.out" "$dir/out"
  check "$1: FAIL $2" sh -c '[ "$(cat "$1")" = 3 ] && grep -E "^FAIL $2.*: .*$3" "$4"' - "$dir/$1.code" "$2" "$3" "$dir/$1.out"
}
all() {
  breaks lies 'a held lock is refused at once' "expected busy .*, read '2 granted .* \(second client\), while the first client holds"
  breaks impatient 'an acquire waits as long as it may' "expected it to wait for about wait_ms=1200, read '2 busy' after"
  breaks patient-at-zero 'a held lock is refused at once' 'expected busy at once, as wait_ms=0, read it after 1[0-9]{3} ms'
  breaks never-gives-up 'an acquire waits as long as it may' 'expected an answer within wait_ms=1200 and a second'
  breaks deaf-waiter 'who waits is granted after' "expected granted .* read '2 busy'"
  breaks keeps-its-place 'a waiter that gave up keeps' "expected granted .*, as the first client has released, and the second one had given up before"
  breaks dies-in-its-place 'a waiter that was killed keeps' "expected granted .*, as the first client has released, and the second one was killed while it waited"
  breaks deletes-blindly 'who was refused frees' 'after a release by the second client, which held nothing'
  breaks says-ok-to-late 'a stale release leaves' "expected lost or error as the answer to release, read '3 ok'"
  breaks extends-nothing 'extend makes a lease last' '2.2 s after a grant of 1 s that was extended'
  breaks extends-what-is-lost 'a lease that is over cannot' "expected lost or error as the answer to extend, read '3 ok'"
  breaks takes-anew 'a lease that another one has had' "expected lost or error as the answer to extend, read '[0-9]+ ok'.* has held and released since"
  breaks holds-if-free 'holds is no more ok' "expected lost or error as the answer to holds, read '[0-9]+ ok'.* has held and released since"
  breaks holds-from-memory 'holds asks the service' "expected lost or error as the answer to holds, read '3 ok'"
  breaks holds-for-ever 'holds is ok while it holds' 'after its release'
  breaks wrong-number 'every question is answered once' "expected '1 ...' as the answer to open, read '2 ok'"
  breaks answers-twice 'every question is answered once' "expected '2 ...' as the answer to ping, read '1 ok'"
  breaks noise 'every question is answered once' "read 'DEBUG open'"
  breaks refuses-new-words 'a word that it does not know' "read '2 error what is that\?'"
  breaks no-end 'a lease ends by itself' 'as a lease of 1 s was over while it waited for 5 s'
  breaks half-the-lease 'a lease ends by itself' 'expected nobody else before the end of a lease'
  breaks wrong-record 'the record that it names' 'expected the record of record= at a server while it holds, found none'
  breaks one-key 'two keys do not exclude' "of another key than the first client's"
  breaks stays 'it ends when its stdin ends' 'after the end of its stdin, it did not'
  breaks ignores-quit 'quit is answered' 'after quit, it did not'
  breaks number-first 'of two grants the later' 'expected a fence above [0-9]+, that of the grant before'
  breaks one-token 'no two grants' 'expected another token than that of an earlier grant'
  breaks revives 'a lease that another one has had' "expected lost or error as the answer to extend, read '[0-9]+ ok'.* has held and released since"
  breaks fences-fall 'of two grants the later' 'expected a fence above [0-9]+, that of the grant before, read'
  breaks no-fence 'a grant carries what the first line says' 'expected fence= with a whole number in a grant'
  breaks long-validity 'what is left of a grant' 'expected validity_ms above 0 and at most ttl_ms=8000'
  breaks never-reconnects 'servers that are gone' "read '[0-9]+ error no connection'"
  breaks no-version 'the first line says what it is' 'expected version= of the library'
  breaks unknown-topology 'the first line says what it is' "read 'rediss'"
  breaks no-greeting 'the first line says what it is' "its first line is 'hello name="
  breaks next-version 'the first line says what it is' 'another version of the line protocol'
  breaks cannot-open 'a free lock is granted' "expected ok as the answer to open, read '1 error no'"
  breaks wrong-ends 'the first line says what it is' 'ends=sometimes: expected lease, session or never'
}
# What fails like the first one is a number: whole BROKEN MOST_FAILURES.
whole() {
  "$bin" conform "python3 $here/adapters/broken.py $1" >"$dir/out" 2>&1
  awk -v most="$2" '/^FAIL / { fails++ } /^[0-9]+ more fails? as "/ { more += $1 } / statements hold/ { held = $2; all = $4 }
    END { exit !(fails >= 1 && fails <= most && more > 0 && fails + more == all - held) }' "$dir/out"
}
check 'of many failures with one cause the first is told, and how many more' whole cannot-open 1
check '... of those with several, the first of each' whole lies 10
check '... and --tap prints each' sh -c '"$1" conform --tap "python3 $2/adapters/broken.py cannot-open" >"$3" 2>&1; [ "$(grep -c "^not ok" "$3")" -gt 10 ]' - "$bin" "$here" "$dir/out"
sed 's/topologies=redis/topologies=redis,redis-x5,sentinel/' "$here/../peers/reference.py" >"$dir/many.py"
many="python3 $dir/many.py"
check 'a topology that was not tried is named, with what tries it' sh -c '"$1" conform "$2" quit >"$3" && grep -qx "not tried: redis-x5, sentinel: add -b redis-x5,sentinel" "$3"' - "$bin" "$many" "$dir/out"
check '... not one that was' sh -c '"$1" conform -b redis,redis-x5 "$2" quit >"$3" && grep -qx "not tried: sentinel: add -b sentinel" "$3"' - "$bin" "$many" "$dir/out"
check '... and none where all were' sh -c '"$1" conform "python3 $2/../peers/reference.py" quit >"$3" && ! grep "not tried" "$3"' - "$bin" "$here" "$dir/out"
{ "$bin" conform --tap "python3 $here/../peers/reference.py" >"$dir/reference.out" 2>&1; echo $? >"$dir/reference.code"; } &
phase=runs
all
wait
phase=is_judged
all
cp "$dir/reference.out" "$dir/out"
check 'the reference adapter: every statement holds' sh -c '[ "$(cat "$1.code")" = 0 ] && ! grep "^not ok" "$1.out" && [ "$(grep -c "^ok" "$1.out")" -ge 24 ]' - "$dir/reference"
# shellcheck disable=SC2086 # words
check 'every broken adapter is tried' test "$(python3 "$here/adapters/broken.py" | sort)" = "$(printf '%s\n' $listed | sort)"

# What is no adapter at all. What its own shell says stands beside our line.
refused() { "$bin" conform "$@" >"$dir/out" 2>&1; [ $? -eq 2 ] && [ "$(grep -c "^lockbench: conform" "$dir/out")" -eq 1 ]; }
says() { grep -qE "$1" "$dir/out"; }
check 'no such command: one line, exit 2' refused /no/such/adapter
check '... which says so' says 'no such command'
check 'one that ends at once: one line, exit 2' refused 'true'
check '... which says so' says "it exited with status 0 before it said what it is"
check 'an unknown topology: one line, exit 2' refused -b rediss "python3 $here/../peers/reference.py"
check '... which says so' says 'rediss'
check 'one that it does not name: one line, exit 2' refused -b zk "python3 $here/../peers/reference.py"
check 'words of no statement: one line, exit 2' refused "python3 $here/../peers/reference.py" 'no such words'
check 'no command: one line, exit 2' refused
echo "1..$n"
