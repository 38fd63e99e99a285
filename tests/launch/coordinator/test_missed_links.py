"""MissedLinks: of two workers that do not reach each other one must go, and it is said which."""

from __future__ import annotations

from netpart.launch.coordinator.missed_links import MissedLinks, Outcast


def newness(seat: int) -> float:
    return {4: 10.0}.get(seat, 0.0)


def test_one_miss_proves_nothing() -> None:
    missed = MissedLinks()
    assert missed.outcast(newness) is None
    missed.note(0, 1, False, "waited 8 s")
    missed.note(1, 2, False, "waited 8 s")
    missed.note(2, 0, False, "waited 8 s")
    assert missed.outcast(newness) is None


def test_of_a_pair_the_one_that_came_later_goes() -> None:
    for one, other in ((1, 4), (4, 1)):
        missed = MissedLinks()
        for _ in range(3):
            missed.note(one, other, False, "waited 8 s")
        found = missed.outcast(newness)
        assert found == Outcast(4, 1)
        assert missed.reason(found) == "waited 8 s"


def test_who_misses_more_workers_goes() -> None:
    missed = MissedLinks()
    for other in (1, 4, 4, 4):
        missed.note(0, other, False, "waited 8 s")
    assert missed.outcast(newness) == Outcast(0, 4)


def test_a_connection_that_never_opened_is_believed_sooner() -> None:
    missed = MissedLinks()
    missed.note(0, 1, True, "cannot reach")
    assert missed.outcast(newness) is None
    missed.note(1, 0, True, "cannot reach")
    assert missed.outcast(newness) == Outcast(1, 0)


def test_who_is_gone_is_forgotten_and_a_snapshot_clears_all() -> None:
    missed = MissedLinks()
    missed.note(0, 1, True, "cannot reach")
    missed.note(1, 2, True, "cannot reach")
    missed.forget(0)
    assert missed.lines("worker {}".format) == ["worker 1 and worker 2 do not reach each other: cannot reach"]
    missed.clear()
    assert missed.lines(str) == []
