#!/bin/sh
# test: beside, all
# SPDX-License-Identifier: MIT
# Shards under the engines that people have: a Slurm array, Open MPI and GNU parallel give, merged, the cells and verdicts of one process with
# the same seed; so does a shard that was killed and resumed. TAP. Usage: live-engines.sh LOCKBENCH. Exit 77: none of the engines is there.
bin=$(realpath "$1") helpers=$(dirname "$0")/../../helpers
. "$helpers/tap.sh"
cp "$(dirname "$0")/../../../scenarios/pause/pause-holder.ini" "$dir/pause.ini"
run="$bin run $dir/pause.ini control -b redis-token@redis,local@none -g none -n 2 --seed 7"
verdicts() { cut -d, -f1-7 "$1/trials.csv"; }
cells() { grep -E '^   "(scenario|system|guard|verdict|trials|undecided)"' "$1/run.json"; }
merged() { # FOLDER of the shards: as one process
  "$bin" merge "$1" -o "$1-merged" >"$1.out" 2>&1 || return 1
  verdicts "$dir/whole" >"$dir/x" && verdicts "$1-merged" >"$dir/y" && diff "$dir/x" "$dir/y" && cells "$dir/whole" >"$dir/x" && cells "$1-merged" >"$dir/y" && diff "$dir/x" "$dir/y"
}
has() { # ENGINE PROGRAM...: or a line that says it is skipped
  name=$1 && shift
  for program in "$@"; do
    if ! command -v "$program" >/dev/null; then
      n=$((n + 1)) && echo "ok $n - $name # SKIP $program is missing"
      return 1
    fi
  done
  any=yes
}

$run -o "$dir/whole" >"$dir/whole.out" 2>&1
check 'one process plays it' [ -f "$dir/whole/run.json" ]

if has 'Open MPI' mpirun; then
  check 'mpirun plays four shards' env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun --oversubscribe --bind-to none -n 4 $run -o "$dir/mpi"
  check 'they are, merged, the run of one process' merged "$dir/mpi"
fi
if has 'Slurm' slurmctld slurmd sbatch munged unshare && [ "$(id -u)" -eq 0 ]; then
  printf '#!/bin/sh\nexec %s -o %s\n' "$run" "$dir/slurm" >"$dir/job.sh"
  check 'a Slurm array plays four shards' timeout -s KILL 120 unshare --net --mount --pid --fork --kill-child --mount-proc --uts \
    sh "$helpers/slurm.sh" "$dir/one" sbatch --wait --array=0-3 --output="$dir/job-%a.out" "$dir/job.sh"
  check 'they are, merged, the run of one process' merged "$dir/slurm"
fi
if has 'GNU parallel' parallel; then
  check 'parallel plays four shards' timeout 120 parallel --will-cite -j 2 "$run" -o "$dir/parallel" --shard '{}/4' ::: 1 2 3 4
  check 'they are, merged, the run of one process' merged "$dir/parallel"
fi

# The first outcome is on the disk, and more are to come.
mkdir "$dir/killed"
for i in 1 2 3; do $run --shard "$i/4" -o "$dir/killed" >/dev/null 2>&1; done
$run -j 1 --shard 4/4 -o "$dir/killed" >/dev/null 2>&1 &
tool=$!
wait_until 60 test -s "$dir/killed/.shard-4-of-4.partial/resume.bin"
kill -9 $tool
wait $tool 2>/dev/null
check 'a shard that is killed keeps what it has' wait_until 15 test -e "$dir/killed/shard-4-of-4/resume.bin"
"$bin" run --resume "$dir/killed/shard-4-of-4" >"$dir/resumed.out" 2>&1
check 'resumed and merged, it is the run of one process' merged "$dir/killed"
check 'nothing is left' [ -z "$(servers)" ]
echo "1..$n"
[ "${any-}" ] || exit 77
