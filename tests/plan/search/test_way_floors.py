"""Way floors: what is not rewritten is slower than the plan that is chosen, and is rewritten when it is taken."""

from __future__ import annotations

from math import inf

import pytest

from netpart.collectives.network import LinkCost
from netpart.families import SCHEMES
from netpart.graph.build import build_net
from netpart.graph.graph import BRIDGE_DST
from netpart.graph.partition import Partition
from netpart.plan.partition import SchemePlacer, partition_by_scheme
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.part_prices import CountedPrices
from netpart.plan.price.step_floor import floor_model
from netpart.plan.search import way_floors
from netpart.plan.search.planned_job import clear_plan_fields
from netpart.plan.search.planners import OPTIMAL
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.proposal import Proposal, ProposalRow
from netpart.plan.search.task import PlanningTask
from netpart.plan.search.way_floors import SECONDS_PER_MESSAGE, Way, WayChoice, WayFloor
from netpart.proto.reader import Job, read_job
from netpart.resources import zoo_folder

LINKS = {"fast": LinkCost(1e-6, 1e-6, 1e10), "slow": LinkCost(40e-6, 10e-6, 1e8)}


def make_portfolio(name: str, link: LinkCost, floors: bool, memory: float = float("inf")) -> Portfolio:
    job: Job = read_job(zoo_folder() / f"{name}.conf")
    devices = equal_devices(4, 2e10, memory, link)
    task = PlanningTask(profile_net(build_net(job.proto, "train", job.folder), 4), devices, limit=20)
    return Portfolio(job, task, micro_batches=1, floors=floors)


def named(portfolio: Portfolio) -> dict[str, Proposal]:
    return {name: p for p in portfolio.proposals for name in p.row.name.split(", ")}


@pytest.mark.parametrize("link", LINKS)
def test_floors_hide_no_faster_plan(link: str) -> None:
    quick, slow = (make_portfolio("mlp/column-row", LINKS[link], floors) for floors in (True, False))
    # The search for OPTIMAL ends by a clock.
    others = [p.row.seconds for name, p in named(slow).items() if name != OPTIMAL]
    assert quick.best().row.seconds <= min(others)
    omitted = {name: p.row for name, p in named(quick).items() if p.row.is_floor}
    assert omitted
    for name, row in omitted.items():
        assert quick.best().row.seconds <= row.seconds <= named(slow)[name].row.seconds


def test_a_plan_that_is_taken_is_rewritten() -> None:
    quick, slow = (make_portfolio("mlp/column-row", LINKS["slow"], floors) for floors in (True, False))
    name = next(name for name, p in named(quick).items() if p.row.is_floor)
    taken = quick.find_proposal(name)
    assert taken.partition is not None
    assert taken.row.seconds == named(slow)[name].row.seconds
    assert taken.row in quick.rows


def test_floors_choose_a_plan_that_fits() -> None:
    rows = make_portfolio("mlp/column-row", LINKS["fast"], False).rows
    least = min(max(row.memory) for row in rows if row.usable)
    tight = make_portfolio("mlp/column-row", LINKS["fast"], True, least)
    assert max(tight.best().row.memory) <= least


def test_no_way_is_begun_that_would_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(way_floors, "process_time", lambda: clock[0])
    job = read_job(zoo_folder() / "mlp/column-row.conf")

    def work_six_seconds(name: str, way: Way, _limit: float) -> Proposal:
        clock[0] += 6
        return Proposal(ProposalRow(name, way[1], seconds=5.0), job)

    floors = [WayFloor(job, (lambda _net, _workers: [], n), n / 10, 0, (n, (), ())) for n in range(4)]
    for ends, tried in ((10.0, 1), (12.0, 2), (13.0, 2), (100.0, 4)):
        clock[0] = 0.0
        choice = WayChoice(work_six_seconds, ends=ends)
        assert choice.choose("some", floors).row.seconds == 5.0
        assert len(choice.tried) == tried


def tried_ways(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], counts: list[float], fastest: float = inf
) -> tuple[list[int], Proposal]:
    """The ways that are tried of those with so many least seconds, whose messages take so many seconds to rewrite, if
    there are 10; and what is chosen. A step of each takes 5 seconds."""
    job = read_job(zoo_folder() / "mlp/column-row.conf")
    tried: list[int] = []

    def note_way(name: str, way: Way, _limit: float) -> Proposal:
        tried.append(way[1])
        return Proposal(ProposalRow(name, way[1], seconds=5.0), job)

    monkeypatch.setattr(way_floors, "process_time", lambda: 0.0)
    ways = enumerate(zip(seconds, counts, strict=True))
    floors = [
        WayFloor(job, (lambda _net, _workers: [], n), least, 0, (n, (), ()), round(each / SECONDS_PER_MESSAGE))
        for n, (least, each) in ways
    ]
    choice = WayChoice(note_way, ends=10.0, span=10.0, fastest=fastest)
    return tried, choice.choose("some", floors)


def test_no_way_is_begun_whose_messages_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, _ = tried_ways(monkeypatch, [0.0, 1.0, 2.0], [0.0, 9.0, 11.0])
    assert tried == [0, 1]


@pytest.mark.parametrize("fastest", [6.0, inf])
def test_a_way_with_too_many_messages_hides_no_other(monkeypatch: pytest.MonkeyPatch, fastest: float) -> None:
    tried, chosen = tried_ways(monkeypatch, [1.0, 2.0], [20.0, 0.0], fastest)
    assert tried == [1]
    assert chosen.row.usable
    assert chosen.row.seconds == 5.0


def test_of_ways_that_are_not_tried_the_least_floor_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, chosen = tried_ways(monkeypatch, [7.0, 1.0], [0.0, 20.0], 6.0)
    assert not tried
    assert chosen.row.is_floor
    assert chosen.row.seconds == 1.0


def test_ways_with_too_many_messages_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make_portfolio("mlp/column-row", LINKS["fast"], True)
    fastest = plain.best().row.name
    # As if there were a thousand times the workers.
    monkeypatch.setattr(way_floors, "SECONDS_PER_MESSAGE", 1e3)
    short = make_portfolio("mlp/column-row", LINKS["fast"], True)
    chosen = short.best()
    assert chosen.row.name != fastest
    assert count_kind(chosen.partition, BRIDGE_DST) == 0
    assert named(short)[fastest.split(", ")[0]].row.is_floor


@pytest.mark.parametrize(
    ("scheme", "least"), [("NAIVE", 0.9), ("GATHER_SCATTER", 0.9), ("COLUMN_ROW", 0.4), ("ONE_WEIRD_TRICK", 0.9)]
)
@pytest.mark.parametrize("name", ["mnist/conv", "resnet/resnet18-small", "gpt/tiny"])
def test_messages_are_about_the_bridges_of_a_rewrite(name: str, scheme: str, least: float) -> None:
    """Those of totals, which the rewrite inserts where columns and rows alternate, are not counted."""
    job = clear_plan_fields(read_job(zoo_folder() / f"{name}.conf"))
    workers = 16
    cut = partition_by_scheme(job.proto, workers, job.folder, scheme, phases=("train",), compact=True)
    placer = SchemePlacer(job.proto, workers, job.folder, scheme, SCHEMES.get(scheme, at=()), 0)
    net = build_net(job.proto, "train", job.folder)
    model = floor_model(net, placer(net), equal_devices(workers, 1.0), CountedPrices(), 4)
    assert least <= model.missing.message_count() / count_kind(cut, BRIDGE_DST) <= 1.1


def count_kind(cut: Partition | None, kind: str) -> int:
    assert cut is not None
    return sum(part.kind == kind for part in cut.phases["train"][0].graph.parts)


def test_a_plan_that_is_noted_bounds_the_others() -> None:
    job = read_job(zoo_folder() / "mlp/column-row.conf")
    choice = WayChoice(lambda *_: pytest.fail("a slower way is tried"))
    choice.note(ProposalRow("as written", seconds=1.0))
    found = choice.choose("some", [WayFloor(job, (lambda _net, _workers: [], 1), 2.0, 0, (1, (), ()))])
    assert found.row.is_floor
    assert found.row.seconds == 2.0
