"""The feed: a page that was away gets what it missed, or all; what is kept has a bound."""

from __future__ import annotations

import itertools
import json
from math import inf, nan
from typing import Any

from netpart.live.curve_points import MOST_POINTS, MOST_REPEATED, CurvePoints
from netpart.live.run_feed import (
    LOG_LINES,
    LONGEST_LINE,
    MOST_ATTEMPTS,
    MOST_CURVES,
    RECENT_BYTES,
    RunFeed,
    encode_json,
)


def changes(feed: RunFeed, number: int | None) -> list[dict[str, Any]]:
    return [json.loads(text) for _, text in feed.since(number)]


def test_a_new_page_gets_the_state_as_one_change() -> None:
    feed = RunFeed()
    feed.put(run={"steps": 3})
    feed.add_points({"train/loss": (1, 0.5, 2.0)})
    feed.add_points({"train/loss": (2, 0.9, 1.0)})
    feed.update(charts={"0": 1})
    feed.update(charts={"1": 2})
    feed.add_line(1.25, "saved")
    assert changes(feed, None) == [
        {
            "reset": True, "run": {"steps": 3}, "charts": {"0": 1, "1": 2}, "log": [[1.2, "saved", "note"]],
            "curves": {"train/loss": [[1, 0.5, 2.0], [2, 0.9, 1.0]]},
        }
    ]  # fmt: skip


def test_a_page_that_was_away_gets_what_it_missed() -> None:
    feed = RunFeed()
    feed.put(a=1)
    seen = feed.since(None)[-1][0]
    assert feed.since(seen) == []
    feed.put(b=2)
    feed.update(charts={"1": 3})
    assert changes(feed, seen) == [{"b": 2}, {"charts": {"1": 3}}]


def test_one_that_was_away_for_long_gets_all() -> None:
    feed = RunFeed()
    feed.put(a=1)
    seen = feed.since(None)[-1][0]
    for _ in range(6):
        feed.put(large="x" * (RECENT_BYTES // 4))
    (found,) = changes(feed, seen)
    assert found["reset"]
    assert found["a"] == 1
    assert changes(feed, 10**9)[0]["reset"], "a number of another run"


def test_what_is_kept_has_a_bound() -> None:
    feed = RunFeed()
    for number in range(20):
        feed.put(large="x" * (RECENT_BYTES // 3))
        feed.add_line(0, str(number) * 10 * LONGEST_LINE)
    assert sum(len(text) for _, text in feed._recent) <= RECENT_BYTES
    for number in range(2 * LOG_LINES):
        feed.add_line(number, "x")
    for number in range(2 * MOST_CURVES):
        feed.add_points({f"train/{number}": (0, 0.0, 0.0)})
    whole = changes(feed, None)[0]
    assert (len(whole["log"]), len(whole["curves"])) == (LOG_LINES, MOST_CURVES)
    assert max(len(text) for _, text, _ in whole["log"]) <= LONGEST_LINE + 10
    feed.put(large="x" * (2 * RECENT_BYTES))
    assert len(feed._recent) == 1, "the latest change is kept in any case"


def test_a_restart_is_one_change_that_replaces_all() -> None:
    feed = RunFeed()
    feed.put(run={"steps": 9}, positions=[1])
    for step in range(500):
        feed.add_points({"train/loss": (step, 0.0, 0.0)})
    seen = feed.since(None)[-1][0]
    for number in range(2 * MOST_ATTEMPTS):
        feed.restart(200 - number, number=number)
    assert all(change["reset"] for change in changes(feed, seen))
    whole = changes(feed, None)[0]
    assert [attempt["number"] for attempt in whole["attempts"]] == list(range(MOST_ATTEMPTS, 2 * MOST_ATTEMPTS))
    assert "positions" not in whole
    assert whole["curves"]["train/loss"][-1][0] == 200 - 2 * MOST_ATTEMPTS + 1


def test_a_cut_curve_gives_back_what_it_drops() -> None:
    curve = CurvePoints()
    for step in range(900):
        curve.add((step, 0.0, 0.0))
    dropped = curve.cut(499)
    assert len(dropped) <= MOST_REPEATED + 1
    assert (dropped[0][0], dropped[-1][0], curve.points[-1][0]) == (499, 899, 499)
    assert curve.cut(1000) == []
    assert [point[0] for point in curve.cut(-1)][:1] == [0]
    assert curve.points == []
    assert curve.latest is None


def test_a_long_curve_keeps_its_ends_and_evenly_spaced_points() -> None:
    curve = CurvePoints()
    for step in range(10 * MOST_POINTS + 3):
        curve.add((step, float(step), 0.0))
        assert len(curve.points) <= MOST_POINTS
    steps = [step for step, _, _ in curve.points]
    assert (steps[0], steps[-1]) == (0, 10 * MOST_POINTS + 2)
    assert len({later - earlier for earlier, later in itertools.pairwise(steps[:-1])}) == 1


def test_numbers_that_json_does_not_have_become_null() -> None:
    assert encode_json({"a": [nan, 1.0, {"b": inf}]}) == '{"a": [null, 1.0, {"b": null}]}'.replace(" ", "")


def test_each_change_wakes_the_server() -> None:
    feed, woken = RunFeed(), list[int]()
    feed.wake = lambda: woken.append(1)
    feed.put(a=1)
    feed.add_points({})
    feed.add_line(0, "")
    feed.update(charts={})
    assert len(woken) == 4
