#!/usr/bin/env bash
# A trial of a run on several hosts, on this one: worker 0 starts with the coordinator, the others join over loopback.
#
#   workers/local.sh JOB [WORKERS [OPTIONS of netpart run]]
set -euo pipefail
job=$1 workers=${2:-2} address=tcp://127.0.0.1:${PORT:-5555}

NETPART_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export NETPART_TOKEN
# The workers share the cores of this host. A worker that joins cannot detect this, so the threads are set here.
share=$(($(nproc) / workers))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((share > 0 ? share : 1))} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

for ((rank = 1; rank < workers; rank++)); do
  netpart worker --join "$address" --rank "$rank" &
done
netpart run "$job" --workers "$workers" --listen "$address" --local 1 "${@:3}"
wait
