"""A player of schedules: all members in one process, in rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from netpart.collectives import Schedule

Arrays = dict[int, npt.NDArray[np.float64]]
Play = Callable[[Schedule, Arrays], Arrays]


@pytest.fixture(scope="session")
def play() -> Play:
    """Plays a schedule on one flat array per member and returns the arrays it leaves."""

    def play(schedule: Schedule, arrays: Arrays) -> Arrays:
        arrays = {member: array.copy() for member, array in arrays.items()}
        for i in range(len(next(iter(schedule.values())))):
            sent = {
                (member, steps[i].send_to): arrays[member][slice(*steps[i].send)].copy()
                for member, steps in schedule.items()
            }
            for member, steps in schedule.items():
                into = arrays[member][slice(*steps[i].receive)]
                into[...] = sent[steps[i].receive_from, member] + (into if steps[i].add else 0)
        return arrays

    return play
