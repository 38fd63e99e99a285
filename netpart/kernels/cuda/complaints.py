"""What kernels find wrong with the data: they cannot raise an error, so they leave a number for whoever looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netpart.errors import DataError
from netpart.kernels.op import Array

ROOM = 32
"""Complaints that share an array, and are fetched at once."""


class Complaints:
    """Device memory for one number of each Op that may complain; 0: nothing is wrong."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.messages: list[Callable[[int], str]] = []
        self.numbers: list[Array] = []

    def add(self, message: Callable[[int], str]) -> Array:
        """Device memory (1,), int32: a number other than 0 there means ``message`` of it."""
        at = len(self.messages) % ROOM
        if at == 0:
            self.numbers.append(self.xp.zeros(ROOM, np.int32))
        self.messages.append(message)
        return self.numbers[-1][at : at + 1]

    def check(self) -> None:
        """Waits for all that was enqueued; raises DataError for the first complaint."""
        found = [int(number) for numbers in self.numbers for number in self.xp.asnumpy(numbers)]
        for number, message in zip(found, self.messages, strict=False):
            if number:
                raise DataError(message(number))
