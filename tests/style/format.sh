#!/bin/sh
# test: compute, exit
# SPDX-License-Identifier: MIT
# Every C file is as .clang-format says: `clang-format -i FILE` mends it. Usage: format.sh. Skipped (77) without clang-format 14: others break lines elsewhere.
cd "$(dirname "$0")/../.." || exit 2
has=$(clang-format --version 2>/dev/null) || { echo 'clang-format is missing'; exit 77; }
expr "$has" : '.*version 14\.' >/dev/null || { echo "skipped: $has, not 14"; exit 77; }
find backends harness tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
