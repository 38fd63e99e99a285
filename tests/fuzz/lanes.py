"""Lanes: memory that two workers of a host share, in which one of them writes what it should not."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from functools import partial
from random import Random

import numpy as np

from netpart.transport.shm import SCHEME, ShmTransport
from tests.fuzz.case import Case, Fuzz
from tests.fuzz.mutate import number
from tests.fuzz.tensors import CHANNELS, RUN, STEPS

WORD = 8
Change = tuple[int, int, bool]
"""A word of the memory, its new value, and if it changes before the peer has looked at it."""


class Lanes(Fuzz):
    """Rank 1 sends to rank 0, in whose memory some words are others."""

    seconds = 5.0

    def sound(self) -> Iterator[Case]:
        yield Case("a lane", partial(self.pass_on, [], True))

    def case(self, draw: Random) -> Case:
        changes = [
            (draw.choice((draw.randrange(64), 512 + draw.randrange(96))), number(draw), draw.random() < 0.5)
            for _ in range(draw.randint(1, 3))
        ]
        return Case(f"words of a lane: {changes}", partial(self.pass_on, changes), ("rank ", "channel "))

    def pass_on(self, changes: list[Change], whole: bool = False) -> None:
        """Sends what was promised, while the memory changes; with ``whole`` it must arrive."""
        with ShmTransport(0, RUN, 2) as here, ShmTransport(1, RUN, 2) as peer:
            for channel, shape in CHANNELS:
                here.expect(channel, 1, shape, np.float32)
            address = here.bind()
            peer.bind()
            with open(address.removeprefix(SCHEME), "r+b") as file:
                memory = mmap.mmap(file.fileno(), os.fstat(file.fileno()).st_size)
            try:
                change(memory, [c for c in changes if c[2]])
                peer.connect({0: address})
                change(memory, [c for c in changes if not c[2]])
                found = [array for step in range(STEPS) for array in passed(here, peer, step)]
            finally:
                memory.close()
        assert not whole or all(array is not None for array in found)


def passed(here: ShmTransport, peer: ShmTransport, step: int) -> list[object]:
    """What arrives of the messages of a step."""
    for channel, shape in CHANNELS:
        peer.send(channel, step, 0, np.ones(shape, np.float32))
    return [here.receive(channel, step) for channel, _ in CHANNELS]


def change(memory: mmap.mmap, changes: list[Change]) -> None:
    """Writes words into the memory."""
    for word, value, _ in changes:
        at = word * WORD
        if at + WORD <= len(memory):
            memory[at : at + WORD] = (value % (1 << 64)).to_bytes(WORD, "little")
