"""Memory of one worker: compared with PyTorch eager, with its plan, and with the least that the plan can need.

    python -m benchmarks.memory                  two minutes; benchmarks/results/memory.json
    python -m benchmarks.memory --nets mlp,gpt
    python -m benchmarks.memory --quick          a short trial of everything; writes nothing without -o

Figures are bytes that a process has in memory at most, without those that it has after its imports. Other processes do
not disturb them. The least is parameters, state of the updater, and what is alive at the worst moment of a step: kept
activations and the gradients in the making. The plan adds gaps of the arena and the kernels' workspace.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contest import PLAIN, Peer, Timed, netpart
from benchmarks.cpu import MEMORY_GOAL
from benchmarks.machine import again_on_one_thread, imported
from benchmarks.nets import Net, job
from benchmarks.options import PACKAGES, parse
from benchmarks.prepare import Prepared, prepare
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import program_memory
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.peak import find_arena_peak
from netpart.updaters import build_updater

EAGER, PLAN, LEAST = "PyTorch eager", "the plan", "the least"


def main() -> int:
    """Measure, print, write the results; 1 if a goal was missed."""
    if (code := again_on_one_thread("benchmarks.memory")) is not None:
        return code  # kernels need more workspace on several threads, and workers have one
    args = parse("memory", "compare the memory of one worker with PyTorch's")
    with TemporaryDirectory() as folder:
        base = imported()
        rows = [row for net in args.nets for row in memory_rows(prepare(net, Path(folder)), base, args)]
    if args.output or not args.quick:
        write(args.output or RESULTS / "memory.json", rows, PACKAGES, {"settings": {"imported": base}})
    return 0 if args.quick else finish([row for row in rows if row.goal is not None])


def memory_rows(prepared: Prepared, base: int, args: argparse.Namespace) -> list[Row]:
    """The rows of one net. ``base`` are the bytes of a worker after its imports."""
    ours, theirs = Timed(), Timed()
    steps = prepared.steps(args.seconds, 1)
    netpart(prepared, ours, steps, 1, 1, args.arguments)
    with Peer("torch_train", 1, prepared.folder) as peer:
        peer.play(theirs, steps, PLAIN)
    plan, least = planned_bytes(prepared.net)
    taken, about = ours.peak - base, f"{prepared.net.title}, batch {prepared.net.batch}"
    peers = ((EAGER, theirs.peak - theirs.imported, MEMORY_GOAL), (PLAN, plan, None), (LEAST, least, None))
    found = [Row(about, peer, taken, nbytes, "B", goal) for peer, nbytes, goal in peers]
    print(*found, sep="\n", flush=True)
    return found


def planned_bytes(net: Net) -> tuple[int, int]:
    """Bytes of the plan of one worker that trains ``net``, and the least that it can need."""
    cut = partition_by_scheme(job(net, 1), 1, phases=("train",))
    slots = len(build_updater(cut.job.updater).states)
    program = compile_worker(cut, 0, slots, kernels=job_kernel_class(cut.job))
    return program_memory(program, cut.job), program.fixed_bytes + find_arena_peak(program).nbytes


if __name__ == "__main__":
    sys.exit(main())
