#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# image.sh - the container image: the package is built from a clean clone, install/image makes an image of it, and what a container
# would be of that image loses a lock in a failover. Part of `./bench test --all` only: it needs root, a Debian archive and ten minutes.
# With KEEP=FOLDER the image stays there.
set -euo pipefail
here=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
# shellcheck source=tests/helpers/enter.sh
. "$here/tests/helpers/enter.sh"
((EUID == 0)) || { echo 'image.sh: needs root' >&2 && exit 77; }
for program in mmdebstrap umoci dpkg-buildpackage dh; do
  type -P $program >/dev/null || { echo "image.sh: no $program" >&2 && exit 77; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/image.XXXXXX")
trap 'rm -rf --one-file-system -- "$work"' EXIT
image=${KEEP:-$work/image}
bad=0
expect() { # statement, command...
  if "${@:2}" >"$work/said" 2>&1; then echo "ok - $1"; else
    echo "not ok - $1"
    tail -n 20 "$work/said" | sed 's/^/# /'
    bad=1
  fi
}
# What stands behind the entry point of the image: its exit code and all it says.
contained() {
  mapfile -t entry < <(sed -n '/"args": \[/,/\]/p' "$work/bundle/config.json" | sed -n 's/^[[:space:]]*"\([^"]*\)",\{0,1\}$/\1/p')
  enter "$work/bundle/rootfs" "${entry[@]}" "$@"
}
code() { # expected, then what to call in it
  local code=0
  contained "${@:2}" || code=$?
  ((code == $1)) || { echo "exit $code, expected $1" && return 1; }
}

echo 1..7
git clone -q --no-hardlinks -- "$here" "$work/lockbench"
expect 'the package is built' sh -c "cd '$work/lockbench' && nice dpkg-buildpackage -us -uc -b -d"
expect 'an image is made of it' nice "$here/install/image" "$work"/lockbench_*.deb "$image"
expect 'it is unpacked' umoci unpack --image "$image:latest" "$work/bundle"
((bad == 0)) || exit 1
expect 'everything that is measured is in it' code 0 doctor
expect 'a failover there has an answer' code 0 run failover -b redis-token@sentinel -g none -n 1 -o /srv/run
expect 'the lock is lost in it' grep -q ',violated,' "$work/bundle/rootfs/srv/run/trials.csv"
expect 'no PostgreSQL cluster is in it' test -z "$(ls -A "$work/bundle/rootfs/etc/postgresql" 2>/dev/null)"
exit $bad
