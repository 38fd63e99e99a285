"""Progress: reports reach those who listen, and nobody else."""

from __future__ import annotations

from netpart.progress import listen_to_progress, report_progress, track_items


def test_a_listener_hears_every_item_before_it_is_made() -> None:
    heard: list[tuple[str, float | None]] = []
    with listen_to_progress(lambda *report: heard.append(report)):
        made = [len(heard) for _ in track_items("abcd", "letter")]
    assert heard == [("letter 1 of 4", 0), ("letter 2 of 4", 0.25), ("letter 3 of 4", 0.5), ("letter 4 of 4", 0.75)]
    assert made == [1, 2, 3, 4]


def test_items_that_nobody_has_counted_are_numbered() -> None:
    heard: list[tuple[str, float | None]] = []
    with listen_to_progress(lambda *report: heard.append(report)):
        assert list(track_items(iter("ab"), "letter")) == ["a", "b"]
    assert heard == [("letter 1", None), ("letter 2", None), ("letter 3", None)]


def test_nobody_hears_after_the_end() -> None:
    heard: list[str] = []
    with listen_to_progress(lambda text, _: heard.append(text)):
        pass
    report_progress("something")
    assert list(track_items(iter("ab"), "letter", 5)) == ["a", "b"]
    assert heard == []
