#!/bin/sh
# test: compute
# SPDX-License-Identifier: MIT
# layers.sh is silent about this tree, and names each kind of breach planted into a copy of it.
# Usage: test-layers.sh
root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
number=0
say() { # 0 or 1, title
  number=$((number + 1))
  [ "$1" = 0 ] || printf 'not '
  echo "ok $number - $2"
}
fresh() {
  rm -rf "$copy"/* && mkdir -p "$copy/tests/style" && cp -r "$root/harness" "$root/backends" "$root/scenarios" "$copy/" && mkdir "$copy/peers" && cp "$root/peers/peers.ini" "$copy/peers/" && cp "$root/tests/style/layers.sh" "$copy/tests/style/" && cp -r "$root/tests/unit" "$root/tests/helpers" "$copy/tests/"
}
# Title of the rule, file that breaks it, the line to add at its end, and what the answer has to show below that title. All are planted into one copy.
planted() {
  if [ -z "$told" ]; then
    mkdir -p "$copy/$(dirname "$2")"
    [ -f "$copy/$2" ] || echo '/* SPDX-License-Identifier: MIT */' >"$copy/$2"
    printf '%s\n' "$3" >>"$copy/$2"
    return
  fi
  below=$(echo "$told" | awk -v title="BREACH: $1" '/^BREACH: / { on = index($0, title) == 1 } on')
  case $below in *"${4:-$3}"*) say 0 "$1: $2" ;; *) say 1 "$1: $2, $3" && echo "$below" | sed 's/^/# /' ;; esac
}
# Title, row of the table in layers.sh to be changed: sed expression.
retabled() {
  fresh
  sed -i "$2" "$copy/tests/style/layers.sh"
  told=$("$copy/tests/style/layers.sh" "$copy" 2>&1) && told="passed: $told"
  case $told in *"BREACH: $1"*) say 0 "$1: table $2" ;; *) say 1 "$1: table $2" && echo "$told" | sed 's/^/# /' ;; esac
}

fresh
told=$("$root/tests/style/layers.sh" "$copy" 2>&1)
say $? 'this tree keeps the rules' && echo "$told" | sed '/^$/d; s/^/# /'
breaches() {
  planted 'harness/base may include' harness/base/clock.c '#include "check/check.h"'
  planted 'harness/check may include' harness/check/check.c '#include "network/net.h"'
  planted 'harness/history may include' harness/history/judge_too.h '#include "backends/backend.h"'
  planted 'harness/scenario may include' harness/scenario/step.c '#include "servers/topology.h"'
  planted 'harness/trial may include' harness/trial/trial.c '#include "backends/registry.h"'
  planted 'harness/servers may include' harness/servers/cluster.c '#include "../plan/plan.h"'
  planted 'harness/plan may include' harness/plan/plan.c '#include "run/tally.h"'
  planted 'harness/show may include' harness/show/display.c '#include "cli/cli.h"'
  planted 'every file of harness/ stands in a room' harness/lost.c '' harness/lost.c
  planted 'every file of harness/ stands in a room' harness/attic/lost.c '' harness/attic/lost.c
  planted 'headers include each other in a circle' harness/check/counter.h '#include "check.h"' harness/check/check.h
  planted 'backends/ includes nothing of harness/' backends/control/null.c '#include "base/clock.h"'
  planted 'backends/ includes nothing of harness/' backends/control/null.c '#include "harness/base/clock.h"'
  planted 'connection helpers are for the families' harness/servers/cluster.c '#include "backends/postgres/pg.h"'
  planted 'nobody but backends/ names a protocol' harness/plan/plan.c 'static const char *x = "redis-token needs";'
  planted 'nobody but backends/ names a protocol' harness/plan/plan.c 'static const char *x = "local";'
  planted 'nobody but backends/ names a protocol' harness/show/display.c 'static const char *x = "null@none";'
  planted 'nobody but backends/ names a protocol' harness/check/check.c 'static const char *x = "redlock.majority";'
  for name in redis-token zk-x3 Sentinel node-redlock-4 crash-holder; do
    planted 'no rule names a lock, servers, a library or a scenario' scenarios/theory/rules.ini "rule = -> safe: as of $name"
  done
  planted 'no rule names a lock, servers, a library or a scenario' scenarios/theory/rules.ini 'what = etcd is killed'
  planted 'only clock.c reads clocks' harness/trial/trial.c 'static int x(void) { return usleep(3); }'
  planted 'only clock.c reads clocks' backends/control/null.c 'static time_t x(void) { return time(NULL); }'
  planted 'protocols draw no random numbers' backends/control/null.c 'static int x(void) { return rand(); }'
  planted 'only cli*.c, display.c and main.c print' harness/plan/plan.c 'static void x(void) { puts("x"); }'
  planted 'no sentence decides' harness/trial/judge.c 'static int x(const char *s) { return strcmp(s, "phase measure"); }'
  planted 'no sentence decides' harness/check/stats.c 'static const char *x(const char *s) { return strstr(s, "proved: "); }'
  planted 'English of facts is for those who show them' harness/trial/judge.c '#include "story/say.h"'
  planted 'English of facts is for those who show them' harness/check/evidence.c '#include "say.h"'
  planted 'every protocol is in the registry, once' backends/control/new.c 'const struct lb_protocol lb_new = {' backends/control/new.c
  planted 'every protocol is in the registry, once' backends/registry.c '/* P(local) */' backends/control/local.c
  planted 'no TODO' harness/base/clock.c '/* TODO: later */'
}
fresh
told=
breaches
told=$("$root/tests/style/layers.sh" "$copy" 2>&1)
breaches
retabled 'a room may include only rooms above it' 's/^base      :$/base      : cli/'
fresh
sed -i 1d "$copy/harness/base/clock.c"
told=$("$root/tests/style/layers.sh" "$copy" 2>&1)
case $told in *'BREACH: SPDX line first'*harness/base/clock.c*) say 0 'SPDX line first' ;; *) say 1 'SPDX line first' ;; esac
echo "1..$number"
