#!/bin/sh
# SPDX-License-Identifier: MIT
# The rules of ARCHITECTURE.md that can be read off the sources: which room may include which, who may name a protocol, who reads
# clocks, who prints. tests/style/test-layers.sh plants a breach of each of them.
# Usage: layers.sh SOURCE_ROOT. One line per breach and where it is, exit 1 if any.
cd "$1" || exit 2
export LC_ALL=C # bytes are enough, and quicker
bad=0
breach() {
  if [ -n "$2" ]; then
    echo "BREACH: $1"
    echo "$2" | sed 's/^/  /'
    bad=1
  fi
}

# The rooms of harness/, from the ground up, and what each may include. A room sees only rooms that stand above it here, so there
# is no cycle. `backends:a,b` = only these headers of backends/.
rooms='
base      :
history   : base
check     : base history
story     : base history check
scenario  : base
network   : base
preload   : base
servers   : base network preload backends:backend,address,redis,redis_link,pg,maria,mc,etcd,nats,zk
own       : base network servers backends:redis_record,pg,maria,etcd,zk,mc,nats
client    : base history scenario network preload backends:backend
theory    : base scenario servers backends:backend,foreign,registry
trial     : base history check scenario network servers client backends:backend
plan      : base scenario network preload servers own client theory trial backends:backend,foreign,foreign_ask,registry
run       : base scenario network servers own client theory trial plan backends:foreign
conform   : base network servers client run backends:backend,foreign,foreign_line,talk,registry
cost      : base network servers client run backends:backend
serve     : base story scenario network servers client trial run
hunt      : base history check scenario network servers client theory trial plan run backends:backend,registry
show      : base scenario theory plan run
cli       : base history check story scenario network servers own client theory trial plan run conform cost serve hunt show backends:foreign,registry
'
room_names=$(echo "$rooms" | sed -n 's/ *:.*//p')

# ROOM -> a pattern of what may stand between the quotes of its #include: files of its own, or room/file of its table.
allowed() {
  echo "$rooms" | sed -n "s/^$1 *: *//p" | tr ' ' '\n' | while IFS= read -r word; do
    case $word in
      backends:*) echo "|backends/([a-z]+/)?($(echo "${word#backends:}" | tr ',' '|'))\\.h" ;;
      ?*) echo "|$word/[a-z_]+\\.h" ;;
    esac
  done | tr -d '\n'
}

above=' '
for room in $room_names; do
  breach "harness/$room may include only what its row in tests/style/layers.sh says" \
    "$(grep -nE '^ *# *include "' "harness/$room"/*.[ch] | grep -vE "# *include \"([a-z_]+\.h$(allowed "$room"))\"")"
  for word in $(echo "$rooms" | sed -n "s/^$room *: *//p"); do
    case $word in backends:*) continue ;; esac
    case $above in *" $word "*) ;; *) breach 'a room may include only rooms above it in the table' "$room: $word" ;; esac
  done
  above="$above$room "
done
breach 'every file of harness/ stands in a room of the table' \
  "$(find harness -name '*.[ch]' | while read -r file; do
       room=${file#harness/}
       case $above in *" ${room%%/*} "*) ;; *) echo "$file" ;; esac
     done)"
# Within a room, too, nothing includes itself by a way round (tsort names the loop on stderr).
breach 'headers include each other in a circle' \
  "$(grep -HE '^ *# *include "' harness/*/*.h backends/*.h backends/*/*.h | sed -E 's,^([^:]*/)([^/:]+): *# *include "([^/"]+)".*,\1\2 \1\3,; s,^([^:]*): *# *include "backends/([^"]+)".*,\1 backends/\2,; s,^([^:]*): *# *include "([^"]+)".*,\1 harness/\2,' |
     tsort 2>&1 >/dev/null)"

# A protocol sees backend.h, its own helpers in this folder and its client library; nothing of the harness.
breach 'backends/ includes nothing of harness/ but the error' "$(grep -nE "#include \"(\.\./)?(harness|$(echo "$room_names" | tr '\n' '|' | sed 's/^|*//; s/|*$//'))/" backends/*.[ch] backends/*/*.[ch] | grep -v '"base/error.h"')"
breach 'connection helpers are for the families of servers only' \
  "$(grep -nE '#include "backends/[a-z]+/(redis(_[a-z]+)?|pg|etcd|zk|mc|nats|maria)\.h"' harness/*/*.[ch] | grep -vE '^harness/(servers/(family_|redis\.|postgres\.)|own/own_)')"

# Nobody but backends/ names a protocol: names of several words in no string, those of one word (null, local ...) not as a string, as
# a system or as the begin of an option.
names() { sed -nE "s/^ *\\.name = \"($1)\",\$/\\1/p" backends/*/*.c | sort -u | paste -sd '|'; }
long=$(names '[a-z]+-[a-z-]+') short=$(names '[a-z]+')
breach 'nobody but backends/ names a protocol' \
  "$(grep -nE "\"[^\"]*\b($long)\b|\"($short)(\"|[@.][^\"]*\")" harness/*/*.[ch] | grep -vE "#include|\\[JSON_NULL\\] = ")"

# A rule asks for facts. Names of one word that a sentence may need (a partition, a reference) are left out.
named() { paste -sd '|'; }
of_locks=$(sed -nE 's/^ *\.name = "([a-z0-9-]+)",$/\1/p' backends/*/*.c | grep -vxE 'null|local|broken' | sort -u | named)
of_servers=$(sed -nE 's/^ *\{?\.name = "([a-z0-9-]+)".*/\1/p' harness/servers/topology.c | grep -vx none | named)
of_libraries=$(sed -nE 's/^\[([a-z0-9-]+)\]$/\1/p' peers/peers.ini | grep -vx reference | named)
of_scenarios=$(find scenarios -name '*.ini' ! -path '*/suites/*' ! -path '*/theory/*' | sed -E 's/.*\///; s/\.ini$//' | sed -E 's/^[0-9]+-//' | grep -e - | named)
for names in "$of_locks" "$of_servers" "$of_libraries" "$of_scenarios"; do
  [ -n "$names" ] || breach 'no rule names a lock, servers, a library or a scenario' 'no names were found to look for'
  breach 'no rule names a lock, servers, a library or a scenario' "$(grep -niE "^(rule|what) *=.*(^|[^a-z0-9-])($names)([^a-z0-9=-]|\$)" scenarios/theory/rules.ini)"
done

# Only clock.c reads clocks.
breach 'only clock.c reads clocks' \
  "$(grep -nE '\b((clock_gettime|gettimeofday|clock_nanosleep|usleep|nanosleep)\b|time\((NULL|0)\))' backends/*.c backends/*/*.c harness/*/*.c |
     grep -vE '^harness/(base/clock|preload/clock_shim)\.c')"
breach 'protocols draw no random numbers of their own' "$(grep -nE '\b(rand|random|getrandom|arc4random)\(' backends/*.c backends/*/*.c)"

# Only the command line prints.
breach 'only cli*.c, display.c and main.c print' \
  "$(grep -nE '\b(printf|puts|putchar|perror)\(|fprintf\((stdout|stderr)' backends/*.c backends/*/*.c harness/*/*.c | grep -vE '^harness/(cli/[a-z_]*|show/display)\.c')"

# A fact is known by its fields. Its English is made where it is shown, and is never read back.
breach 'no sentence decides' \
  "$(grep -nE '\b(strn?(case)?cmp|strstr|memcmp)\([^";)]*"[^"]*[a-z:] [^"]*"' harness/client/*.c harness/history/*.c harness/check/*.c harness/story/*.c harness/trial/*.c harness/plan/*.c harness/run/*.c)"
breach 'English of facts is for those who show them' \
  "$(grep -nE '#include "(story/)?say\.h"' harness/*/*.[ch] | grep -vE '^harness/((story/(say|explain|check_print)|serve/serve_line|show/[a-z_]*|cli/[a-z_]*)\.c)')"

# One list: every protocol file is in the registry, once.
for file in backends/*/*.c; do
  for name in $(sed -nE 's/^const struct lb_protocol lb_([a-z0-9_]+) = \{$/\1/p' "$file"); do
    [ "$(grep -oF "P($name)" backends/registry.c | wc -l)" -eq 1 ] || breach 'every protocol is in the registry, once' "$file"
  done
done

# Every source says under which licence it stands, and nothing is left for later without a reason.
# Before it may stand what tests/list.py reads.
breach 'SPDX line first' "$(find backends harness tests -name '*.[ch]' -exec awk 'FNR == 1 { seen = 0 } !seen && !/^\/\* (test|plugin):/ { seen = 1; if (!/SPDX-License-Identifier: MIT/) print FILENAME }' {} +)"
breach 'no TODO' "$(grep -nE '\b(TODO|FIXME|XXX)\b' backends/*.[ch] backends/*/*.[ch] harness/*/*.[ch] $(find tests -name '*.c'))"
exit $bad
