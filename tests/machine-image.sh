#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# machine-image.sh - the image that install/image makes is unpacked, and lockbench runs inside: a lock that a failover
# loses is found lost. Part of `./bench test --all` only: root, mmdebstrap, umoci, a Debian archive and some minutes.
set -uo pipefail

here=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
((EUID == 0)) || { echo 'machine-image.sh: needs root' >&2 && exit 77; }
for need in mmdebstrap umoci git; do type -P $need >/dev/null || { echo "machine-image.sh: needs $need" >&2 && exit 77; }; done
work=$(mktemp -d "${TMPDIR:-/tmp}/machine-image.XXXXXX")
trap 'rm -rf --one-file-system -- "$work"' EXIT

bad=0
expect() { # statement, command...
  if "${@:2}"; then echo "ok - $1"; else echo "not ok - $1" && bad=1; fi
}

# Its root becomes the root of a mount namespace, as a container's does.
inside() {
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --pid --fork --kill-child env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -c '
    mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
    mkdir -p "$0/old" && cd "$0" && pivot_root . old && umount -l /old && rmdir /old && exec "$@"' "$work/bundle/rootfs" "$@"
}

echo 1..4
layout=${IMAGE:-$work/layout} # IMAGE: one that is there already
[[ -e $layout ]] || "$here/install/image" "$layout" >&2 || { echo 'not ok - an image is made' && exit 1; }
echo 'ok - an image is made'
umoci unpack --image "$layout:lockbench" "$work/bundle" >&2 || { echo 'not ok - it can be unpacked' && exit 1; }
expect 'it runs lockbench' grep -q '"/usr/bin/lockbench"' "$work/bundle/config.json"
expect 'everything can run inside' inside lockbench doctor >&2
inside lockbench run failover -b redis-token@sentinel -g none -n 3 -o /tmp/run >"$work/out" 2>&1
code=$?
expect 'a failover loses the lock of a Redis, as expected' grep -q 'LOST\|violated' "$work/out"
((code == 0)) || { cat "$work/out" && bad=1; }
exit $bad
