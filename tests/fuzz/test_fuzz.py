"""The fuzzers find nothing: the same few hundred cases of each, every time. `make fuzz` looks further."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.fuzz.case import FINE, Kind
from tests.fuzz.long import Tally, again, run
from tests.fuzz.names import fuzzer
from tests.fuzz.play import tried, warmed
from tests.thorough import example_count

SEED = 1
CASES = {"jobs": 120, "blocks": 100, "tensors": 400, "lanes": 200, "words": 120, "data": 200, "checkpoints": 100}
"""What takes some seconds of one core."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_answered_or_carried_out(name: str, tmp_path: Path) -> None:
    tally = Tally(name, SEED)
    with closing(fuzzer(name, tmp_path)) as fuzz:
        warmed(fuzz)
        for number in range(example_count(CASES[name])):
            case, outcome = tried(fuzz, name, SEED, number)
            tally.add(number, outcome.kind, case.what, outcome.text)
    assert not tally.failures, "\n\n".join(tally.failures[:5])
    assert all(tally.counts[kind] for kind in FINE), "cases of both kinds, or little is tried"


@pytest.mark.slow
def test_every_way_to_fail_is_counted_and_the_others_are_played() -> None:
    cases = 14
    tally = run("faults", 3, 0, cases, 1)
    assert tally.counts.total() == cases
    assert set(tally.counts) == set(Kind)
    assert len(tally.failures) == cases - sum(tally.counts[kind] for kind in FINE)
    assert all(again(tally, 0).split(" --first")[0] in failure for failure in tally.failures)
