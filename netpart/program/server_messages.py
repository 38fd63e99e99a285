"""ServerMessages: the messages between a worker and the servers that keep its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.graph.holdings import Holding, ServerPiece
from netpart.graph.partition import Partition
from netpart.program.buffers import View
from netpart.program.instructions import PHASE_CODES, Channel, Receive, Send, Way
from netpart.spec import contains

TRAIN = PHASE_CODES["train"]
WHOLE_NORM = 1
"""The ``chunk`` of a channel that carries the norm of the gradient, not a piece of the gradient."""


class ServerMessages:
    """The messages of ``worker`` in group ``group`` to and from its servers, as instructions."""

    def __init__(self, partition: Partition, worker: int, group: int) -> None:
        self.partition = partition
        self.worker = worker
        self.group = group

    def push(self, holding: Holding, source: View | None) -> Iterator[Send]:
        """Send this worker's share of the gradient of a holding, or of the values of a running statistic."""
        for piece in self.within(holding):
            if (
                piece.pusher == self.worker
                and source is not None
                and is_pushed(piece, self.partition.trained, self.group)
            ):
                view = source.crop(piece.box, holding.box)
                yield Send(view, piece.server, push_channel(piece, self.group), f"d({piece.parameter.name})")

    def push_norm(self, total: View) -> Iterator[Send]:
        """Send the squared norm of the gradient to every server; only the first worker of the norm does so."""
        if self.partition.norm is not None and self.partition.norm.workers[0] == self.worker:
            for server in range(self.partition.workers - self.partition.servers, self.partition.workers):
                yield Send(total, server, norm_channel(server, self.group), "norm of the gradient")

    def pulls(self, values: Sequence[View], holdings: Sequence[Holding]) -> Iterator[Receive]:
        """Receive the new values from the servers."""
        for value, holding in zip(values, holdings, strict=True):
            for piece in self.within(holding):
                if is_pulled(piece, self.partition.trained):
                    view = value.crop(piece.box, holding.box)
                    channel = pull_channel(piece, self.group, self.worker)
                    yield Receive(view, piece.server, channel, piece.parameter.name)

    def within(self, holding: Holding) -> Iterator[ServerPiece]:
        """The pieces of a holding."""
        for piece in self.partition.pieces:
            if piece.parameter.name == holding.parameter.name and contains(holding.box, piece.box):
                yield piece


def is_pulled(piece: ServerPiece, trained: set[str]) -> bool:
    """True if servers compute new values of a piece: it has a gradient and is not a running statistic."""
    return piece.parameter.name in trained and piece.parameter.spec.running is None


def is_pushed(piece: ServerPiece, trained: set[str], group: int) -> bool:
    """True if ``group`` sends a piece: every gradient, and from group 0 the running statistics, which are kept."""
    return piece.parameter.name in trained and (piece.parameter.spec.running is None or group == 0)


def push_channel(piece: ServerPiece, group: int) -> Channel:
    """The channel on which a group sends a piece of the gradient."""
    return Channel(TRAIN, Way.PUSH, group, piece.number)


def norm_channel(server: int, group: int) -> Channel:
    """The channel on which a group sends a server the norm of its gradient."""
    return Channel(TRAIN, Way.PUSH, group, server, WHOLE_NORM)


def pull_channel(piece: ServerPiece, group: int, worker: int) -> Channel:
    """The channel on which ``worker`` of a group receives the values of a piece."""
    return Channel(TRAIN, Way.PULL, group, piece.number, worker)
