"""Sealed links against plain ones: goals are compared with the right figures."""

from __future__ import annotations

from benchmarks.sealing import rows


def test_goals_are_of_sealed_links_alone() -> None:
    streamed, slow = {"plain": 1.0, "sealed": 1.25, "curve": 3.0}, {"plain": 1.0, "sealed": 1.005}
    found = {row.work: row for row in rows({"streamed": streamed, "at 1 Gb/s": slow})}
    assert {name: row.missed for name, row in found.items()} == {
        "messages of 64 MiB, streamed, sealed": True,
        "messages of 64 MiB, streamed, curve": False,
        "messages of 8 MiB, at 1 Gb/s, sealed": False,
    }
