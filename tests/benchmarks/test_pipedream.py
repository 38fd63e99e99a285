"""Plans of PipeDream's optimizer, from benchmarks/results/pipedream.json: netpart's need no more time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.pipedream import NESTED, NETS, RESULTS
from netpart.plan.price.net_profile import read_profile
from netpart.plan.stages.link_levels import LinkLevels
from netpart.plan.stages.pipeline_price import price_pipeline
from netpart.plan.stages.pipeline_stages import search_pipeline
from tests.house.tree import ROOT
from tests.plan.stages.test_pipeline_stages import PROFILES
from tests.thorough import sampled

ROWS: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
HERE = [row for row in ROWS if (PROFILES / f"{row['profile']}.txt").exists()]
EXACT = 1 + 1e-9


@pytest.mark.parametrize("row", sampled(HERE, 7), ids=lambda row: f"{row['profile']}-{row['counts']}")
def test_no_plan_of_pipedream_needs_less_time(row: dict[str, Any]) -> None:
    levels = LinkLevels(tuple(row["counts"]), tuple(row["bandwidths"]))
    profile = read_profile(PROFILES / f"{row['profile']}.txt")
    found = search_pipeline(profile, levels)
    assert found.seconds <= row["needed"] * EXACT
    assert found.seconds == pytest.approx(row["netpart"])
    assert price_pipeline(profile, found, levels) == pytest.approx(found.seconds)


def test_all_profiles_are_compared() -> None:
    assert {row["profile"] for row in ROWS} == set(NETS)
    assert {row["profile"] for row in ROWS if len(row["counts"]) > 1} == set(NESTED)
    assert all(row["netpart"] <= row["needed"] * EXACT for row in ROWS)
    assert sum(row["netpart_takes"] for row in ROWS) < 30


def test_the_page_says_how_many_plans_are_better() -> None:
    better = sum(row["netpart"] * EXACT < row["needed"] for row in ROWS)
    short = sum(row["reported"] * EXACT < row["netpart"] for row in ROWS)
    page = " ".join((ROOT / "docs" / "planning.md").read_text(encoding="utf-8").split())
    assert f"Of {len(ROWS)} plans, netpart's needs less time in {better}, and as much in all others." in page
    assert f"In {short}, PipeDream's optimizer reports less than either needs." in page
