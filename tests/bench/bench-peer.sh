#!/bin/sh
# SPDX-License-Identifier: MIT
# zk-sequential beside Curator's InterProcessMutex on one hot lock, by 8 and 16 clients, on the same ensemble in the same minutes: see the head of
# bench-peer.c. About eight minutes. A benchmark: it judges nothing.
# Needs libcurator-recipes-java and a Java compiler (default-jdk-headless), which nothing else here does; without them it says so and ends with 5.
# Usage: bench-peer.sh BENCH_PEER [--jars FOLDER] [--windows N] [--seconds S] [--settle S] [--clients A,B]
bin=$1 jars=/usr/share/java
here=$(dirname "$0")
shift
[ "$1" = --jars ] && jars=$2 && shift 2
missing() {
  echo "bench-peer: $1 is missing: apt-get install $2"
  exit 5
}
first() { # PROGRAM: where it is
  command -v "$1" || ls "$JAVA_HOME/bin/$1" /usr/lib/jvm/*/bin/"$1" 2>/dev/null | head -1
}
path=
for jar in curator-recipes:libcurator-recipes-java curator-framework:libcurator-framework-java curator-client:libcurator-client-java \
  zookeeper:libzookeeper-java zookeeper-jute:libzookeeper-java guava:libguava-java slf4j-api:libslf4j-java slf4j-nop:libslf4j-java \
  netty-all:libnetty-java; do
  [ -e "$jars/${jar%:*}.jar" ] || missing "$jars/${jar%:*}.jar" "${jar#*:}"
  path=$path:$jars/${jar%:*}.jar
done
javac=$(first javac)
[ -n "$javac" ] || missing javac default-jdk-headless
java=$(dirname "$(readlink -f "$javac")")/java
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
"$javac" -d "$dir" -cp "$path" "$here/peer/BenchPeer.java" || exit 1
"$bin" "$@" -- "$java" -XX:-UsePerfData -cp "$dir$path" BenchPeer
