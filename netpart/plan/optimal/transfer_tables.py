"""Transfer tables: what it costs to bring an output of a layer to its readers, for many choices of all of them.

Addends may be brought to their readers directly or through a total, as the pass ``totals`` decides: the way that moves
fewer elements is taken, unless the addends are all-reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from netpart.graph.net import Net
from netpart.graph.passes.totals import FEWEST, build_total_node, even_placement
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.plan.optimal.held_choice import HeldChoice
from netpart.plan.optimal.message_rows import OutputReader, ReaderPart, message_rows

RowPricer = Callable[[HeldChoice, Array, Array, str], Array]
"""Prices rows [n, figure] from a choice of the source, codes [n, part, t, s], summed [n] and the kind of element."""
SECONDS, ELEMENTS, ALL_REDUCED = slice(0, 4), 4, 5
"""Places in a ``TransferPrice``: its seconds and bytes, its elements, its last flag."""
FIGURES = 6
"""Figures of a ``TransferPrice``."""


@dataclass(frozen=True)
class TransferTable:
    """Seconds and bytes forward and backward, with an axis for the choices of the source and of each reader."""

    forward: Array
    backward: Array
    sent: Array
    returned: Array


@dataclass(frozen=True)
class ReadOutput:
    """Output ``output`` of a layer of ``net``, with the choices of the layer and its ``readers``. A total, which is not
    in the net, has the ``element`` of what it sums."""

    net: Net
    source: ChoiceArrays
    output: int
    readers: Sequence[OutputReader]
    element: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of choices of the layer, and of each reader."""
        return len(self.source.placements), *(len(reader.classes[1]) for reader in self.readers)

    @property
    def dtype(self) -> str:
        """The kind of its elements. Inner layers, which are not in the net, make statistics and figures."""
        layer, index = self.source.node.layer, self.source.node.index
        known = self.element if layer.may_be_rounded else layer.outputs[self.output].dtype
        return known or self.net.element(index, self.output)


def transfer_table(read: ReadOutput, pricer: RowPricer, wanted: Array | None = None) -> TransferTable:
    """The table of an output over the choices of its layer and of its readers; infinite seconds for what is not
    ``wanted``."""
    every = np.ones(read.shape, bool) if wanted is None else wanted
    found = _price_choices(read, pricer, every)
    summed = np.flatnonzero(read.source.addends > 1)
    if len(summed):
        found[summed] = _with_totals(read, summed, found[summed], pricer, every[summed])
    forward, backward, sent, returned = np.moveaxis(found[..., SECONDS], -1, 0)
    return TransferTable(np.where(every, forward, np.inf), backward, sent, returned)


def _price_choices(read: ReadOutput, pricer: RowPricer, wanted: Array) -> Array:
    """[c, r, ..., figure]: the price of each combination of choices that is ``wanted``, without totals."""
    regions = read.source.regions(read.output)
    axes = np.ix_(*(reader.classes[1] for reader in read.readers))
    found = [_price_choice(read, c, regions[c], pricer, wanted[c])[axes] for c in range(len(regions))]
    return np.stack(found)


def _price_choice(read: ReadOutput, c: int, regions: Array, pricer: RowPricer, wanted: Array) -> Array:
    """[u, ..., figure]: the prices of one choice of the source, by the classes of the readers; 0 for those of which
    none is ``wanted``."""
    rows = message_rows(read.source, c, regions, read.readers)
    shape, codes = rows.summed.shape, rows.codes.reshape(rows.summed.size, *rows.codes.shape[-3:])
    of_class = np.zeros(shape, bool)
    of_class[tuple(r.classes[1][at] for r, at in zip(read.readers, np.nonzero(wanted), strict=True))] = True
    chosen = np.flatnonzero(of_class)
    found = np.zeros((rows.summed.size, FIGURES))
    if len(chosen):
        held = HeldChoice(read.source, c, regions)
        found[chosen] = pricer(held, codes[chosen], rows.summed.reshape(-1)[chosen], read.dtype)
    return found.reshape(*shape, -1)


def _with_totals(read: ReadOutput, summed: Array, direct: Array, pricer: RowPricer, wanted: Array) -> Array:
    """``direct``, the prices of the choices ``summed``, with those through totals where these are taken."""
    masks, which = _reading_workers(read)
    workers = [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
    enough = [len(found) >= FEWEST for found in workers]
    if not any(enough):
        return direct
    total = _total_arrays(read, [w for w, able in zip(workers, enough, strict=True) if able])
    number = np.cumsum(enough) - 1
    addends = ChoiceArrays(read.source.node, [read.source.placements[c] for c in summed], read.source.workers)
    returns = any(part.gradient for reader in read.readers for part in reader.parts)
    into = OutputReader((ReaderPart(total, 0, returns),))
    scattered = ReadOutput(read.net, addends, 0, [into], read.dtype)
    scatter = _price_choices(scattered, pricer, np.ones(scattered.shape, bool))
    # A combination of readers has one total.
    of_total = np.stack([wanted.any(axis=0) & (number[which] == t) for t in range(sum(enough))])
    gather = _price_choices(ReadOutput(read.net, total, 0, read.readers, read.dtype), pricer, of_total)
    places = number[which], *np.indices(which.shape)
    through = scatter[:, number[which]] + gather[places]
    fewer = (through[..., ELEMENTS] < direct[..., ELEMENTS]) & (direct[..., ALL_REDUCED] == 0)
    return np.where((fewer & np.asarray(enough)[which])[..., None], through, direct)


def _reading_workers(read: ReadOutput) -> tuple[Array, Array]:
    """The distinct sets of workers that read [number, w], and the number of that of each combination of choices."""
    count = len(read.readers)
    masks = np.zeros((1,) * count + (read.source.workers,), bool)
    for i, reader in enumerate(read.readers):
        reads = np.any([part.arrays.classes >= 0 for part in reader.parts], axis=0)
        masks = masks | np.expand_dims(reads, tuple(j for j in range(count) if j != i))
    found, which = np.unique(masks.reshape(-1, masks.shape[-1]), axis=0, return_inverse=True)
    return found, which.reshape(masks.shape[:-1])


def _total_arrays(read: ReadOutput, workers: Sequence[Sequence[int]]) -> ChoiceArrays:
    """The total of the source on each of some sets of workers."""
    node = read.source.node
    placements = [even_placement(node.layer.output.shape, each) for each in workers]
    return ChoiceArrays(build_total_node(read.net, node), placements, read.source.workers)
