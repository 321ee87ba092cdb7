#!/bin/sh
# test: compute, exit
# SPDX-License-Identifier: MIT
# Every header compiles alone. Usage: headers.sh; $LB_CC is the compiler.
bad=0
cd "$(dirname "$0")/../.." || exit 2
for header in backends/*.h backends/*/*.h harness/*/*.h tests/*/*.h; do
  printf '#include "%s"\n' "$header" |
    ${LB_CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -Iharness -I/usr/include/postgresql -x c -fsyntax-only - || { echo "BREACH: $header"; bad=1; }
done
exit $bad
