"""Output tables: the transfers of each output of a net, and their tables. Equal outputs share a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from netpart.graph.net import Source
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.elimination import Scope
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.message_rows import OutputReader, ReaderPart
from netpart.plan.optimal.transfer_tables import ReadOutput, TransferTable, transfer_table
from netpart.spec import RECORD

TableKey = tuple[object, ...]
"""What a table depends on."""
ALL_WANTED: Mapping[TableKey, Array] = {}
"""Of every table all entries are wanted."""
ReaderSlot = tuple[int, int]
"""(node, number of its input)."""


@dataclass(frozen=True)
class OutputTransfers:
    """The transfers of ``output`` of ``node``. Tables have an axis for each variable in ``scope``: the source's, then
    those of readers. Equal outputs share ``key`` and tables."""

    node: int
    output: int
    scope: Scope
    key: TableKey


class OutputTables:
    """The transfers of outputs between the nodes of ``layers``.

    ``joint``: each output has one table with all of its readers. Otherwise each reader has a table of its own; of n
    readers, an n-th of what it would cost to bring the output to that one alone. The sum of these is at most the joint
    price. ``exact``: tables have prices, otherwise seconds that no schedule can beat. ``wanted`` has the entries of a
    table that are to be priced, if not all are; the others are infinite. ``versions`` counts by table how often it was
    corrected.
    """

    def __init__(
        self, layers: LayerTables, joint: bool = True, exact: bool = True, wanted: Mapping[TableKey, Array] = ALL_WANTED
    ) -> None:
        self.layers, self.joint, self.exact, self.wanted = layers, joint, exact, wanted
        self.tables: dict[TableKey, TransferTable] = {}
        self.versions: Counter[TableKey] = Counter()
        self.transfers = [found for node in layers.placed_nodes() for found in self._node_transfers(node)]

    def part(self, layers: LayerTables) -> OutputTables:
        """The transfers between the nodes of ``layers``, some of those of these; tables are made for both."""
        found = copy(self)
        found.layers = layers
        found.transfers = [each for node in layers.placed_nodes() for each in found._node_transfers(node)]
        return found

    def table(self, found: OutputTransfers) -> TransferTable:
        """The table of some transfers."""
        return self.tables[found.key]

    def correct(self, found: OutputTransfers, at: tuple[int, ...], forward: float, backward: float) -> None:
        """Replace the prices of one output for the choices ``at``, wherever equal outputs have these."""
        table = self.tables[found.key]
        if (table.forward[at], table.backward[at]) != (forward, backward):
            made = replace(table, forward=table.forward.copy(), backward=table.backward.copy())
            made.forward[at], made.backward[at] = forward, backward
            self.tables[found.key] = made
            self.versions[found.key] += 1

    def _node_transfers(self, n: int) -> Iterator[OutputTransfers]:
        """The transfers of each output of node ``n`` that others read."""
        for output, spec in enumerate(self.layers.net.nodes[n].layer.outputs):
            slots = self._slots(Source(n, output)) if spec.dtype != RECORD else {}
            groups = [slots] if self.joint else [{leader: found} for leader, found in slots.items()]
            for group in groups if slots else []:
                yield self._output_transfers(n, output, group, len(groups))

    def _slots(self, source: Source) -> dict[int, list[ReaderSlot]]:
        """By variable, the readers of ``source`` that may need something else than the others."""
        found: dict[int, dict[TableKey, ReaderSlot]] = {}
        for n in self.layers.placed_nodes():
            for k, read in enumerate(self.layers.net.nodes[n].sources):
                if read == source:
                    of_leader = found.setdefault(self.layers.leaders[n], {})
                    of_leader.setdefault((self.layers.kinds[n], k), (n, k))
        return {leader: list(slots.values()) for leader, slots in found.items()}

    def _output_transfers(
        self, n: int, output: int, slots: dict[int, list[ReaderSlot]], shares: int
    ) -> OutputTransfers:
        """The transfers to some readers, an equal share of those of the output."""
        leaders = [self.layers.leaders[n], *slots]
        nodes = [[(n, 0)], *slots.values()]
        key = (
            output, tuple(tuple((self.layers.kind_pair(node), k) for node, k in each) for each in nodes),
            tuple(leaders.index(leader) for leader in leaders), shares,
        )  # fmt: skip
        if key not in self.tables:
            wanted = _split_axes(self.wanted[key], leaders) if key in self.wanted else None
            self.tables[key] = _merge_axes(self._transfer_table(n, output, slots, wanted), leaders, shares)
        return OutputTransfers(n, output, tuple(dict.fromkeys(leaders)), key)

    def _transfer_table(
        self, n: int, output: int, slots: dict[int, list[ReaderSlot]], wanted: Array | None
    ) -> TransferTable:
        """The table of one output with an axis for each variable of its readers; ``wanted`` as in
        ``transfer_table``."""
        layers = self.layers
        readers = [OutputReader(tuple(p for slot in each for p in self._parts(*slot))) for each in slots.values()]
        pricer = layers.setting.pricer
        read = ReadOutput(layers.net, layers.arrays(n), output, readers)
        return transfer_table(read, pricer.price_rows if self.exact else pricer.bound_rows, wanted)

    def _parts(self, r: int, k: int) -> Iterator[ReaderPart]:
        """What reads input ``k`` of node ``r``: inner layers, and the layer itself."""
        arrays = self.layers.arrays(r)
        gradient = self.layers.net.carries_gradient(self.layers.net.nodes[r], k)
        for d, inner in enumerate(arrays.inner):
            place = arrays.inner_input(d, k)
            if place is not None:
                yield ReaderPart(inner, place, gradient and inner.node.layer.has_gradient)
        yield ReaderPart(arrays, k, gradient)


def _split_axes(wanted: Array, leaders: list[int]) -> Array:
    """``wanted`` with an axis for each layer, where several layers have the same variable."""
    firsts = [leaders.index(leader) for leader in leaders]
    again = tuple(i for i, first in enumerate(firsts) if first != i)
    shape = [wanted.shape[list(dict.fromkeys(leaders)).index(leader)] for leader in leaders]
    return np.broadcast_to(np.expand_dims(wanted, again), shape)


def _merge_axes(table: TransferTable, leaders: list[int], shares: int) -> TransferTable:
    """A share of ``table`` with one axis for each variable, where several layers have the same one."""
    letters = "".join(chr(ord("a") + leaders.index(leader)) for leader in leaders)
    wanted = "".join(dict.fromkeys(letters))
    found = (np.einsum(f"{letters}->{wanted}", a) for a in (table.forward, table.backward, table.sent, table.returned))
    return TransferTable(*(np.ascontiguousarray(a) / shares for a in found))
