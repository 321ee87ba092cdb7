#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
#
# live-package.sh LOCKBENCH - the Debian package is built, installed over /usr in a mount namespace of its own, and used there by an
# ordinary user, while the sources and the build folder are hidden. Nothing is compiled for it: it is made of the build folder of LOCKBENCH.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
built=$(cd "$(dirname "$1")" && pwd)
. "$root/tests/helpers/tap.sh"
end() { echo "1..$n"; exit; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
unset LOCKBENCH_ROOT LOCKBENCH_RESULTS LOCKBENCH_PYTHON LOCKBENCH_CALLED_AS LOCKBENCH_PEERS PYTHONDONTWRITEBYTECODE MAKEFLAGS CC

for program in dpkg-buildpackage dh lintian meson; do
  command -v $program >/dev/null || { skip 'the package can be built' "no $program"; end; }
done
if grep -q '"name": "b_sanitize", "value": "[^n]' "$built/meson-info/intro-buildoptions.json"; then skip 'the package can be built' 'of a build without sanitizers only'; end; fi

# ---- built --------------------------------------------------------------------------------------------------------

mkdir -p "$dir/lockbench"
cp -R "$root/debian" "$root/LICENSE" "$dir/lockbench/"
# Measuring tests may run beside this.
build() { (cd "$dir/lockbench" && LOCKBENCH_BUILT=$built nice -n 19 dpkg-buildpackage -us -uc -b -d); }
check 'the package can be built' build
deb=$(ls "$dir"/lockbench_*.deb 2>/dev/null)
[ -n "$deb" ] || end
check 'lintian finds no error in it' nice -n 19 lintian --allow-root --fail-on error "$deb"
dpkg -x "$deb" "$dir/image"
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
versions() {
  printf 'meson.build has %s, debian/changelog %s\n' "$version" "$(dpkg-deb -f "$deb" Version)"
  grep '^version:' "$root/CITATION.cff"
  grep -m 1 '^## [0-9]' "$root/CHANGELOG.md"
  [ "$(dpkg-deb -f "$deb" Version)" = "$version" ] && grep -qx "version: $version" "$root/CITATION.cff" && grep -m 1 '^## [0-9]' "$root/CHANGELOG.md" | grep -qx "## $version"
}
check 'package, program, CITATION.cff and CHANGELOG.md have one version' versions
mkdir -p "$dir/control"
dpkg-deb --ctrl-tarfile "$deb" | tar x -C "$dir/control"
check 'it starts no service and asks nothing' sh -c '[ ! -e "$1/config" ] && ! grep -rE "systemctl|invoke-rc\.d|update-rc\.d|deb-systemd|debconf|adduser" "$1"' - "$dir/control"
check 'all that it does when it is installed is an AppArmor profile, and that goes with it' \
  sh -c 'grep -q "^profile=/etc/apparmor.d/lockbench$" "$1/postinst" && grep -q "purge.*rm -f /etc/apparmor.d/lockbench" "$1/postrm" && [ ! -e "$1/preinst" ] && [ ! -e "$1/prerm" ]' - "$dir/control"
check 'its .pc file names no folder of the build' not grep -rlq --include='*.pc' -F "$root" "$dir/image"

# ---- used ---------------------------------------------------------------------------------------------------------

mkdir "$dir/user" "$dir/empty"
chmod 755 "$dir"
as='' how='--mount'
if [ "$(id -u)" = 0 ]; then
  chown 65534:65534 "$dir/user"
  as='setpriv --reuid=65534 --regid=65534 --clear-groups'
else
  how='--mount --map-root-user'
fi
cat >"$dir/inside.sh" <<'END'
set -eu
mount -t overlay overlay -o "lowerdir=$image/usr:/usr" /usr # without a layer to write to
for place in "$root" "$built"; do [ ! -e "$place" ] || mount --bind "$empty" "$place"; done
cd "$home"
: >"$home/../mounted"
exec $as env -i HOME="$home" PATH="$PATH" sh -u "$home/../user.sh"
END
cat >"$dir/user.sh" <<'END'
does() { name=$1; shift; code=0; "$@" >"$name.out" 2>&1 </dev/null || code=$?; echo $code >"$name.code"; }
does version lockbench --version
does where sh -c 'command -v lockbench'
does doctor lockbench doctor
for again in 1 2 3; do # a machine that stalls is no answer
  does run lockbench run failover -b redis-token@sentinel -g none -n 1 --junit run.xml
  [ "$(cat run.code)" = 4 ] || break
done
run=$(ls -d lockbench-results/* | tail -n 1)
does report lockbench report "$run"
does explain lockbench explain "$run" failover
does which lockbench which --on zk --survive failover
does peer lockbench judge redis-semaphore
does compile sh -c 'gcc -shared -fPIC -Wall -Wextra -Werror $(pkg-config --cflags lockbench) -o mine.so /usr/share/doc/lockbench/examples/plugin-example.c'
does conform lockbench conform --plugin ./mine.so
does clocks lockbench run clock-jump -b redis-token@redis -g none -n 1 -o clocks
mv "$run" copy
END
# shellcheck disable=SC2086
root=$root built=$built image=$dir/image empty=$dir/empty home=$dir/user as=$as unshare $how sh "$dir/inside.sh" >"$dir/inside.out" 2>&1
if [ ! -e "$dir/mounted" ]; then
  skip 'it is used without the sources' "no overlay in a mount namespace: $(tail -n 1 "$dir/inside.out")"
  end
fi
user=$dir/user
ended() { [ "$(cat "$user/$1.code")" = "$2" ] || { cat "$user/$1.out"; echo "exit $(cat "$user/$1.code"), expected $2"; return 1; }; }
says() { grep -q -- "$2" "$user/$1.out" || { cat "$user/$1.out"; return 1; }; }
check 'lockbench is found in PATH' says where '^/usr/bin/lockbench$'
check 'it says its version' says version "^lockbench $version "
check 'an ordinary user runs a failover' ended run 0
check 'the lock is lost in it' says run VIOLATED
check 'the results lie below his folder' says run "$user/lockbench-results/"
check 'the JUnit file is there' grep -q 'testcase classname="failover"' "$user/run.xml"
check 'the report is drawn' ended report 0
check 'its page is there' test -s "$user/copy/report.html"
check 'the story is told' says explain 'kill primary'
check 'what a lock cost in the reference runs is known' says which 'results/reference-speed'
check 'a script of the package installs a library that is not there' says peer '/usr/share/lockbench/peers/install redis-semaphore'
check 'a plug-in compiles with the header and the .pc file' ended compile 0
check 'and is held against the contract' ended conform 0
check 'the preload library for clocks is found' ended clocks 0

# ---- manual and completion ----------------------------------------------------------------------------------------

commands=$("$root/install/completion" bash "$1" | sed -n "s/^    words='\(.*\) help .*/\1/p")
man=$dir/image/usr/share/man/man1/lockbench.1.gz
described() { for command in $commands; do zcat "$man" | grep -qF "lockbench $command" || { echo "$command is missing"; return 1; }; done; }
if [ -e "$man" ]; then check 'the manual has every command' described; else skip 'the manual has every command' 'scdoc was missing when the build folder was configured'; fi
completes() { # WORDS..., the last one is completed: what comes
  # shellcheck disable=SC2016
  PATH=$built:$PATH bash -uc '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$* COMP_POINT=${#COMP_LINE}; _lockbench "$1"; printf "%s\n" "${COMPREPLY[@]}"' \
    "$dir/image/usr/share/bash-completion/completions/lockbench" "$@"
}
complete_is() { want=$1; shift; got=$(completes "$@" | tr '\n' ' '); [ "$got" = "$want" ] || { echo "got '$got', expected '$want'"; return 1; }; }
export LOCKBENCH_ROOT="$root"
check 'bash completes a command' complete_is 'judge ' lockbench jud
check 'an option of that command only' complete_is '--junit ' lockbench judge --ju
check 'and none of another' complete_is ' ' lockbench serve --ju
check 'a scenario' complete_is 'pause-holder-told ' lockbench run pause-holder-t
check 'a guard' complete_is 'fence ' lockbench run -g fe
for shell in zsh fish; do
  if command -v $shell >/dev/null; then check "$shell reads its completion" $shell -n "$built/install/$([ $shell = zsh ] && echo _lockbench || echo lockbench.fish)"; fi
done
end
