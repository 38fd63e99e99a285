"""Simulation of a job: plays its workers' Programs one after another on this machine, each on a clock of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from threading import Thread

import numpy as np

from netpart.collectives.network import LinkCost, Network, one_link_network
from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.kernels.device import array_module
from netpart.measure.data_waits import mark_reads
from netpart.measure.priced_binder import PricedBinder, omit_work
from netpart.measure.profile import WARM_UP, ProfiledRun
from netpart.measure.simulated_clocks import SimulatedClocks, SimulatedTransport, simulated_transports
from netpart.measure.step_profile import StepProfiler
from netpart.measure.timeline import STEP, Timeline, TimelineEvent
from netpart.measure.traces import player_memory_plan
from netpart.plan.price.cost import part_cost
from netpart.plan.price.kernel_workspace import workspace_bytes
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Forward, Instruction
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.program import WorkerProgram
from netpart.progress import report_progress, track_items
from netpart.updaters import build_updater
from netpart.worker.bind import PhaseBinder
from netpart.worker.initial_values import initialise_players
from netpart.worker.player import Player

FOREVER = inf


@dataclass
class Simulation:
    """The workers of ``cut`` on devices of ``speeds`` (1: this machine), connected by ``link``, one or a network."""

    cut: Partition
    link: LinkCost | Network
    speeds: Sequence[float]
    binder: type[PhaseBinder] = field(default=PhaseBinder, init=False)
    players: list[Player] = field(init=False)
    errors: list[BaseException] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.clocks = SimulatedClocks(self.speeds)
        self.kernels = job_kernel_class(self.cut.job)
        self.xp, _ = array_module(self.kernels.runs_on)
        whole = self.link if isinstance(self.link, Network) else one_link_network(self.cut.workers, self.link)
        self.transports = self.connect(whole)
        self.players = [self.player(worker) for worker in track_items(self.played, "worker", len(self.played))]
        self.initialise()

    @property
    def played(self) -> Sequence[int]:
        """The workers that are played."""
        return range(self.cut.workers)

    def connect(self, network: Network) -> list[SimulatedTransport]:
        """The transport of each worker."""
        return simulated_transports(self.clocks, network)

    def program(self, worker: int) -> WorkerProgram:
        """The compiled program of a worker."""
        slots = len(build_updater(self.cut.job.updater).states)
        return compile_worker(self.cut, worker, slots, kernels=self.kernels)

    def initialise(self) -> None:
        """Draw the initial values of all parameters."""
        initialise_players(self.players, self.cut.job)

    def player(self, worker: int) -> Player:
        rule = build_updater(self.cut.job.updater)
        program = self.program(worker)
        player = Player(program, self.transports[worker], self.xp, rule, self.cut.job.seed, binder=self.binder)
        player.trace.now = lambda: self.clocks.reading(worker)
        player.trace.events = []
        return player

    def run(self, steps: int) -> Timeline:
        """Play training steps; raise the first error of a worker."""
        threads = [Thread(target=self.work, args=(player, steps), daemon=True) for player in self.players]
        for thread in threads:
            thread.start()
        # Every thread waits for its first turn, so the main thread gives it to the first one.
        self.clocks.pass_on()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return Timeline(self.cut.workers, tuple(event for player in self.players for event in self.events(player)))

    def work(self, player: Player, steps: int) -> None:
        """The body of a worker's thread."""
        worker = player.program.worker
        transport: SimulatedTransport = self.transports[worker]
        try:
            self.clocks.begin(worker)
            for step in range(steps):
                report_progress(f"step {step + 1} of {steps}")
                for _ in player.play("train", step, drain=step + 1 == steps):
                    transport.wait(FOREVER)
            self.clocks.stop(worker)
            self.clocks.end(worker)
        except BaseException as error:
            # The error is raised by ``run``, in the main thread. ``fail`` wakes the other workers, which would wait for
            # this one.
            self.errors.append(error)
            self.clocks.fail(str(error))

    def events(self, player: Player) -> list[TimelineEvent]:
        """The events of a worker, with steps numbered from 0."""
        found, step = [], 0
        for name, start, end, channel, delay, micro in player.trace.events or ():
            key = tuple(map(int, channel)) if channel else ()
            found.append(TimelineEvent(player.program.worker, step, name, start, end, key, delay, micro))
            step += name == STEP
        return found


@dataclass
class PricedSimulation(Simulation):
    """A simulation that computes nothing. Forward and backward take the time of their part's FLOPs; other work takes
    none.

    ``speeds`` are in FLOPs per second. ``predict_step`` uses the same costs.
    """

    def __post_init__(self) -> None:
        self.binder = PricedBinder
        super().__post_init__()
        # Real computing time is divided by this speed, so it counts as 0; only ``spend`` moves the clocks.
        self.clocks.speeds = [inf] * self.cut.workers

    def initialise(self) -> None:
        """Leave all memory untouched: what is not written takes none."""
        for player in self.players:
            self.transports[player.program.worker].copies = False
            for running in player.bound["train"].running:
                for action in running.then:
                    action.run = action.run and omit_work

    def player(self, worker: int) -> Player:
        player = super().player(worker)
        player.machine.workspace_bytes = workspace_bytes(player.program, self.cut.job)
        for turn in player.bound["train"].turns:
            for (_, action), instruction in zip(turn, player.program.phases["train"].instructions, strict=True):
                if action.run is not None:
                    action.run = partial(self.clocks.spend, worker, self.flops(instruction) / self.speeds[worker])
        return player

    def work(self, player: Player, steps: int) -> None:
        """The same, without warnings about arithmetic on values that were never computed."""
        with np.errstate(all="ignore"):
            super().work(player, steps)

    def flops(self, instruction: Instruction | None) -> int:
        """The number of FLOPs of an instruction."""
        if not isinstance(instruction, Forward | Backward):
            return 0
        graph = self.cut.phases["train"][instruction.micro].graph
        cost = part_cost(graph, graph.part_at(instruction.part))
        if isinstance(instruction, Forward):
            return cost.forward + self.flops(instruction.then)
        lo, hi = graph.part_at(instruction.part).region[-1]
        rows = instruction.rows or (0, hi - lo)
        params = cost.params * (rows[1] - rows[0]) // max(1, hi - lo)
        return sum(cost.inputs) * any(instruction.dx) + params * any(instruction.dw)


def worker_speeds(workers: int, speeds: Sequence[float]) -> list[float]:
    """The speed of each worker's device; all 1 if none are given. Raises ConfigError for a wrong number, or a speed not
    above 0."""
    found = list(speeds) or [1.0] * workers
    if len(found) != workers or min(found) <= 0:
        expected = f"{workers} speeds above 0, one for each worker"
        raise ConfigError("--speeds", expected, ",".join(f"{speed:g}" for speed in found), f"list {workers} of them")
    return found


def simulate_partition(
    cut: Partition, steps: int, link: LinkCost | Network, speeds: Sequence[float] = (), flops: float = 0.0,
) -> ProfiledRun:  # fmt: skip
    """Time a step of ``cut`` without real workers; return figures and timeline like ``profile_job`` does for real ones.

    ``speeds`` are those of the workers' devices relative to this machine (default: all 1). Needs the memory of all
    workers together. With ``flops`` kernels are not timed: their counted operations take time at that many FLOPs per
    second. Raises ConfigError if there is not one speed per worker.
    """
    speeds = worker_speeds(cut.workers, speeds)
    simulation = (
        PricedSimulation(cut, link, [flops * speed for speed in speeds]) if flops else Simulation(cut, link, speeds)
    )
    return profile_simulation(simulation, steps)


def profile_simulation(simulation: Simulation, steps: int) -> ProfiledRun:
    """The figures and the timeline of some steps of a simulation, after those to warm up."""
    cut = simulation.cut
    found = simulation.run(WARM_UP + steps)
    counted = (event._replace(step=event.step - WARM_UP) for event in found.events if event.step >= WARM_UP)
    timeline = replace(found, events=tuple(mark_reads(cut, counted)))
    memory = {player.program.worker: player_memory_plan(player) for player in simulation.players}
    everyone = (replace(memory[found.model(worker)], worker=worker) for worker in range(cut.workers))
    return ProfiledRun(StepProfiler(cut, timeline).profile(everyone), timeline, cut)
