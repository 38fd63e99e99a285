"""Equal chains of layers: a part of a net that is written several times, whatever its layers are called.

    embed  norm-a1 … after-m1  norm-a2 … after-m2  norm-a3 … after-m3  loss        3 × norm-a1 … norm-a3

Chains are equal if they follow each other, and their layers are equal one by one: type, settings, shapes, workers, and
how far before it each layer is that it reads. So only its place distinguishes a chain from the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from netpart.draw.joined_boxes import make_quotient
from netpart.draw.picture import PartBox, Picture
from netpart.draw.quotient import BoxGroup, Quotient

LEAST_LAYERS, LEAST_TIMES = 4, 3
"""Two chains count as repeated from so many layers each on, shorter ones if there are so many of them."""
LONGEST = 500
"""Layers of the longest chain that is looked for."""


class EqualChains(NamedTuple):
    """``times`` chains of ``length`` layers each, from layer number ``first`` on."""

    first: int
    length: int
    times: int

    @property
    def end(self) -> int:
        """The number of the layer after the last one."""
        return self.first + self.length * self.times

    def chains(self) -> Iterator[range]:
        """The numbers of the layers of each chain."""
        return (range(at, at + self.length) for at in range(self.first, self.end, self.length))


def layer_flow(shown: Picture) -> Quotient:
    """``shown`` with a group for each layer, whatever the number of its parts."""
    of_layer: dict[str, list[PartBox]] = {}
    for box in shown.boxes:
        if not box.is_helper:
            of_layer.setdefault(box.layer, []).append(box)
    return make_quotient(shown, [BoxGroup(name, tuple(boxes)) for name, boxes in of_layer.items()])


def find_equal_chains(flow: Quotient) -> list[EqualChains]:
    """The equal chains of ``flow``, whose groups are layers, in order. Of several that overlap it is those that leave
    fewest layers to draw."""
    sources: list[list[int]] = [[] for _ in flow.groups]
    for arrow in flow.arrows:
        sources[arrow.target].append(arrow.source)
    numbers: dict[object, int] = {}
    looks = (_layer_look(flow, number, own) for number, own in enumerate(sources))
    signs = np.array([numbers.setdefault(look, len(numbers)) for look in looks], np.int64)
    return sorted(_chains_between(signs, sources, 0, len(signs)))


def _layer_look(flow: Quotient, number: int, sources: Sequence[int]) -> object:
    """What equal layers have in common."""
    group = flow.groups[number]
    parts = tuple((box.type, box.extent, box.worker) for box in group.boxes)
    return flow.picture.confs.get(group.name), parts, tuple(sorted(number - source for source in sources))


def _chains_between(signs: np.ndarray, sources: Sequence[Sequence[int]], low: int, high: int) -> Iterator[EqualChains]:
    """The equal chains among the layers from ``low`` to ``high``."""
    best = max(_repeats(signs[low:high]), key=lambda each: (each.length * (each.times - 1), -each.length), default=None)
    if best is None:
        return
    found = _placed(best._replace(first=best.first + low), signs, sources, high)
    yield found
    yield from _chains_between(signs, sources, low, found.first)
    yield from _chains_between(signs, sources, found.end, high)


def _repeats(signs: np.ndarray) -> Iterator[EqualChains]:
    """For each length of a chain the longest row of equal ones, from where it may begin first."""
    for length in range(1, min(len(signs) // 2, LONGEST) + 1):
        differs = np.flatnonzero(signs[:-length] != signs[length:])
        ends = np.concatenate([[-1], differs, [len(signs) - length]])
        widest = int(np.argmax(np.diff(ends)))
        times = int(ends[widest + 1] - ends[widest] - 1) // length + 1
        if times >= (2 if length >= LEAST_LAYERS else LEAST_TIMES):
            yield EqualChains(int(ends[widest]) + 1, length, times)


def _placed(found: EqualChains, signs: np.ndarray, sources: Sequence[Sequence[int]], high: int) -> EqualChains:
    """``found`` where fewest tensors lead from one chain to the next: equal layers may begin before the block does."""
    end, length = found.end, found.length
    while end < high and end < found.end + length - 1 and signs[end] == signs[end - length]:
        end += 1
    starts = range(found.first, found.first + end - found.end + 1)
    return found._replace(first=min(starts, key=lambda start: _crossing_count(sources, start + length)))


def _crossing_count(sources: Sequence[Sequence[int]], border: int) -> int:
    """How many layers before ``border`` are read by layers from there on."""
    return len({source for own in sources[border:] for source in own if source < border})
