"""Tensors: frames that arrive at the socket of a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic

import numpy as np
import zmq

from netpart.transport.frames import Array, FrameHeader, pack_header
from netpart.transport.zeromq import ZeroMQTransport
from tests.fuzz.case import Case, Fuzz
from tests.fuzz.mutate import Field, mutated

RUN = b"fuzz-run"
CHANNELS = (((0, 0, 0, 1, 0), (2, 3)), ((0, 1, 0, 2, 0), (4,)), ((1, 0, 2, 3, 1), ()))
"""What is promised: channels, and the shapes of their tensors."""
STEPS = 2
FIELDS: tuple[Field, ...] = (
    (0, "<I"), (4, "<H"), (6, "<Q"), (14, "<B"), (15, "<B"), (16, "<I"), *((20 + 4 * i, "<I") for i in range(5)),
    (40, "<Q"), (48, "<Q"), *((56 + 8 * i, "<Q") for i in range(8)),
)  # fmt: skip
"""The numbers of a header."""
FAR = 25
"""Of so many cases one goes through a socket of the host, as between processes."""
PATIENCE = 30.0
"""Seconds within which a sound case has to arrive, on a machine with other work too."""
Message = list[bytes]
"""The parts of a message of ZeroMQ."""
Awaited = tuple[tuple[int, int, int, int, int], int]
"""A channel and a step."""


def promised() -> Iterator[tuple[FrameHeader, Array]]:
    """What a peer sends that keeps its promises."""
    for step in range(STEPS):
        for i, (channel, shape) in enumerate(CHANNELS):
            array = np.full(shape, 10 * step + i, np.float32)
            yield FrameHeader(1, channel, step, array.dtype, shape), array


class Tensors(Fuzz):
    """A worker that expects tensors, and gets these or others."""

    seconds = 5.0
    what = "tensors"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def close(self) -> None:
        self.context.term()

    def sound(self) -> Iterator[Case]:
        for address in ("inproc", "ipc"):
            yield Case(f"{self.what} over {address}", partial(self.receive, self.messages(), address, True))

    def case(self, draw: Random) -> Case:
        messages, address = self.messages(), "ipc" if draw.randrange(FAR) == 0 else "inproc"
        wrong = self.damaged(messages, draw)
        return Case(f"{self.what} over {address}: {wrong}", partial(self.receive, messages, address), ("rank 0",))

    def messages(self) -> list[Message]:
        """The messages of a peer that keeps its promises."""
        return [[pack_header(header, RUN) + array.tobytes()] for header, array in promised()]

    def receiver(self) -> ZeroMQTransport:
        """The worker's end."""
        return ZeroMQTransport(0, RUN, context=self.context)

    def take(self, transport: ZeroMQTransport, wanted: Sequence[Awaited]) -> list[Awaited]:
        """Takes what has arrived of what is ``wanted``, and returns the others."""
        return [(channel, step) for channel, step in wanted if transport.receive(channel, step) is None]

    def damaged(self, messages: list[Message], draw: Random) -> str:
        """Does something to the messages, and says what."""
        at, way = draw.randrange(len(messages)), draw.random()
        frame = messages[at][0]
        if way < 0.65:
            messages[at] = [mutated(frame, draw, FIELDS)]
            return f"message {at} changed"
        if way < 0.75:
            messages.insert(draw.randrange(len(messages) + 1), [frame])
            return f"message {at} twice"
        if way < 0.85:
            draw.shuffle(messages)
            return "messages in another order"
        if way < 0.9:
            del messages[at]
            return f"message {at} missing"
        if way < 0.95:
            cut = draw.randrange(len(frame))
            messages[at] = [frame[:cut], frame[cut:]]
            return f"message {at} in two parts"
        messages[at] = [frame + bytes(draw.choice((1, 1 << 10, 3 << 20)))]
        return f"message {at} too long"

    def receive(self, messages: Sequence[Message], address: str, whole: bool = False) -> None:
        """Takes in what comes; with ``whole`` it must be what was promised."""
        with self.receiver() as transport:
            for channel, shape in CHANNELS:
                transport.expect(channel, 1, shape, np.float32)
            peer = self.context.socket(zmq.PUSH)
            try:
                peer.connect(transport.bind(address))
                for message in messages:
                    peer.send_multipart(message)
                if address != "inproc":
                    transport.wait(0.05)
                missing = self.take(transport, [(channel, step) for step in range(STEPS) for channel, _ in CHANNELS])
                end = monotonic() + PATIENCE
                while whole and missing and monotonic() < end:
                    transport.wait(0.05)
                    missing = self.take(transport, missing)
            finally:
                peer.close(linger=0)
        assert not (whole and missing), f"expected all tensors within {PATIENCE} s, got none for {missing}"
