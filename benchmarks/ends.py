"""End: one end of a bridge between two processes, of which one times the answers of the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from netpart.transport.transport import WINDOW, Channel, Transport

SMALL = 1 << 10
"""Bytes of a small message."""
CHANNELS: dict[str, tuple[Channel, int]] = {
    "large": ((1, 0, 0, 0, 0), 0), "small": ((1, 0, 0, 1, 0), 0),
    "large done": ((1, 4, 0, 0, 0), 1), "small back": ((1, 1, 0, 1, 0), 1),
}  # fmt: skip
"""Channel and sender."""
PATIENCE = 60
"""Seconds that a message may take."""


class End:
    """One end: the ``transport`` of rank 0 or 1, bound to ``listen``, and the step of each channel.

    ``address`` is where the peer connects; ``large`` is the bytes of a large message.
    """

    def __init__(self, transport: Transport, large: int, listen: str = "ipc") -> None:
        self.transport, self.steps = transport, dict.fromkeys(CHANNELS, 0)
        nbytes = {"large": large, "small": SMALL, "large done": 0, "small back": SMALL}
        for name, (channel, sender) in CHANNELS.items():
            if sender != transport.rank:
                transport.expect(channel, sender, (nbytes[name],), np.uint8)
        self.address = transport.bind(listen)

    def send(self, name: str, array: Any) -> None:
        """Send the next message of a channel."""
        self.transport.send(CHANNELS[name][0], self.steps[name], 1 - self.transport.rank, array)
        self.steps[name] += 1

    def receive(self, name: str) -> Any:
        """Wait for the next message of a channel."""
        while (array := self.transport.receive(CHANNELS[name][0], self.steps[name])) is None:
            if not self.transport.wait(PATIENCE):
                raise TimeoutError(f"expected a message on {name!r} within {PATIENCE} s; look at the other process")
        self.steps[name] += 1
        return array

    def burst(self, count: int, array: Any) -> None:
        """Send large messages, as many as may be in flight, and wait until all are processed."""
        for i in range(count):
            if i >= WINDOW:
                self.receive("large done")
            self.send("large", array)
        for _ in range(min(count, WINDOW)):
            self.receive("large done")

    def answer(self, address: str, empty: Any, take: Callable[[Any], object] = lambda array: None) -> None:
        """Carry out the requests of the process at ``address``, read from stdin, until stdin ends.

        Answers a "trip" with the same message, and requests of large messages with ``empty``; for "take", first passes
        each message to ``take``.
        """
        print(self.address, flush=True)
        self.transport.connect({0: address})
        for line in sys.stdin:
            what, count = line.split()
            for _ in range(int(count)):
                if what == "trip":
                    self.send("small back", self.receive("small"))
                    continue
                array = self.receive("large")
                if what == "take":
                    take(array)
                self.send("large done", empty)
        self.transport.close()


@contextmanager
def answered(end: End, command: Sequence[str], **options: Any) -> Iterator[Callable[[str, int], None]]:
    """Start the process at the other end, and end it afterwards; yields a function that sends it a request."""
    with end.transport, subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    ) as process:  # fmt: skip
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(what: str, count: int) -> None:
            stdin.write(f"{what} {count}\n")
            stdin.flush()

        end.transport.connect({1: stdout.readline().strip()})
        yield ask
