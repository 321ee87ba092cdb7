#!/bin/sh
# test: beside
# SPDX-License-Identifier: MIT
# The commands that `like` fills in, as they are given to docker, docker compose, kubectl and ssh. Scripts with the interface of these stand in PATH and do it to the servers of
# `serve`; no engine runs. TAP. Usage: live-operator-tools.sh LOCKBENCH
bin=$1
. "${0%/*}/../../helpers/tap.sh"
chmod 711 "$dir"
page=$(cd "${0%/*}/../../../docs" && pwd)/own-servers.md
tools=$(cd "${0%/*}/../../helpers/tools" && pwd)
TMPDIR=$dir LOCKBENCH_TESTED=$bin XDG_STATE_HOME=$dir/state PATH=$tools:$PATH
export TMPDIR LOCKBENCH_TESTED XDG_STATE_HOME PATH dir page
case $("$bin" doctor 2>&1) in *'MISS  namespaces'*) echo '1..0 # SKIP no network namespaces here'; exit 0 ;; esac
command -v redis-cli >/dev/null || { echo '1..0 # SKIP no redis-cli here'; exit 0; }
. "${0%/*}/../../helpers/operator.sh"

cat >"$dir/paused.ini" <<'END'
[scenario]
title = the server is killed, started again, paused and shut down
guards = none
question = Does a grant survive a restart?
refuted = It does.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 30000
[timeline]
step = client 1 acquire within 2s
step = client 1 read
step = observe client 1
step = kill primary
step = restart primary
step = pause primary
step = wait 500ms
step = resume primary
step = shut down primary
step = restart primary
step = client 2 reopen within 10s
step = client 2 acquire within 5s
step = client 2 read
step = client 1 write
step = client 2 write
[proof]
premise = client 1 holds
[expect]
redis-token@own-redis = violated: the server comes back empty
END
serve redis <<'END'
like() { # TOOL MAY: by default what the page of own servers shows, at the address of the server here
  awk -v RS='```' "/like = $1\n/" "$page" | sed "s/^address = .*/address = $LOCKBENCH_REDIS/; ${2:+s/^may = .*/may = $2/}" >"$dir/ops.ini"
  chmod 600 "$dir/ops.ini"
}
like compose
run compose "$dir/paused.ini"
sed -i 's/^like = .*/like = docker/' "$dir/ops.ini"
run docker "$dir/paused.ini"
like ssh 'kill, restart, pause, resume, stop'
run ssh "$dir/paused.ini"
like ssh
run page restart-node
like kubectl
run kubectl restart-node
again= run supervised server-lost
[ -z "$(journal)" ] && echo 'nothing is written down'
END
for tool in docker compose ssh; do
  check "$tool kills, starts, pauses, resumes and stops" is "$(verdicts $tool)" 'paused,redis-token@own-redis,violated '
done
check 'ssh does with the file of the page' is "$(verdicts page)" 'restart-node,redis-token@own-redis,violated '
check 'kubectl deletes a pod and waits for the next' is "$(verdicts kubectl)" 'restart-node,redis-token@own-redis,violated '
check 'a pod that comes back by itself was not killed for good' is "$(verdicts supervised)" 'server-lost,redis-token@own-redis,undecided '
check 'and its trial says why' grep -q 'kill redis-1 did not last: it takes connections again' "$dir/supervised/trials.csv"
check 'and nothing is left' says '^nothing is written down$'

# Links and whom ssh reaches by the address of its server.
serve sentinel <<'END'
own="--sentinel $LOCKBENCH_SENTINELS=$LOCKBENCH_SENTINEL_MASTER"
lockbench() { "$LOCKBENCH_TESTED" "$@" $own --operator "$dir/ops.ini"; }
sed '/^\[verbs\]/,$d; s/^may = .*/may = cut, heal\nlike = ssh/' "$LOCKBENCH_OPERATOR" >"$dir/ops.ini"
chmod 600 "$dir/ops.ini"
lockbench run primary-cut -b redis-token@own-sentinel -g none -n 1 --again --yes -o "$dir/links" 2>&1
echo "code $?"
[ -z "$(journal)" ] && echo 'nothing is written down'
END
check 'ssh cuts links and heals them' is "$(verdicts links)" 'primary-cut,redis-token@own-sentinel,safe '
check 'and nothing is left there' says '^nothing is written down$'
echo "1..$n"
