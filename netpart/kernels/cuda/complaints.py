"""Complaints: errors in the data that kernels find. A kernel cannot raise, so it writes a number for the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netpart.errors import DataError
from netpart.kernels.op import Array

ROOM = 32
"""The number of complaints that share an array, which is fetched as a whole."""


class Complaints:
    """Device memory with a number for each Op that may find an error; 0: none found."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.messages: list[Callable[[int], str]] = []
        self.numbers: list[Array] = []

    def add(self, message: Callable[[int], str]) -> Array:
        """Device memory (1,), int32, for a kernel; ``message`` makes the error text of a number other than 0 there."""
        at = len(self.messages) % ROOM
        if at == 0:
            self.numbers.append(self.xp.zeros(ROOM, np.int32))
        self.messages.append(message)
        return self.numbers[-1][at : at + 1]

    def check(self) -> None:
        """Wait for all enqueued work; raise DataError for the first complaint."""
        found = [int(number) for numbers in self.numbers for number in self.xp.asnumpy(numbers)]
        for number, message in zip(found, self.messages, strict=False):
            if number:
                raise DataError(message(number))
