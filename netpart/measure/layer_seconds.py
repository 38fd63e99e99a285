"""Layer seconds: how long each layer of the uncut net takes on this host, in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from netpart.graph.uncut import partition_uncut
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.job_pb2 import JobProto
from netpart.worker.ensemble import Ensemble
from netpart.worker.trace import TracedAction

STEPS = 3
WAYS = ("forward", "backward")


def measure_layers(job: JobProto, folder: Path | None = None, steps: int = STEPS) -> dict[str, tuple[float, float]]:
    """For each layer, the seconds of a whole mini-batch forward and backward: medians of ``steps`` steps after a
    warm-up step.

    Raises the errors of building the job, including DataError.
    """
    partition = partition_uncut(job, folder, ("train",))
    ensemble = Ensemble(partition, kernels=job_kernel_class(job))
    ensemble.initialise()
    ensemble.step("train", 0)
    times = defaultdict[tuple[str, str], list[float]](list)
    for step in range(1, steps + 1):
        trace: list[TracedAction] = []
        ensemble.players[0].trace.events = trace
        ensemble.step("train", step)
        for key, seconds in _sum_seconds(trace).items():
            times[key].append(seconds)
    names = [node.name for node in partition.graph.net.nodes]
    return {name: (_median_or_zero(times[WAYS[0], name]), _median_or_zero(times[WAYS[1], name])) for name in names}


def _sum_seconds(trace: Iterable[TracedAction]) -> dict[tuple[str, str], float]:
    """The seconds of each kind of action of a layer: a gradient made in strips, for one, takes several actions."""
    found = defaultdict[tuple[str, str], float](float)
    for action, start, end, *_ in trace:
        # A kernel that computes two layers is named "forward a+b"; its time counts for the first one.
        way, _, name = action.partition("+")[0].partition(" ")
        found[way, name] += end - start
    return found


def _median_or_zero(seconds: list[float]) -> float:
    """The median; 0 for an empty list."""
    return median(seconds) if seconds else 0.0
