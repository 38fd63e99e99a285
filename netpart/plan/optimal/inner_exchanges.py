"""Inner exchanges: what the inner layers of an expanded layer send to its parts, and to inner layers after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netpart.graph.net import Net
from netpart.plan.optimal.choice_arrays import ChoiceArrays
from netpart.plan.optimal.message_rows import OutputReader, ReaderPart
from netpart.plan.optimal.transfer_prices import TransferPricer
from netpart.plan.optimal.transfer_tables import ReadOutput, transfer_table


class ExchangePrice(NamedTuple):
    """Seconds forward and backward, and bytes in both directions."""

    forward: float
    backward: float
    sent: float


def inner_exchanges(net: Net, arrays: ChoiceArrays, c: int, pricer: TransferPricer) -> ExchangePrice:
    """The price of all exchanges within choice ``c`` of a layer of ``net``."""
    tables = [transfer_table(read, pricer.price_rows) for read in _inner_outputs(net, arrays.only(c))]
    return ExchangePrice(
        sum(float(table.forward.sum()) for table in tables),
        sum(float(table.backward.sum()) for table in tables),
        sum(float((table.sent + table.returned).sum()) for table in tables),
    )


def _inner_outputs(net: Net, arrays: ChoiceArrays) -> Iterator[ReadOutput]:
    """The output of each inner layer, with all that read it."""
    inner, node = arrays.inner, arrays.node
    for d, source in enumerate(inner):
        number = len(node.sources) + d
        gradient = net.trained[node.index] and source.node.layer.has_gradient
        later = [
            ReaderPart(inner[i], place, gradient)
            for i in range(d + 1, len(inner))
            if (place := arrays.inner_input(i, number)) is not None
        ]
        yield ReadOutput(net, source, 0, [OutputReader((*later, ReaderPart(arrays, number, gradient)))])
