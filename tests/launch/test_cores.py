"""How the workers of a host share its cores."""

from __future__ import annotations

import pytest

from netpart.launch.cores import THREAD_VARIABLES, WAIT, cores, shared, threads_of


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*THREAD_VARIABLES, WAIT):
        monkeypatch.delenv(name, raising=False)


def test_each_gets_an_even_share_and_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    assert [threads_of(shared(n)) for n in (1, 3, 8, 20)] == [8, 2, 1, 1]


def test_nobody_waits_actively_beside_others() -> None:
    assert WAIT not in shared(1)
    assert shared(2)[WAIT] == "passive"


def test_what_is_asked_for_goes_before_the_environment_and_that_before_a_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "5")
    assert threads_of(shared(2)) == 5
    assert threads_of(shared(2, 3)) == 3


def test_without_a_word_a_process_takes_all_cores() -> None:
    assert threads_of({}) == threads_of({THREAD_VARIABLES[0]: "many"}) == cores()
