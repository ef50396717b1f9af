#!/bin/sh
# A Slurm cluster of two machines on this one, for tests: munged, slurmctld and two slurmd, all below one folder. Needs no
# systemd, no control groups and no /etc/slurm. Debian 12 (Slurm 22.05) and 13 (24.11); install_deps.sh --slurm.
#
#   cluster.sh up DIR            # DIR: absolute and short (a socket lies in it)
#   cluster.sh down DIR          # cancels this user's jobs, then ends the daemons
#   cluster.sh start DIR DAEMON  # slurmctld, slurmd-n1 or slurmd-n2, after it was killed
#
# Programs reach it by SLURM_CONF=DIR/slurm.conf. Partitions: low, whose jobs are requeued when high needs their machine.
# Each machine has two processors and two GPUs that are none.
set -eu
command=$1 dir=$2 port=${SLURM_TEST_PORT:-16817}
case $dir in
  /*) ;;
  # slurmstepd starts elsewhere and would never find a relative slurm.conf: srun hangs.
  *) echo "cluster.sh: DIR must be absolute" >&2; exit 2 ;;
esac
export SLURM_CONF="$dir/slurm.conf"
# The daemons are there, which not every caller looks into.
PATH=$PATH:/usr/sbin:/sbin

start() {
  case $1 in
    # Without -c it goes on with the jobs that it had.
    slurmctld) slurmctld -f "$SLURM_CONF" 2>/dev/null ;;
    slurmd-*) slurmd -f "$SLURM_CONF" -N "${1#slurmd-}" ;;
  esac
}

# Ends a daemon by its pid file and waits for it.
end() {
  [ -s "$dir/$1.pid" ] || return 0
  pid=$(cat "$dir/$1.pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 50); do
    # In a container that reaps nobody the dead stay as zombies.
    grep -qs '^State:.[^Z]' "/proc/$pid/status" || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
}

# First the jobs, while there is a controller to hear of their end: a step that cannot tell it waits for minutes, and its
# slurmd with it.
down() {
  if timeout 10 scancel --user="$(id -un)" 2>/dev/null; then
    for _ in $(seq 100); do
      [ -n "$(timeout 5 squeue --noheader 2>/dev/null)" ] || break
      sleep 0.1
    done
  fi
  for daemon in slurmd-n1 slurmd-n2 slurmctld munged; do end $daemon; done
}

up() {
  host=$(hostname) user=$(id -un)
  memory=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
  mkdir -p "$dir/state" "$dir/n1" "$dir/n2"
  # munged refuses a folder for its socket that others may not enter.
  chmod 755 "$dir"
  head -c 128 /dev/urandom >"$dir/munge.key"
  chmod 400 "$dir/munge.key"
  # --force: root may run it, and the folder above may be anybody's.
  munged --force --num-threads=1 --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
    --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" --seed-file="$dir/munge.seed" 2>/dev/null
  # slurmd starts a plugin for control groups though nothing uses it. The default one ends it where there is no systemd;
  # this one is never touched, and 22.05 does not know `disabled`.
  echo 'CgroupPlugin=cgroup/v1' >"$dir/cgroup.conf"
  echo 'NodeName=n[1-2] Name=gpu File=/dev/tty[1-2]' >"$dir/gres.conf"
  # AuthInfo: a requeued job waits for cred_expire + 1 s, which is two minutes by default; less than 5 is refused.
  # SchedulerParameters: else starts and preemption take up to a minute.
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge.socket,cred_expire=5
SlurmctldPort=$port
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
StateSaveLocation=$dir/state
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdLogFile=$dir/slurmd-%n.log
SlurmdSpoolDir=$dir/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=1000
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
SlurmdTimeout=10
ReturnToService=2
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2 RealMemory=$memory Gres=gpu:2 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2 RealMemory=$memory Gres=gpu:2 State=UNKNOWN
PartitionName=low Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=5
PartitionName=high Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
  for daemon in slurmctld slurmd-n1 slurmd-n2; do start $daemon; done
  for _ in $(seq 100); do
    [ "$(sinfo --noheader --Node --format %t 2>/dev/null | sort -u)" != idle ] || return 0
    sleep 0.2
  done
  echo "cluster.sh: the machines did not come up; see $dir/*.log" >&2
  down
  return 1
}

case $command in
  up | down) $command ;;
  start) start "$3" ;;
  *) echo "cluster.sh: up, down or start, not '$command'" >&2; exit 2 ;;
esac
