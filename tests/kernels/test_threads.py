"""Work that is divided among threads is all done, beside each other, and what fails is told."""

from __future__ import annotations

from functools import partial
from threading import Barrier, get_ident

import pytest

from netpart.kernels.threads import VARIABLES, cores, threads_of, together

SECONDS = 30.0


def test_without_a_word_a_process_takes_all_cores() -> None:
    assert threads_of({}) == threads_of({VARIABLES[0]: "many"}) == threads_of({VARIABLES[0]: "0"}) == cores()
    assert threads_of({VARIABLES[0]: "3", VARIABLES[1]: "5"}) == 3


@pytest.mark.parametrize("count", [1, 2])
def test_each_work_has_a_thread_and_the_first_has_this_one(count: int) -> None:
    """All are at work at the same time: each waits for the others."""
    found, all_here = dict[int, int](), Barrier(count, timeout=SECONDS)

    def work(number: int) -> None:
        all_here.wait()
        found[number] = get_ident()

    together([partial(work, number) for number in range(count)])
    assert sorted(found) == list(range(count))
    assert found[0] == get_ident()
    assert len(set(found.values())) == count


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_what_fails_is_told_when_nobody_is_at_work(failing: int) -> None:
    done = []

    def work(number: int) -> None:
        if number == failing:
            raise ValueError(f"work {number}")
        done.append(number)

    with pytest.raises(ValueError, match=f"work {failing}"):
        together([partial(work, number) for number in range(3)])
    assert sorted(done) == sorted({0, 1, 2} - {failing})
