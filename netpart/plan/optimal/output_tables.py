"""Output tables: the transfers of each output of a net, and their tables. Equal outputs share a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from netpart.graph.net import Source
from netpart.plan.optimal.elimination import Scope
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.transfer_tables import OutputReader, TransferTable, transfer_table
from netpart.spec import RECORD

TableKey = tuple[object, ...]
"""What a table depends on."""
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
    """The transfers of outputs between the nodes of ``layers``. ``proved``: no output has more than two readers that
    may be cut differently; with more, what they need is counted once for each. ``versions`` counts by table how often
    it was corrected. Tables that are ``known`` are used, and made for both."""

    def __init__(self, layers: LayerTables, known: OutputTables | None = None) -> None:
        self.layers = layers
        self.proved = True
        self.tables: dict[TableKey, TransferTable] = known.tables if known else {}
        self.versions: Counter[TableKey] = known.versions if known else Counter()
        self.transfers = [found for node in layers.placed_nodes() for found in self._node_transfers(node)]

    def table(self, found: OutputTransfers) -> TransferTable:
        """The table of some transfers."""
        return self.tables[found.key]

    def is_joint(self, found: OutputTransfers) -> bool:
        """True if ``found`` has all readers of its output."""
        return sum((t.node, t.output) == (found.node, found.output) for t in self.transfers) == 1

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
            slots = list(self._slots(Source(n, output)).values()) if spec.dtype != RECORD else []
            self.proved &= len(slots) <= 2
            for group in [slots[:2], *([slot] for slot in slots[2:])] if slots else []:
                yield self._output_transfers(n, output, group)

    def _slots(self, source: Source) -> dict[TableKey, ReaderSlot]:
        """Each reader of ``source`` that may need something else than the others."""
        found: dict[TableKey, ReaderSlot] = {}
        for n in self.layers.placed_nodes():
            for k, read in enumerate(self.layers.net.nodes[n].sources):
                if read == source:
                    found.setdefault((self.layers.leaders[n], self.layers.kinds[n], k), (n, k))
        return found

    def _output_transfers(self, n: int, output: int, slots: list[ReaderSlot]) -> OutputTransfers:
        """The transfers to one reader, or jointly to two."""
        nodes = [n, *(reader for reader, _ in slots)]
        leaders = [self.layers.leaders[node] for node in nodes]
        key = (
            output, tuple(map(self.layers.kind_pair, nodes)), tuple(k for _, k in slots),
            tuple(leaders.index(leader) for leader in leaders),
        )  # fmt: skip
        if key not in self.tables:
            self.tables[key] = _merge_axes(self._transfer_table(n, output, slots), leaders)
        return OutputTransfers(n, output, tuple(dict.fromkeys(leaders)), key)

    def _transfer_table(self, n: int, output: int, slots: list[ReaderSlot]) -> TransferTable:
        """The table of one output with an axis for each reader."""
        layers, net = self.layers, self.layers.net
        readers = [OutputReader(layers.arrays(r), k, net.carries_gradient(net.nodes[r], k)) for r, k in slots]
        # Only labels are whole numbers of another width; they have no gradient.
        width = 4 if net.nodes[n].layer.outputs[output].dtype != "float" else layers.setting.width
        return transfer_table(layers.arrays(n), output, readers, layers.setting.links, width)


def _merge_axes(table: TransferTable, leaders: list[int]) -> TransferTable:
    """``table`` with one axis for each variable, where several layers have the same one."""
    letters = "".join(chr(ord("a") + leaders.index(leader)) for leader in leaders)
    wanted = "".join(dict.fromkeys(letters))
    if letters == wanted:
        return table
    found = (np.einsum(f"{letters}->{wanted}", a) for a in (table.forward, table.backward, table.sent, table.returned))
    return TransferTable(*(np.ascontiguousarray(a) for a in found))
