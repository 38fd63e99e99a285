"""Ensemble: all workers of a partition played in one thread, over memory, in any interleaving.

It is the test bench of the laws and the engine of ``verify``: it has no processes, no clocks and no randomness but the
seeded one. Sends are buffered and every worker follows the one global order, so some worker can always continue. If
none can, the plan itself is wrong, and the ensemble reports which worker waits for what.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from netpart.errors import NetpartError
from netpart.graph.graph import LAYER, Part
from netpart.graph.net import Node
from netpart.graph.partition import MicroBatch, Partition
from netpart.kernels.device import array_module
from netpart.kernels.reference import Kernels
from netpart.program.compile import compile_worker
from netpart.program.metrics import phase_figures
from netpart.spec import Region
from netpart.transport.memory import MemoryHub
from netpart.transport.transport import Transport
from netpart.updaters import AVERAGE, build_updater
from netpart.worker.assembly import Pick, TensorAssembly, Values, sum_arrays
from netpart.worker.initial_values import initialise_players
from netpart.worker.player import Player
from netpart.worker.wait_reasons import WaitReason


class Ensemble:
    """Players of every worker of ``partition``. ``order`` seeds the interleaving (None: round robin).

    ``keep`` keeps every value of the last step readable; ``poison`` fills unwritten memory with NaN. ``hub`` are the
    transports of the workers, in this process and not yet bound.
    """

    def __init__(
        self, partition: Partition, seed: int | None = None, order: int | None = None, keep: bool = False,
        poison: bool = False, kernels: type[Kernels] = Kernels, hub: Sequence[Transport] | MemoryHub | None = None,
    ) -> None:  # fmt: skip
        self.partition = partition
        self.kernels = kernels
        self.xp, _ = array_module(kernels.runs_on)
        seed = partition.job.seed if seed is None else seed
        self.random = random.Random(order)
        self.shuffled = order is not None
        self.poison = poison
        self.hub = MemoryHub(partition.workers) if hub is None else hub
        self.players = [self.player(w, seed, keep, poison) for w in range(partition.workers)]
        self.dtype = self.players[0].machine.dtype

    def player(self, worker: int, seed: int, keep: bool, poison: bool) -> Player:
        rule = build_updater(self.partition.job.updater)
        program = compile_worker(self.partition, worker, len(rule.states), keep, self.kernels)
        return Player(program, self.hub[worker], self.xp, rule, seed, poison)

    def initialise(self) -> None:
        """Give every parameter its first value: from the checkpoint that the job names, or else an initial one."""
        initialise_players(self.players, self.partition.job)

    def step(self, phase: str, step: int, drain: bool = True) -> dict[str, float]:
        """Play one step on all workers; return the mean of each reported metric over the mini-batch.

        ``drain`` is that of ``Player.play``. Raises NetpartError, with what each worker waits for, if no worker can
        continue.
        """
        if self.poison:
            self.poison_gradients()
        running = {w: player.play(phase, step, drain) for w, player in enumerate(self.players)}
        while running:
            self.play_round(running)
        return self.metrics(phase)

    def poison_gradients(self) -> None:
        """Fill all memory that lives across steps with NaN, except parameters and data in flight: every step must write
        it anew."""
        for player in self.players:
            kept = {view.buffer for view in player.program.parameters}
            for b, array in player.machine.fixed.items():
                if b not in kept and player.program.copies(b) == 1:
                    array.fill(np.nan)

    def play_round(self, running: dict[int, Iterator[WaitReason]]) -> None:
        """Let every unfinished worker go as far as it can."""
        before = sum(p.transport.arrivals for p in self.players if p.transport)
        waiting: dict[int, WaitReason] = {}
        for worker in self.turns(running):
            state = next(running[worker], None)
            if state is None:
                del running[worker]
            else:
                waiting[worker] = state
        after = sum(p.transport.arrivals for p in self.players if p.transport)
        if running and len(waiting) == len(running) and before == after:
            # A worker may have stopped before its message arrived in this same round. Only a second try without
            # progress is a deadlock.
            again = {w: s for w, s in waiting.items() if next(running[w], None) is not None}
            if len(again) == len(running):
                stuck = "; ".join(f"worker {w} waits for {s}" for w, s in waiting.items())
                raise NetpartError(f"deadlock: expected a message to arrive, got none: {stuck}; report it with the job")
            for w in set(running) - set(again):
                del running[w]

    def turns(self, running: dict[int, Iterator[WaitReason]]) -> list[int]:
        workers = list(running)
        if self.shuffled:
            self.random.shuffle(workers)
        return workers

    def metrics(self, phase: str) -> dict[str, float]:
        """Means over the rows of one mini-batch, from the sums of all workers since the last call."""
        sums = np.sum([p.read_metrics(phase) for p in self.players], axis=0)
        rows = self.partition.phases[phase][-1].rows[1]
        return phase_figures(self.partition.phases[phase], sums.tolist(), rows)

    def parameter(self, name: str, gradient: bool = False, pick: Pick = np.maximum) -> Values:
        """The whole of one parameter, assembled from the workers that hold it; or its summed gradient, from those that
        update it."""
        spec = next(p.spec for p in self.partition.parameters if p.name == name)
        out = TensorAssembly(spec.shape, np.nan, pick, self.dtype)
        for player in self.players:
            program = player.program
            for h, holding in enumerate(program.holdings):
                if holding.parameter.name == name:
                    view = program.gradients[h] if gradient else program.parameters[h]
                    if view is not None:
                        box, view = (holding.home, program.at_home(view, h)) if gradient else (holding.box, view)
                        out.add(box, player.machine.held(view, "train"))
        return out.values

    def average(self, name: str, pick: Pick = np.maximum) -> Values:
        """The whole moving average of a parameter, assembled from the workers that update it (needs ``ema_decay``)."""
        spec = next(p.spec for p in self.partition.parameters if p.name == name)
        out = TensorAssembly(spec.shape, np.nan, pick, self.dtype)
        for player in self.players:
            for holding, state in zip(player.program.holdings, player.machine.state, strict=True):
                if holding.parameter.name == name:
                    out.add(holding.home, player.machine.to_host(state[AVERAGE]))
        return out.values

    def copies(self, name: str) -> Iterator[tuple[int, Region, Values]]:
        """(worker, box, values) of every copy of a parameter."""
        for player in self.players:
            for h, holding in enumerate(player.program.holdings):
                if holding.parameter.name == name:
                    yield player.program.worker, holding.box, player.machine.to_host(player.parameters.values(h))

    def activation(self, phase: str, name: str, output: int = 0, pick: Pick = np.maximum) -> Values:
        """The whole output of a layer over the mini-batch, from its shards (needs ``keep``)."""
        return self.assemble(phase, name, output, False, pick)

    def gradient(self, phase: str, name: str, pick: Pick = np.maximum) -> Values | None:
        """The whole gradient of a layer's output (needs ``keep``); None if none is computed."""
        net = self.partition.phases[phase][0].graph.net
        node = net.by_name[name]
        if not net.trained[node.index] or node.layer.is_loss:
            return None
        return self.assemble(phase, name, 0, True, pick)

    def assemble(self, phase: str, name: str, output: int, gradient: bool, pick: Pick) -> Values:
        pieces = []
        for m, micro in enumerate(self.partition.phases[phase]):
            node = micro.graph.net.by_name[name]
            pieces.append(self.micro_value(phase, m, micro, node, output, gradient, pick))
        return np.concatenate(pieces) if pieces[0].ndim else pieces[0]

    def micro_value(
        self, phase: str, m: int, micro: MicroBatch, node: Node, output: int, gradient: bool, pick: Pick
    ) -> Values:
        """The value or gradient of a layer in one micro-batch, assembled from its parts.

        Forward, the replicas of a term are copies and terms add up. Backward, terms are copies and so are full
        replicas, while partial ones add up.
        """
        terms: dict[Region | None, list[Part]] = {}
        for part in micro.graph.parts:
            if part.kind == LAYER and part.node == node.index:
                terms.setdefault(part.term, []).append(part)

        def together(parts: list[Part]) -> Values:
            held = TensorAssembly(node.layer.outputs[output].shape, 0.0 if gradient else np.nan, pick)
            for part in parts:
                value = self.value(phase, m, part, output, gradient)
                if value is not None:
                    held.add(node.layer.outputs_of(part.region)[output], value)
            return held.values

        if not gradient:
            return sum_arrays(together(parts) for parts in terms.values())
        if micro.graph.full[node.index]:
            return together([part for parts in terms.values() for part in parts])
        return reduce(pick, (sum_arrays(together([part]) for part in parts) for parts in terms.values()))

    def value(self, phase: str, m: int, part: Part, output: int, gradient: bool) -> Values | None:
        player = self.players[part.worker]
        program = player.program.phases[phase]
        view = program.gradients.get((m, part.index)) if gradient else program.values.get((m, part.index, output))
        return None if view is None else player.machine.held(view, phase)
