#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# A MariaDB that somebody else has started, with a password, TLS, and a database of theirs in it. TAP. Usage: live-own-mariadb.sh LOCKBENCH
bin=$1
. "${0%/*}/../../helpers/tap.sh"
mariadbd=$(command -v mariadbd || ls /usr/sbin/mariadbd 2>/dev/null)
for need in openssl mariadb-install-db python3; do command -v "$need" >/dev/null || { echo "1..0 # SKIP $need is not installed"; exit 0; }; done
[ -n "$mariadbd" ] || { echo '1..0 # SKIP no MariaDB here'; exit 0; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
at=127.0.0.1:$port password=pass-maria-4711 server=
trap 'kill -9 $server 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"
mkdir "$dir/db"
case $(id -u) in 0) as='--user=nobody'; chown nobody "$dir/db" ;; *) as= ;; esac

{
  echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' >"$dir/names"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -out "$dir/ca.pem" -days 2 -subj /CN=ca
  openssl req -newkey rsa:2048 -nodes -keyout "$dir/db/key" -out "$dir/csr" -subj /CN=localhost
  openssl x509 -req -in "$dir/csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -out "$dir/db/pem" -extfile "$dir/names" -days 2
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/other.key" -out "$dir/other.pem" -days 2 -subj /CN=other
  chmod 644 "$dir/db/key"
  cat >"$dir/db/init.sql" <<END
CREATE DATABASE IF NOT EXISTS mine;
CREATE DATABASE IF NOT EXISTS \`lockbench:deadbeef\`;
CREATE USER IF NOT EXISTS locker@'%' IDENTIFIED BY '$password' REQUIRE SSL;
GRANT ALL ON *.* TO locker@'%';
CREATE USER IF NOT EXISTS reader@'%' IDENTIFIED BY '$password';
END
  mariadb-install-db --no-defaults --datadir="$dir/db/data" $as --auth-root-authentication-method=normal --skip-test-db --force
} >"$dir/made" 2>&1
"$mariadbd" --no-defaults --datadir="$dir/db/data" --bind-address=127.0.0.1 --port="$port" --socket="$dir/db/s" --init-file="$dir/db/init.sql" \
  --ssl-cert="$dir/db/pem" --ssl-key="$dir/db/key" $as >"$dir/log" 2>&1 &
server=$!
logins() { printf '[mariadb]\n%s\n' "$@" >"$dir/$login"; chmod 600 "$dir/$login"; }
login=good; logins "user = locker
password = $password
ca = $dir/ca.pem"
login=plain; logins "user = locker
password = $password"
login=forged; logins "user = locker
password = $password
ca = $dir/other.pem"
login=wrong; logins "user = locker
password = nonsense
tls = yes"
login=reader; logins "user = reader
password = $password
tls = yes"
databases() { ls "$dir/db/data" | grep -E '^(mine|lockbench)' | sort | tr '\n' ' '; }
tries=0
until "$bin" clean --mariadb "$at" --auth "$dir/good" >"$dir/cleaned" 2>&1 || [ $((tries += 1)) -gt 60 ]; do sleep 0.5; done

check 'it answers with its version' grep -q "^mariadb [0-9.]* at $at: nothing of lockbench is left$" "$dir/cleaned"
check 'what a killed run has left is removed, and nothing else' test "$(databases)" = 'mine '
refused() { # LOGIN WORDS
  "$bin" run control --mariadb "$at" --auth "$dir/$1" -n 1 -o "$dir/none" >"$dir/said" 2>&1
  [ $? = 5 ] && grep -q -- "--mariadb: .*$2" "$dir/said" && [ "$(wc -l <"$dir/said")" = 1 ] || { cat "$dir/said"; false; }
}
check 'a password that is wrong' refused wrong 'Access denied'
check 'a certificate of somebody else' refused forged '[Cc]ertificate'
check 'a user who has to come with TLS' refused plain 'Access denied'
check 'a user who may make no database' refused reader 'Access denied'
if "$bin" run control pause-holder --mariadb "$at" --auth "$dir/good" -b maria-row@own-mariadb,maria-row@maria -n 1 -g none --again -o "$dir/run" >"$dir/out" 2>&1; then r=0; else r=$?; fi
check 'locks are run there' test "$r" = 0
same() { cut -d, -f1,2,7 "$dir/run/trials.csv" | sed 1d | sed 's/,[^,]*,/ /' | grep -v undecided | sort -u | grep -c .; }
check 'and come out as on a server of ours' test "$(same)" = 2
check 'nothing is left' test "$(databases)" = 'mine '
check 'the password stands nowhere' sh -c '! grep -r -- pass-maria-4711 "$1/run" "$1/out" "$1/said"' - "$dir"
echo "1..$n"
