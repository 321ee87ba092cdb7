#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone. Usage: headers.sh SOURCE_ROOT COMPILER...
root=$1 bad=0
shift
cd "$root" || exit 2
for header in backends/*.h harness/*/*.h tests/*.h tests/*/*.h; do
  printf '#include "%s"\n' "$header" |
    "$@" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -Iharness -I/usr/include/postgresql -x c -fsyntax-only - || { echo "BREACH: $header"; bad=1; }
done
exit $bad
