"""MissedLinks: which two workers of an elastic run do not reach each other, though the coordinator hears both.

One worker waits for another, which may itself wait for a third. So one report proves nothing; a pair that fails again
and again without a snapshot between does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

MISSES = 3
"""So many misses of a pair, and one of the two must go."""
UNREACHED = 2
"""How many misses it counts as if a connection never opened: then it is certain which link it is."""


class Outcast(NamedTuple):
    """The worker on ``seat`` is to leave, as it and the one on seat ``other`` do not reach each other."""

    seat: int
    other: int


class MissedLinks:
    """Misses of pairs of seats since the last snapshot, and the latest ``reasons``."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.reasons: dict[tuple[int, int], str] = {}

    def note(self, seat: int, other: int, unreached: bool, reason: str) -> None:
        """The worker on ``seat`` says that it does not hear or reach the one on seat ``other``."""
        pair = min(seat, other), max(seat, other)
        self.pairs[pair] += UNREACHED if unreached else 1
        self.reasons[pair] = reason

    def outcast(self, newness: Callable[[int], float]) -> Outcast | None:
        """Who is to leave, if a pair has missed often enough: who misses more workers, else who came later, by
        ``newness``."""
        if not self.pairs:
            return None
        pair, misses = self.pairs.most_common(1)[0]
        if misses < MISSES:
            return None
        seat = max(pair, key=lambda seat: (sum(seat in other for other in self.pairs), newness(seat), seat))
        return Outcast(seat, pair[0] if seat == pair[1] else pair[1])

    def reason(self, found: Outcast) -> str:
        """What was said last about the link of a pair."""
        return self.reasons[min(found), max(found)]

    def forget(self, seat: int) -> None:
        """Forget a worker that is gone."""
        for pair in [pair for pair in self.pairs if seat in pair]:
            del self.pairs[pair], self.reasons[pair]

    def clear(self) -> None:
        """Forget all: a snapshot is committed, so all have reached all."""
        self.pairs.clear()
        self.reasons.clear()

    def lines(self, name: Callable[[int], str]) -> list[str]:
        """Who did not reach whom, with the ``name`` of each seat."""
        return [
            f"{name(one)} and {name(other)} do not reach each other: {self.reasons[one, other]}"
            for one, other in self.pairs
        ]
