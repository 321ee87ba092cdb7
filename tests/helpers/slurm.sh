# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# slurm.sh FOLDER COMMAND... - a Slurm of one node with four slots, which lives as long as the command: to be called inside
# `unshare --net --mount --pid --fork --kill-child --mount-proc --uts`, so nothing of it is seen outside.
d=$1 && shift
hostname localhost
mkdir -p "$d/state" "$d/spool" && mkdir -m 711 "$d/munge" || exit 1
# Slurm looks for an address that is not of the loopback.
ip link set lo up && ip link add d0 type veth peer name d1 && ip address add 10.99.0.1/24 dev d0 && ip link set d0 up && ip link set d1 up || exit 1
(umask 077 && head -c 1024 /dev/urandom >"$d/munge/key")
munged --key-file="$d/munge/key" --socket="$d/munge/socket" --pid-file="$d/munge/pid" --log-file="$d/munge/log" --seed-file="$d/munge/seed" --force 2>"$d/munge/err" || exit 1
cat >"$d/slurm.conf" <<END
ClusterName=one
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$d/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool
SlurmctldPidFile=$d/ctld.pid
SlurmdPidFile=$d/d.pid
SlurmctldLogFile=$d/ctld.log
SlurmdLogFile=$d/d.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=localhost CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$d/slurm.conf"
slurmctld && slurmd || exit 1
tries=0
until sinfo -h -o %T 2>/dev/null | grep -q idle; do
  tries=$((tries + 1)) && [ "$tries" -lt 200 ] || exit 1
  sleep 0.1
done
"$@"
