#!/bin/sh
# SPDX-License-Identifier: MIT
# The rules of ARCHITECTURE.md that can be grepped: who may know whom, who reads clocks, who prints.
# Usage: layers.sh SOURCE_ROOT. One line per breach, exit 1 if any.
cd "$1" || exit 2
bad=0
breach() {
  if [ -n "$2" ]; then
    echo "BREACH: $1"
    echo "$2" | sed 's/^/  /'
    bad=1
  fi
}

# A protocol sees backend.h, its own helpers in this folder and its client library; nothing of the harness.
breach 'backends/ includes nothing of harness/' "$(grep -nE '#include "(\.\./)?harness/' backends/*.[ch])"
breach 'only the registry is included from outside, besides backend.h and the connection helpers' \
  "$(grep -nE '#include "\.\./backends/' harness/*.[ch] | grep -vE 'backends/(backend|registry|redis_util|pg_util)\.h')"
breach 'connection helpers are for the topologies only' \
  "$(grep -nE '#include "\.\./backends/(redis|pg)_util\.h"' harness/*.[ch] | grep -v '^harness/topology_')"

# The harness never names a protocol. (null and local are English words, too: they are left to the eye.)
names=$(sed -nE 's/^ *\.name = "([a-z]+-[a-z-]+)",$/\1/p' backends/*.c | sort -u | tr '\n' '|' | sed 's/|$//')
breach 'the harness never names a protocol' \
  "$(grep -nE "\"[^\"]*($names)" harness/*.c | grep -vE '^harness/topology_|"(redis|sentinel|zookeeper|postgres)"')"

# The checker sees histories only.
breach 'the checker includes only histories' \
  "$(grep -nE '#include "' harness/check*.[ch] harness/history*.[ch] harness/pairs.[ch] 2>/dev/null |
     grep -vE '"(check[a-z_]*|history[a-z_]*|pairs|suggest)\.h"')"

# Only clock.c reads clocks.
breach 'only clock.c reads clocks' \
  "$(grep -nE '\b(clock_gettime|gettimeofday|time\(NULL\)|time\(0\)|clock_nanosleep|usleep|nanosleep)\b' backends/*.c harness/*.c |
     grep -vE '^harness/clock(_shim)?\.c')"
breach 'protocols draw no random numbers of their own' "$(grep -nE '\b(rand|random|getrandom|arc4random)\(' backends/*.c)"

# Only the command line prints.
breach 'only cli*.c, display.c and main.c print' \
  "$(grep -nE '\b(printf|puts|putchar|perror)\(|fprintf\((stdout|stderr)' backends/*.c harness/*.c | grep -vE '^harness/(cli[a-z_]*|display|main)\.c')"

# One list: every protocol file is in the registry.
for file in backends/*.c; do
  symbol=$(sed -nE 's/^const struct lb_protocol (lb_[a-z_]+) = \{$/\1/p' "$file")
  if [ -n "$symbol" ] && ! grep -q "&$symbol" backends/registry.c; then breach 'every protocol is in the registry' "$file"; fi
done

# Every source says under which licence it stands, and nothing is left for later without a reason.
breach 'SPDX line first' "$(for f in backends/*.[ch] harness/*.[ch] tests/*.[ch]; do head -1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f"; done)"
breach 'no TODO' "$(grep -nE '\b(TODO|FIXME|XXX)\b' backends/*.[ch] harness/*.[ch] tests/*.c)"
exit $bad
