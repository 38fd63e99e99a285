"""Error of the simulator: simulated and measured steps of two workers of a thread each, in several settings.

    python -m benchmarks.simulator              some minutes; benchmarks/results/simulator.json
    python -m benchmarks.simulator --quick      a short trial of everything; writes nothing

The simulation uses only figures that need no second worker at the same time: its kernels, played one worker after
another, and the link between two processes. The measured step is the median of a profiled run.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS, job, smaller
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.collectives.network import LinkCost
from netpart.measure.link_speed import measure_link
from netpart.measure.profile import profile_job
from netpart.measure.simulate import simulate_partition
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import Schedule
from netpart.proto.reader import Job, read_job_text

WORKERS = 2
STEPS = 12
PACKAGES = ("netpart", "numpy")
ERROR_GOAL, TAU_GOAL = 0.10, 0.9
CHAIN = "COLUMN_ROW", "GATHER_SCATTER", "NAIVE"


@dataclass(frozen=True)
class Setting:
    """A net under a scheme, with so many micro-batches in an order."""

    net: str
    scheme: str
    micro_batches: int = 1
    order: str = "ONE_F_ONE_B"

    def __str__(self) -> str:
        pieces = f", {self.micro_batches} micro-batches, {self.order}" if self.micro_batches > 1 else ""
        return f"{NETS[self.net].title}, {self.scheme}{pieces}"

    def job(self, quick: bool) -> Job:
        """The job of this setting."""
        net = smaller(NETS[self.net]) if quick else NETS[self.net]
        proto = job(net, 1)
        proto.neuralnet.micro_batches = min(self.micro_batches, net.batch)
        proto.neuralnet.schedule = Schedule.Order.Value(self.order)  # type: ignore[assignment]
        proto.num_openblas_threads = 1
        proto.deadline = 300
        return read_job_text(f"{proto}", str(self), overrides=[f"neuralnet.scheme={self.scheme}"])


SETTINGS = [
    *(Setting(net, "DATA") for net in ("lenet", "cifar", "mlp", "resnet18", "unet3d", "gpt")),
    *(Setting("mlp", scheme) for scheme in CHAIN),
    *(Setting(net, "PIPELINE", 4) for net in ("lenet", "mlp", "resnet18")),
    Setting("mlp", "PIPELINE", 4, "GPIPE"), Setting("cifar", "PIPELINE", 2), Setting("lenet", "ONE_WEIRD_TRICK"),
]  # fmt: skip


def main() -> int:
    """Simulate and measure every setting, print, write the results; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description="hold simulated steps against real ones")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "simulator.json")
    add_loaded_option(parser)
    args = parser.parse_args()
    if (code := again_on_one_thread("benchmarks.simulator")) is not None:
        return code
    watch = begin_watch("benchmarks.simulator", args.loaded or args.quick)
    link, steps = measure_link(), 3 if args.quick else STEPS
    print(f"link: {link}")
    rows = [compare(setting, link, steps, args.quick) for setting in SETTINGS]
    errors, tau = [abs(row.netpart / row.peer - 1) for row in rows], kendall(rows)
    print(f"median error {median(errors):.1%} of {len(rows)} settings, Kendall's tau {tau:.2f}")
    rows.append(Row("median error", "what is allowed", median(errors), ERROR_GOAL, "of the step", 1.0))
    rows.append(Row("discordance, 1 - tau", "what is allowed", max(1 - tau, 1e-3), 1 - TAU_GOAL, "", 1.0))
    if args.quick:
        return 0
    write(args.output, rows, PACKAGES, {"link": vars(link), "load_of_others": watch.others()})
    return finish(rows[-2:])


def compare(setting: Setting, link: LinkCost, steps: int, quick: bool) -> Row:
    """Compare the predicted step of one setting with the measured one."""
    found = setting.job(quick)
    cut = partition_by_scheme(found.proto, WORKERS, found.folder, phases=("train",))
    simulated = simulate_partition(cut, steps, link).profile.step_seconds
    row = Row(str(setting), "measured", simulated, profile_job(found, WORKERS, steps).profile.step_seconds)
    print(f"{row.work}: {row.netpart * 1e3:.2f} ms predicted, {row.peer * 1e3:.2f} measured", flush=True)
    return row


def kendall(rows: list[Row]) -> float:
    """Kendall's tau: correctly ranked pairs less wrongly ranked ones, over all pairs."""
    pairs = list(combinations(rows, 2))
    right = sum((a.netpart < b.netpart) == (a.peer < b.peer) for a, b in pairs)
    return 2 * right / len(pairs) - 1


if __name__ == "__main__":
    sys.exit(main())
