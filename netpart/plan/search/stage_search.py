"""The dynamic programme that searches for the stages of a pipeline, over any number of levels of links.

One rule covers stages, replicas and hierarchies. A group of a level is a chain of spans of workers. A span has one or
more groups of a lower level, which do the same, each as well as such a group can do it. A group of level 0 is a worker;
a span of r workers is a stage of r replicas. A span of hosts is a pipeline inside each of these hosts, replicated.

    F(level, a, e) = min over chains of spans from down-set a to e of the slowest span and of the slowest boundary
    F(0, a, e)     = work + seconds of the sum of its gradients

All are divided by the number of copies that do the same. Spans are found from the end of the chain, so the number of
mini-batches in flight in a span is known when it is priced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from netpart.plan.price.net_profile import Floats
from netpart.plan.search.downsets import Downsets
from netpart.plan.search.link_levels import LinkLevels, WorkerSpan

KEPT_TABLES = 128
"""Tables of groups that are kept for further use."""


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that a worker may use, and arrays that the updater keeps for each parameter."""

    nbytes: float = inf
    states: int = 1

    def needed(self, parameters: Any, activation: Any, replicas: int, workers: int) -> Any:
        """M: bytes that each replica of a stage holds, with ``workers`` workers from it to the end; works on arrays of
        stages."""
        versions = -(-workers // replicas)
        return versions * (parameters + activation / replicas) + (1 + self.states) * parameters


@dataclass(frozen=True)
class GroupSetting:
    """What surrounds a group: ``copies`` of it do the same, ``rest`` workers are after all of them. The copies take
    ``sums`` seconds for each byte of a gradient that they sum."""

    level: int
    copies: int = 1
    rest: int = 0
    sums: float = 0.0


class StageRun(NamedTuple):
    """A stage: the layers between two down-sets, on workers that are counted from the end."""

    start: int
    end: int
    workers: tuple[int, ...]

    def on(self, workers: tuple[int, ...]) -> StageRun:
        """The same layers on ``workers``."""
        return self._replace(workers=workers)


class WorkerTable:
    """Level 0: ``seconds[a, e]`` are those of one worker, or of copies of it, with all layers from a to e."""

    def __init__(self, search: StageSearch, setting: GroupSetting) -> None:
        found = (search.work + setting.sums * search.parameters) / setting.copies
        if search.room.nbytes < inf:
            workers = setting.rest + setting.copies
            held = search.room.needed(search.parameters, search.activation, setting.copies, workers)
            found[held > search.room.nbytes] = inf
        self.seconds: Floats = found

    def stages(self, start: int, end: int) -> list[StageRun]:
        """The stage of the worker."""
        return [StageRun(start, end, (0,))]


class GroupTable:
    """``seconds[a, e]`` of the best pipeline on a group for the layers from down-set a to ``ends[e]``.

    ``values[m][k][a, e]`` is the least over the first spans with ``high`` m that send ``ports[m][k]`` through the ports
    of hosts. It includes what the workers of the span receive from the stage before it.
    """

    def __init__(self, search: StageSearch, setting: GroupSetting, ends: range) -> None:
        self.search, self.setting, self.ends = search, setting, ends
        self.highs = range(1, search.levels.sizes[setting.level] + 1)
        self.ports: dict[int, Floats] = {}
        self.values: dict[int, Floats] = {}
        for m in self.highs:
            self.add_spans(m)

    def add_spans(self, m: int) -> None:
        """Find the values of the spans that may end at ``m``."""
        least: dict[bytes, Floats] = {}
        ports: dict[bytes, Floats] = {}
        for span in self.search.spans(m, self.setting.level):
            found, loads = self.with_first(span), self.loads(span)
            key = loads.tobytes()
            least[key] = np.minimum(least[key], found) if key in least else found
            ports[key] = loads
        self.ports[m], self.values[m] = np.array(list(ports.values())), np.array(list(least.values()))

    def loads(self, span: WorkerSpan) -> Floats:
        """Seconds by port of hosts and more, for each byte that ``span`` sends or receives."""
        return self.search.levels.port_seconds(span, self.setting.level)

    def with_first(self, span: WorkerSpan) -> Floats:
        """[a, e]: seconds of the layers from each down-set to each end, with ``span`` first."""
        found = _min_max_product(self.inner(span).seconds, self.after(span, slice(None)))
        return np.maximum(found, self.moving(self.search.levels.send_seconds(span))[:, None])

    def inner(self, span: WorkerSpan) -> WorkerTable | GroupTable:
        """The table of each group of ``span``."""
        levels, setting = self.search.levels, self.setting
        copies = (span.high - span.low) // levels.sizes[span.level]
        # Without a limit of memory it does not matter how many workers are after the span.
        rest = setting.rest + setting.copies * span.low if self.search.room.nbytes < inf else 0
        sums = setting.sums + levels.sum_seconds(span, setting.level)
        return self.search.table(GroupSetting(span.level, setting.copies * copies, rest, sums))

    def after(self, span: WorkerSpan, ends: slice) -> Floats:
        """[b, e]: seconds of the layers from b to ends[e] after ``span``, and of the boundary between them."""
        loads, some = self.loads(span), self.ends[ends]
        found = np.full((len(self.search.cuts), len(some)), inf)
        # Without a layer left, the outputs leave the group.
        found[some, range(len(some))] = self.moving(loads)[some]
        for m in self.search.next_highs(span.low, self.setting.level):
            moves = self.moving(loads - self.ports[m])
            found = np.minimum(found, np.maximum(moves[:, :, None], self.values[m][:, :, ends]).min(axis=0))
        return np.maximum(found, self.moving(self.search.levels.send_seconds(span))[:, None])

    def moving(self, loads: Floats | float) -> Floats:
        """Seconds that the bytes across each cut take, forward and back: a row for each row of ``loads``, by port."""
        most = np.abs(loads).max(axis=-1, initial=0) if isinstance(loads, np.ndarray) else loads
        return np.asarray(2 * np.multiply.outer(most, self.search.cuts.crossing) / self.setting.copies)

    def first(self, m: int) -> Floats:
        """[a, e]: the least seconds with ``high`` m of the first span, and with the boundary before it."""
        return np.asarray(np.maximum(self.moving(self.ports[m])[:, :, None], self.values[m]).min(axis=0))

    @cached_property
    def seconds(self) -> Floats:
        """The least over all first spans."""
        return np.asarray(np.min([self.first(m) for m in self.highs], axis=0))

    def stages(self, start: int, end: int) -> list[StageRun]:
        """The stages of the layers from the down-set ``start`` to ``end``; on ties those of the fewest workers."""
        e = self.ends.index(end)
        m = min(self.highs, key=lambda m: float(self.first(m)[start, e]))
        return list(self.chain(np.zeros(self.ports[m].shape[1]), [m], start, slice(e, e + 1)))

    def chain(self, loads: Floats, highs: list[int], start: int, ends: slice) -> Iterator[StageRun]:
        """The stages from cut ``start``, after a span with ``loads``, with one of ``highs`` for the first span."""
        at = start
        while at != self.ends[ends][0]:
            spans = (span for m in highs for span in self.search.spans(m, self.setting.level))
            span = min(spans, key=lambda span: self.seconds_with(span, loads, at, ends))
            inner = self.inner(span)
            both = np.maximum(inner.seconds[at], self.after(span, ends)[:, 0])
            # On ties the cut with the fewest bytes across it is taken.
            end = int(np.where(both == both.min(), self.search.cuts.crossing, inf).argmin())
            yield from (run.on(self.copied(span, run.workers)) for run in inner.stages(at, end))
            at, loads = end, self.loads(span)
            highs = self.search.next_highs(span.low, self.setting.level)

    def seconds_with(self, span: WorkerSpan, loads: Floats, start: int, ends: slice) -> float:
        """Seconds of the layers from ``start`` with ``span`` first, after a span with ``loads``."""
        within = np.maximum(self.inner(span).seconds[start], self.after(span, ends)[:, 0]).min()
        sent = self.moving(self.search.levels.send_seconds(span))[start]
        return max(float(within), float(sent), float(self.moving(loads - self.loads(span))[start]))

    def copied(self, span: WorkerSpan, workers: tuple[int, ...]) -> tuple[int, ...]:
        """``workers`` of a group of ``span``, in each of its groups."""
        starts = range(span.low, span.high, self.search.levels.sizes[span.level])
        return tuple(start + worker for start in starts for worker in workers)


class StageSearch:
    """The tables of all groups, for the cuts of one net. ``straight``: no stage has replicas."""

    def __init__(self, cuts: Downsets, levels: LinkLevels, room: MemoryBudget, straight: bool) -> None:
        self.cuts, self.levels, self.room, self.straight = cuts, levels, room, straight
        outside = ~cuts.nested()
        self.work, self.parameters, self.activation = map(
            _pairwise_difference, (cuts.work, cuts.parameters, cuts.activation)
        )
        self.work[outside] = inf
        self.parameters[outside] = 0.0
        self.table = lru_cache(KEPT_TABLES)(self._make_table)

    def _make_table(self, setting: GroupSetting) -> WorkerTable | GroupTable:
        """The table of a group in ``setting``."""
        if not setting.level:
            return WorkerTable(self, setting)
        return GroupTable(self, setting, range(len(self.cuts)))

    def whole_table(self) -> GroupTable:
        """The table of all workers, for the whole net only."""
        return GroupTable(self, GroupSetting(len(self.levels.counts)), range(len(self.cuts) - 1, len(self.cuts)))

    def spans(self, high: int, level: int) -> Iterator[WorkerSpan]:
        """The spans that may end at ``high`` in a group of ``level``, those with the most replicas first."""
        # Only a strictly faster span replaces another one, so of equally fast ones that with the most replicas stays.
        yield from (WorkerSpan(low, high) for low in range(high - 1 if self.straight else 0, high))
        for lower in range(1, level):
            size = self.levels.sizes[lower]
            if not self.straight and high % size == 0:
                # A single group needs no span of its own: its stages may be in the chain themselves.
                yield from (WorkerSpan(low, high, lower) for low in range(0, high - size, size))

    def next_highs(self, low: int, level: int) -> list[int]:
        """Where the span after one that begins at ``low`` may end: there, or where a group begins."""
        starts = {low // self.levels.sizes[k] * self.levels.sizes[k] for k in range(level)}
        return sorted(starts - {0}, reverse=True)


def _pairwise_difference(sums: Floats) -> Floats:
    """[a, b]: the sum over down-set b minus that over a."""
    return np.asarray(sums[None, :] - sums[:, None])


def _min_max_product(prices: Floats, after: Floats) -> Floats:
    """[a, e]: the least over b of the greater one of prices[a, b] and after[b, e].

    ``prices`` is finite only for a < b.
    """
    if after.shape[1] == 1:
        return np.asarray(np.maximum(prices, after[:, 0]).min(axis=1)[:, None])
    found = np.full(after.shape, inf)
    for b in range(1, len(after)):
        both = np.maximum(prices[:b, b, None], after[None, b, b:])
        np.minimum(found[:b, b:], both, out=found[:b, b:])
    return found
