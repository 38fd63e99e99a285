"""Timing of steps of the nets of the use case: netpart's, measured and simulated, and PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.contest import LAST, PLAIN, Peer, Timed
from benchmarks.counts import counts
from benchmarks.figures import BOUND, MEASURED, PEERS, SIMULATED, Point
from benchmarks.load import Watch
from benchmarks.nets import Net
from benchmarks.prepare import WARM_UP, Prepared, prepare
from benchmarks.rows import CORES
from benchmarks.ways import WAYS, Hybrid, Way, by_data, by_gabra, choices, with_overrides
from netpart.collectives.network import LinkCost
from netpart.launch.run import run_job
from netpart.measure.simulate import simulate_partition
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import Job

MORE = 4
"""Measured steps for each simulated one: other work of the machine may delay a measured step."""
FEW = 2
"""Steps of a simulation that only compares allocations."""


@dataclass(frozen=True)
class Clock:
    """Times steps: ``steps`` of each contender, ``link`` between simulated workers."""

    steps: int
    link: LinkCost

    def point(self, way: Way, net: Net, workers: int, job: Job) -> Point:
        """The point of a step of netpart: simulated, and measured if there are enough cores."""
        cut = partition_by_scheme(job.proto, workers, job.folder, phases=("train",))
        simulated, counted = simulate_partition(cut, self.steps, self.link).profile.step_seconds, counts(cut)
        if workers > CORES:
            return Point(net.name, way.name, workers, simulated, SIMULATED, counts=counted)
        measured = self.measured(job, workers)
        return Point(net.name, way.name, workers, measured, MEASURED, simulated, counts=counted)

    def simulated(self, job: Job, workers: int, steps: int) -> float:
        """Seconds of the median step."""
        cut = partition_by_scheme(job.proto, workers, job.folder, phases=("train",))
        return simulate_partition(cut, steps, self.link).profile.step_seconds

    def measured(self, job: Job, workers: int) -> float:
        """Seconds of the median step on worker processes, without tracing."""
        long = with_overrides(job, f"train_steps={WARM_UP + MORE * self.steps}")
        with TemporaryDirectory() as folder:
            return median(run_job(long, workers, workspace=Path(folder)).step_seconds[WARM_UP:])

    def fastest(self, net: Net, workers: int, tried: Sequence[Hybrid]) -> Hybrid:
        """The choice whose simulated step is the shortest."""
        times = {choice: self.simulated(by_gabra(net, workers, choice, False)[0], workers, FEW) for choice in tried}
        return min(times, key=times.__getitem__)


def ours(net: Net, workers: int, clock: Clock, micro_batches: int, quick: bool) -> Iterator[list[Point]]:
    """The points of netpart on so many workers, in lists of points that are timed together."""
    if workers == 1:
        yield [clock.point(WAYS["data"], net, 1, by_data(net, False))]
        return
    tried = list(choices(net, workers, micro_batches))
    best = tried[0] if quick else clock.fastest(net, workers, tried)
    for way in WAYS.values():
        if not way.hybrid:
            yield [clock.point(way, net, workers, by_data(net, way.local))]
            continue
        job, task, plan = by_gabra(net, workers, best, way.local)
        about = {"groups": task.groups, "partitions": len(task.blocks), "allocation": plan}
        yield [replace(clock.point(way, net, workers, job), plan=about)]


def theirs(net: Net, workers: int, steps: int, folder: Path) -> Iterator[list[Point]]:
    """The points of PyTorch on so many workers, likewise."""
    if workers == 1:
        yield [Point(net.name, "ddp", 1, peer_seconds("torch_train", prepare(net, folder), steps), MEASURED)]
    elif workers <= CORES and net.batch % workers == 0:
        prepared = prepare(net, folder)
        for way in PEERS:
            yield [Point(net.name, way, workers, peer_seconds(f"torch_{way}", prepared, steps, workers), MEASURED)]
    else:
        rows = prepare(replace(net, batch=-(-net.batch // workers)), folder / f"{workers}")
        seconds = peer_seconds("torch_train", rows, steps)
        yield [Point(net.name, way, workers, seconds, BOUND) for way in PEERS]


def keys(net: Net, workers: int) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, int]]]:
    """The keys of the points to time: of netpart, and of PyTorch."""
    ways = (["data"], ["ddp"]) if workers == 1 else (list(WAYS), list(PEERS))
    own, peers = ([(net.name, way, workers) for way in each] for each in ways)
    return own, peers


def watched(found: Iterator[list[Point]]) -> Iterator[Point]:
    """Each point with the load by other processes while it was timed."""
    watch = Watch()
    for points in found:
        load, today = watch.others(), date.today().isoformat()
        yield from (replace(point, load=load, date=today) for point in points)
        watch = Watch()


def peer_seconds(module: str, prepared: Prepared, steps: int, *arguments: object) -> float:
    """Seconds of the median step of a peer, in the memory layout that is faster for it."""
    found = {layout: Timed() for layout in (PLAIN, LAST)}
    with Peer(module, 1, prepared.folder, *arguments) as peer:
        for layout, seconds in found.items():
            peer.play(seconds, WARM_UP + steps, layout)
    return min(seconds.median for seconds in found.values())
