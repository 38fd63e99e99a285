"""Progress: reports reach those who listen, and nobody else."""

from __future__ import annotations

from netpart.progress import listen_to_progress, report_progress, track_items


def test_a_listener_hears_every_item_before_it_is_made() -> None:
    heard: list[str] = []
    with listen_to_progress(heard.append):
        made = [len(heard) for _ in track_items("abc", "letter", 3)]
    assert heard == ["letter 1 of 3", "letter 2 of 3", "letter 3 of 3"]
    assert made == [1, 2, 3]


def test_nobody_hears_after_the_end() -> None:
    heard: list[str] = []
    with listen_to_progress(heard.append):
        pass
    report_progress("something")
    assert list(track_items(iter("ab"), "letter", 5)) == ["a", "b"]
    assert heard == []
