#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# clean-machine.sh [--release trixie|bookworm] [ARGS for bench] - what ./bench makes of a machine that has nothing: a
# minimal Debian in a folder, a clean clone inside, the first and the second call timed, and then a look at what was
# left behind. Without a release: the one of these two that is not this machine's.
#
# Part of `./bench test --all` only: it needs root, mmdebstrap or debootstrap, a Debian archive and some minutes. The
# archive, name resolution and proxy are those of this machine. The new system sees its own processes and mounts only, and goes
# when the script ends; with KEEP=FOLDER the bare system stays there and serves the next time as well.
# Without arguments: ./bench list protocols. For everything: tests/clean-machine.sh test
set -euo pipefail

# shellcheck disable=SC1091 # a file of the system
release=$(. /etc/os-release && [[ ${VERSION_CODENAME-} == trixie ]] && echo bookworm || echo trixie)
if [[ ${1-} == --release ]]; then
  release=${2-}
  [[ $release == trixie || $release == bookworm ]] ||
    { echo "clean-machine.sh: --release '$release': expected trixie or bookworm" >&2 && exit 2; }
  shift 2
fi
here=$(cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
# shellcheck source=tests/helpers/enter.sh
. "$here/tests/helpers/enter.sh"
((EUID == 0)) || { echo 'clean-machine.sh: needs root' >&2 && exit 77; }
maker=$(type -P mmdebstrap || type -P debootstrap || true)
[[ -n $maker ]] || { echo 'clean-machine.sh: needs mmdebstrap or debootstrap' >&2 && exit 77; }
(($#)) || set -- list protocols

work=$(mktemp -d "${TMPDIR:-/tmp}/clean-machine.XXXXXX")
trap 'rm -rf --one-file-system -- "$work"' EXIT
bare=${KEEP:-$work/bare} machine=$work/machine

make_bare() {
  local archive
  # shellcheck disable=SC2016 # the format is for apt-get
  archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk -v r=$release '$2 == r { print $1; exit }')
  "$maker" --variant=minbase "$release" "$bare" "${archive:-http://deb.debian.org/debian}" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" && exit 1; }
}

# The same way to the archive; and the same archive where the release is.
copy_network() {
  local item
  # shellcheck disable=SC1091
  for item in $(. /etc/os-release && [[ $VERSION_CODENAME != "$release" ]] || echo sources.list sources.list.d keyrings trusted.gpg.d); do
    [[ ! -e /etc/apt/$item ]] || cp -rT "/etc/apt/$item" "$machine/etc/apt/$item"
  done
  apt-config dump | grep '^Acquire::.*"..*"' >"$machine/etc/apt/apt.conf.d/00archive" || true
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
}

# What starts with the system: units wanted by a target, init scripts with a start link.
starts_with_the_system() { (cd "$machine/etc" && find systemd/system/*.wants rc?.d -type l ! -name 'K*' | sort); }

bad=0
expect() { # statement, command...
  if "${@:2}"; then echo "ok - $1"; else echo "not ok - $1" && bad=1; fi
}

[[ -e $bare/etc/debian_version ]] || make_bare
cp -a -- "$bare" "$machine"
copy_network
git clone -q --no-hardlinks -- "$here" "$machine/srv/a clone"
starts_with_the_system >"$work/before"

# shellcheck disable=SC2016 # runs inside; time in tenths of seconds, processes as "PID name"
enter "$machine" bash -c '
  cd "/srv/a clone" || exit 1
  call() {
    local started=${EPOCHREALTIME/./} code
    ./bench "${@:2}"
    code=$?
    echo "$(((${EPOCHREALTIME/./} - started) / 1000))" >"/$1-ms"
    return $code
  }
  call first "$@" || exit 1
  call second help >/dev/null
  call third list protocols >/dev/null || exit 1
  for p in /proc/[0-9]*; do [[ ${p#/proc/} == "$$" ]] || cat "$p/comm"; done >/processes 2>/dev/null
  pg_lsclusters -h >/clusters
' bash "$@" || { echo 'not ok - ./bench failed on the clean machine' && exit 1; }
starts_with_the_system >"$work/after"

echo 1..6
echo "$release: first call: $(<"$machine/first-ms") ms, later call: $(<"$machine/third-ms") ms"
expect 'the later call takes less than a second' test "$(<"$machine/third-ms")" -lt 1000
expect 'nothing runs that was not running' test -z "$(grep -vx cat "$machine/processes")"
expect 'nothing new starts with the system' diff "$work/before" "$work/after"
expect 'there is no PostgreSQL cluster' test ! -s "$machine/clusters"
expect 'policy-rc.d is gone' test ! -e "$machine/usr/sbin/policy-rc.d"
expect 'the createcluster drop-in is gone' test ! -e "$machine/etc/postgresql-common/createcluster.d"
exit $bad
