"""Transfer prices: seconds and bytes of the messages of one output, by the function that prices those of a graph.

Many combinations of choices send the same messages. Each distinct set of messages is priced once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from netpart.graph.graph import Collective
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.held_choice import HeldChoice
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.optimal.message_patterns import SizedCollective, SizedMessage, split_collectives
from netpart.plan.optimal.transfer_bounds import bound_messages
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerEntry, LedgerExchange, LedgerFlow
from netpart.plan.price.transfers import Message, flow_arrivals, transfer_seconds
from netpart.program.buffers import item_size
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.instructions import Channel, Way
from netpart.spec import whole_region

TransferPrice = tuple[float, float, float, float, float, float]
"""Seconds forward and backward, bytes forward and backward, elements if every message is sent by itself, and 1.0 if
addends of all workers are all-reduced."""


@dataclass(frozen=True)
class _Exchanged:
    """Collectives of elements of kind ``dtype``; ``back``: those of their gradients."""

    collectives: tuple[SizedCollective, ...]
    dtype: str
    back: bool


@dataclass(eq=False)
class TransferPricer:
    """Prices messages on ``devices``, with collectives by the algorithms of ``exchanges``."""

    devices: Devices
    exchanges: ExchangeFactory
    links: LinkPrices
    known: dict[tuple[object, ...], TransferPrice] = field(default_factory=dict)
    sent_prices: dict[tuple[object, ...], tuple[float, float]] = field(default_factory=dict)

    def price_rows(self, held: HeldChoice, codes: Array, summed: Array, dtype: str) -> Array:
        """[n, figure]: the prices of the rows of ``MessageRows`` for a choice of their source; ``dtype`` is the kind of
        element."""
        flat = np.concatenate([codes.reshape(len(codes), -1), summed[:, None]], axis=1)
        distinct, which = np.unique(flat, axis=0, return_inverse=True)
        rows = [(row[:-1].reshape(codes.shape[1:]), bool(row[-1])) for row in distinct]
        return np.array([self._price(held, *row, dtype) for row in rows])[which.reshape(-1)]

    def bound_rows(self, held: HeldChoice, codes: Array, summed: Array, dtype: str) -> Array:
        """As ``price_rows``, but seconds that no schedule can beat, and no bytes."""
        replicas = self._price(held, np.zeros(codes.shape[1:], int), True, dtype)[1] if summed.any() else 0.0
        return bound_messages(held, codes, summed * replicas, self.links, item_size(dtype, self.exchanges.width))

    def _price(self, held: HeldChoice, codes: Array, summed: bool, dtype: str) -> TransferPrice:
        """The price of one row."""
        key = held.key, codes.tobytes(), summed, dtype
        if key not in self.known:
            self.known[key] = self._price_row(held, codes, summed, dtype)
        return self.known[key]

    def _price_row(self, held: HeldChoice, codes: Array, summed: bool, dtype: str) -> TransferPrice:
        messages = _row_messages(held.order, codes)
        addends = bool(held.arrays.addends[held.c] > 1)
        single, collectives = split_collectives(messages, held.boxes, addends)
        width = item_size(dtype, self.exchanges.width)
        forward = self._price_flows(
            tuple([(m.source, m.target, m.elements * width) for m in single]),
            _Exchanged(tuple(collectives), dtype, False),
        )
        returned = _Exchanged(tuple([each for each in collectives if each.returned]), dtype, True)
        backward = self._price_flows(
            tuple([(m.target, m.source, m.elements * width) for m in single if m.returned]),
            returned,
            held if summed else None,
        )
        moved = sum(m.elements * (1 + m.returned) for m in messages)
        workers = sum(box is not None for box in held.boxes)
        reduced = (
            addends and not single and [len(c.members) for c in collectives if c.kind == "all-reduce"] == [workers]
        )
        (ahead, there), (back, brought) = forward, backward
        return ahead, back, there, brought, float(moved), float(reduced)

    def _price_flows(
        self, single: tuple[Message, ...], exchanged: _Exchanged, summed: HeldChoice | None = None
    ) -> tuple[float, float]:
        """Seconds and bytes of single messages, of collectives, and of the sums of the gradients of replicas, all sent
        at once. Many rows send the same."""
        key = single, exchanged, summed.key if summed else b""
        if key not in self.sent_prices:
            sums = self._summing_flows(summed) if summed else ()
            self.sent_prices[key] = self._price_all(single, [*self._exchange_flows(exchanged), *sums])
        return self.sent_prices[key]

    def _price_all(self, single: tuple[Message, ...], flows: list[LedgerFlow]) -> tuple[float, float]:
        """Seconds and bytes of single messages and of other ``flows``."""
        if not flows:
            return transfer_seconds(single, self.devices), float(sum(nbytes for _, _, nbytes in single))
        entries = [
            LedgerEntry("", Channel(0, Way.FORWARD, 0, -1 - number), *message) for number, message in enumerate(single)
        ]
        everything = [*entries, *flows]
        return max(flow_arrivals(everything, self.devices)), float(sum(flow.nbytes for flow in everything))

    def _exchange_flows(self, found: _Exchanged) -> Iterator[LedgerFlow]:
        """A flow for each collective."""
        width = item_size(found.dtype, self.exchanges.width)
        for number, each in enumerate(found.collectives):
            blocks = tuple(((0, n),) if n else None for n in each.blocks)
            whole = Collective(each.kind, "", found.dtype, each.members, blocks, each.region, each.returned, 0, 0)
            exchange = self.exchanges.of_collective(whole, found.back)
            yield LedgerExchange("", Channel(0, Way.FORWARD, 0, number), exchange, width)

    def _summing_flows(self, held: HeldChoice) -> Iterator[LedgerFlow]:
        """A flow for the sum of gradients of each class of replicas."""
        for members, box in held.replicas():
            exchange = self.exchanges.summed(members, whole_region(hi - lo for lo, hi in box))
            yield LedgerExchange(
                "", Channel(0, Way.REDUCE, 0, len(held.boxes) + min(members)), exchange, self.exchanges.width
            )


def _row_messages(holders: Sequence[int], codes: Array) -> list[SizedMessage]:
    """The messages of a row in the order in which they arrive; ``holders`` as in ``HeldChoice.order``."""
    workers, order = codes.shape[-1], np.array(holders, np.intp)
    diagonals = np.diagonal(codes, axis1=1, axis2=2)
    # [part, turn]: the targets, in the order in which they are served.
    served = (diagonals % workers).argsort(axis=1, kind="stable")
    taken = np.take_along_axis(codes, served[..., None], axis=1)[..., order]
    places = np.nonzero((taken > 1) & (served[..., None] != order))
    sources, targets, codes_taken = order[places[2]], served[places[:2]], taken[places]
    needs = [
        (*divmod(need // 4, workers), bool(need & 2), bool(need & 1)) for need in (diagonals[0] // workers).tolist()
    ]
    ends = zip(sources.tolist(), targets.tolist(), codes_taken.tolist(), strict=True)
    return [SizedMessage(s, t, code // 2, bool(code & 1), *needs[t]) for s, t, code in ends]
