"""Alike workers: workers that do the same at the same times in a simulation, of which one is played for all.

Two workers are alike if their programs are equal but for names (``netpart.program.worker_shape``), their devices and
links are equal, and each message to the one comes from a worker that is alike the sender of the same message to the
other, which sends it at the same place of its program. This is refined until it holds. What a worker does depends on
its program and on the messages to it alone, so alike workers are never apart (Boldi and Vigna, Fibrations of graphs,
Discrete Mathematics 243, 2002). In hosts they would be: the messages of others delay those at a shared port.

With ``levelled`` the sizes of messages do not count, nor which class they come from: blocks differ by a row, or an
element, if they do not divide evenly, and then no two of many workers would be alike. A step changes little by that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from netpart.collectives.network import Network
from netpart.collectives.schedule import Schedule
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.program.compile import compile_worker
from netpart.program.exchange import Exchange
from netpart.program.instructions import Channel
from netpart.program.messages.communication import Communication, MessageVerb, list_communications
from netpart.program.messages.translate_channels import translate_communications
from netpart.program.program import WorkerProgram
from netpart.program.worker_shape import LevelShape, WorkerShape, find_equal_workers
from netpart.progress import report_progress, track_items
from netpart.transport.frames import Channel as WireChannel
from netpart.updaters import build_updater
from netpart.worker.flow_control import done_channel, report_order

Numbers = np.ndarray[Any, np.dtype[np.int64]]
PHASE = "train"


class Delivery(NamedTuple):
    """A message to ``worker``: its ``channel`` there, and the worker ``source`` that sends it."""

    worker: int
    channel: Channel
    source: int


class PlaceMessages(NamedTuple):
    """The messages that a place of a collective receives, in order: their indices, their sources, and at which turn
    each of these sends it; and the indices of those that it ``sends``."""

    indices: Numbers
    sources: Numbers
    turns: Numbers
    sends: Numbers


@dataclass
class AlikeWorkers:
    """The workers of ``partition`` on devices of ``speeds``, in classes of which the first worker is the model."""

    partition: Partition
    network: Network
    speeds: Sequence[float]
    kernels: type[Kernels]
    levelled: bool = False
    programs: dict[int, WorkerProgram] = field(default_factory=dict)
    started: dict[tuple[Channel, int], tuple[Numbers, Numbers]] = field(default_factory=dict)

    @cached_property
    def shapes(self) -> list[WorkerShape]:
        """The shape of each worker."""
        found = find_equal_workers(self.partition, self.kernels, LevelShape if self.levelled else WorkerShape)
        return list(track_items(found, "worker", self.partition.workers))

    @cached_property
    def talks(self) -> list[list[Communication]]:
        """The communications of each worker in a step, in order."""
        first: dict[Hashable, WorkerShape] = {}
        spoken = {}
        found = []
        for shape in self.shapes:
            model = first.setdefault(shape.key, shape)
            if model is shape:
                spoken[shape.key] = list_communications(self.program(shape.worker), shared=True)
            found.append(translate_communications(spoken[shape.key], model, shape)[PHASE])
        return found

    def program(self, worker: int) -> WorkerProgram:
        """The compiled program of a worker."""
        if worker not in self.programs:
            slots = len(build_updater(self.partition.job.updater).states)
            self.programs[worker] = compile_worker(self.partition, worker, slots, kernels=self.kernels)
        return self.programs[worker]

    @cached_property
    def places(self) -> list[dict[Channel, int]]:
        """Of each worker, where in its communications it sends a message of a channel, or starts a collective."""
        sending = MessageVerb.SEND, MessageVerb.START
        return [{c.channel: i for i, c in enumerate(talk) if c.verb in sending} for talk in self.talks]

    @cached_property
    def models(self) -> tuple[int, ...]:
        """The model of each worker."""
        kinds = self.network.worker_kinds
        classes = _number_keys((self.shapes[w].key, self.speeds[w], kinds[w]) for w in range(len(self.shapes)))
        while True:
            report_progress(f"{len(set(classes))} of {len(classes)} workers differ")
            array = np.array(classes, np.int64)
            finer = _number_keys((classes[w], *self.received_from(w, array)) for w in range(len(classes)))
            if len(set(finer)) == len(set(classes)):
                first = {c: w for w, c in reversed(list(enumerate(classes)))}
                return tuple(first[c] for c in classes)
            classes = finer

    def received_from(self, worker: int, classes: Numbers) -> Iterator[Hashable]:
        """The class of the sender of each message to a worker, and the place in its program at which it sends it."""
        for c in self.talks[worker] if not self.levelled else ():
            if c.verb == MessageVerb.RECEIVE:
                yield classes[c.peer], self.places[c.peer][c.channel]
            elif c.verb == MessageVerb.START and c.exchange is not None:
                yield self.collective_senders(c.exchange, worker, c.channel, classes)
        for peer, turn in self.reports(worker) if not self.levelled else ():
            yield classes[peer], turn

    def collective_senders(self, found: Exchange, worker: int, channel: Channel, classes: Numbers) -> Hashable:
        """``received_from`` for the messages of a collective, with their sizes."""
        came = _place_messages(found.schedule, len(found.members))[found.place(worker)]
        members, places = self.member_places(found, channel)
        loads = found.message_table[2]
        columns = (
            classes[members[came.sources]],
            places[came.sources],
            came.turns,
            loads[came.indices],
            loads[came.sends],
        )
        return tuple(column.tobytes() for column in columns)

    def member_places(self, found: Exchange, channel: Channel) -> tuple[Numbers, Numbers]:
        """The members of a collective, and where in their programs they start it: found once for all of them."""
        key = channel, id(found)
        if key not in self.started:
            places = [self.places[worker][channel] for worker in found.members]
            self.started[key] = np.array(found.members, np.int64), np.array(places, np.int64)
        return self.started[key]

    def reports(self, worker: int) -> Iterator[tuple[int, int]]:
        """Each worker that reports to this one that it has finished a step, and at which turn it does."""
        for peer in self.partners[worker][0]:
            yield peer, self.partners[peer][1].index(worker)

    @cached_property
    def partners(self) -> list[tuple[list[int], list[int]]]:
        """Of each worker those that it sends to, and those that send to it, in the order of their reports."""
        sent = [self.receivers(worker) for worker in range(len(self.talks))]
        came: dict[int, set[int]] = defaultdict(set)
        for worker, receivers in enumerate(sent):
            for peer in receivers:
                came[peer].add(worker)
        count = self.partition.workers
        return [
            (report_order(receivers, worker, count), report_order(came[worker], worker, count))
            for worker, receivers in enumerate(sent)
        ]

    def receivers(self, worker: int) -> set[int]:
        """The workers to which a worker sends."""
        found = {c.peer for c in self.talks[worker] if c.verb == MessageVerb.SEND}
        return found.union(*(c.receivers(worker) for c in self.talks[worker] if c.verb == MessageVerb.START))

    @cached_property
    def deliveries(self) -> dict[int, dict[WireChannel, list[Delivery]]]:
        """For each model, and each channel that it sends on, the messages to models that are sent then."""
        found: dict[int, dict[WireChannel, list[Delivery]]] = {w: defaultdict(list) for w in set(self.models)}
        for worker in found:
            for source, channel, named in self.arrivals(worker):
                found[self.models[source]][named].append(Delivery(worker, channel, source))
        return found

    def arrivals(self, worker: int) -> Iterator[tuple[int, Channel, Channel]]:
        """The source of each message to a worker, its channel, and that of the same message of the source's model."""
        for c in self.talks[worker]:
            if c.verb == MessageVerb.RECEIVE:
                yield c.peer, c.channel, self.model_talk(c.peer, c.channel).channel
            elif c.verb == MessageVerb.START and c.exchange is not None:
                yield from self.collective_arrivals(c.exchange, worker, c.channel)
        for peer, turn in self.reports(worker):
            model = self.models[peer]
            named = done_channel(PHASE, model, self.partners[model][1][turn])
            yield peer, done_channel(PHASE, peer, worker), named

    def collective_arrivals(
        self, found: Exchange, worker: int, channel: Channel
    ) -> Iterator[tuple[int, Channel, Channel]]:
        """``arrivals`` of a collective."""
        came = _place_messages(found.schedule, len(found.members))[found.place(worker)]
        for index, place, turn in zip(came.indices.tolist(), came.sources.tolist(), came.turns.tolist(), strict=True):
            source = found.members[place]
            talk = self.model_talk(source, channel)
            assert talk.exchange is not None, "a collective has an exchange"
            own = talk.exchange.place(self.models[source])
            sends = _place_messages(talk.exchange.schedule, len(talk.exchange.members))[own].sends
            yield source, channel._replace(chunk=index), talk.channel._replace(chunk=int(sends[turn]))

    def model_talk(self, worker: int, channel: Channel) -> Communication:
        """What the model of a worker does where the worker sends on a channel."""
        return self.talks[self.models[worker]][self.places[worker][channel]]


def _number_keys(keys: Iterator[Hashable]) -> list[int]:
    """The same number for equal keys, by their first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


@lru_cache(maxsize=64)
def _place_messages(schedule: Schedule, n: int) -> list[PlaceMessages]:
    """The messages of each place of a collective of ``n`` members."""
    table = np.array([(m.source, m.target) for m in schedule], np.int64).reshape(-1, 2)
    sent, came = (_split_by_place(table[:, end], n) for end in range(2))
    turns = np.zeros(len(table), np.int64)
    for indices in sent:
        turns[indices] = np.arange(len(indices))
    return [PlaceMessages(i, table[i, 0], turns[i], sends) for i, sends in zip(came, sent, strict=True)]


def _split_by_place(places: Numbers, n: int) -> list[Numbers]:
    """The indices of the messages of each place, in order."""
    order = np.argsort(places, kind="stable").astype(np.int64)
    return np.split(order, np.cumsum(np.bincount(places, minlength=n))[:-1])
