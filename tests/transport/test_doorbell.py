"""Bell: nobody sleeps through news, whoever rings and whenever."""

from __future__ import annotations

import mmap
import threading
from time import monotonic, process_time

import pytest

from netpart.transport.doorbell import COUNT_BITS, Doorbell

DEADLINE = 30.0


def page() -> mmap.mmap:
    return mmap.mmap(-1, mmap.PAGESIZE)


def hear(bell: Doorbell, heard: int) -> None:
    began = monotonic()
    while bell.value == heard:
        assert monotonic() - began < DEADLINE
        bell.wait(heard, DEADLINE)


@pytest.mark.parametrize("spin", [0.0, 1e-3])
def test_every_ring_is_heard(spin: float) -> None:
    """Two threads ring each other in turn: one lost wake-up, and both would sleep until the deadline.

    A ring that was heard before it woke anybody wakes whoever sleeps next; he looks again.
    """
    here, there = page(), page()
    ours, theirs = Doorbell(here, 0, spin), Doorbell(there, 1, spin)
    to_them, to_us = Doorbell(there, 0), Doorbell(here, 1)

    def answer() -> None:
        for value in range(1000):
            hear(theirs, value)
            to_us.ring()

    thread = threading.Thread(target=answer)
    thread.start()
    heard = ours.value
    for _ in range(1000):
        to_them.ring()
        hear(ours, heard)
        heard = ours.value
    thread.join()


def test_a_wait_ends_in_time_and_costs_nothing() -> None:
    bell = Doorbell(page(), 0, 1e-4)
    began, used = monotonic(), process_time()
    bell.wait(bell.value, 0.2)
    assert monotonic() - began >= 0.2
    assert process_time() - used < 0.1


def test_what_rang_before_is_not_waited_for() -> None:
    memory = page()
    bell, heard = Doorbell(memory, 0), Doorbell(memory, 0).value
    Doorbell(memory, 1).ring()
    began = monotonic()
    bell.wait(heard, DEADLINE)
    assert monotonic() - began < DEADLINE


def test_no_two_ringers_write_the_same_value() -> None:
    """One may overwrite the other, and who read any value in between sees another one."""
    memory, seen = page(), set[int]()
    bells = [Doorbell(memory, rank) for rank in range(1, 4)]
    for _ in range(100):
        for bell in bells:
            bell.ring()
            assert bell.value not in seen
            seen.add(bell.value)
    assert {value >> COUNT_BITS for value in seen} == {1, 2, 3}


def test_only_who_sleeps_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, calls = page(), list[tuple[object, ...]]()
    owner, ringer = Doorbell(memory, 0), Doorbell(memory, 1)
    monkeypatch.setattr(ringer, "_futex", lambda *call: calls.append(call))
    ringer.ring()
    assert calls == []
    monkeypatch.setattr(owner, "_futex", lambda *_: ringer.ring())  # somebody rings while the owner sleeps
    owner.wait(owner.value, DEADLINE)
    assert len(calls) == 1
    ringer.ring()
    assert len(calls) == 1
