"""Law 8: every planner returns a legal placement within memory, and exact is never worse than a heuristic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.choices import OBJECTIVES
from netpart.errors import ConfigError, MemoryRefused, NetpartError
from netpart.families import PLANNERS
from netpart.graph.build import build_net
from netpart.graph.invariants import check_graph
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import Devices, DeviceSpec
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.predict import predict_memory
from netpart.plan.search.branch_and_bound import MOST
from netpart.plan.search.exact import solve_exactly
from netpart.plan.search.gabra import run_gabra
from netpart.plan.search.greedy import allocate_greedily
from netpart.plan.search.knapsacks import Knapsacks, Plan
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.task import PlanningTask
from netpart.plan.text.write_plan import write_plan
from netpart.proto.reader import Job
from netpart.proto.reader import read_job_text as read
from tests.laws.nets import nets
from tests.thorough import example_count

FEW = 12


@st.composite
def knapsacks(draw: st.DrawFn, most: int = FEW) -> Knapsacks:
    """Any problem, some of them without a legal plan."""
    devices = draw(st.integers(1, 4))
    count = draw(st.integers(devices, most))
    loads = draw(st.lists(st.integers(1, 100), min_size=count, max_size=count))
    speeds = draw(st.lists(st.integers(1, 9), min_size=devices, max_size=devices))
    fill = draw(st.floats(0.5, 1.0))
    capacities = np.array(speeds) / sum(speeds) * sum(loads) / fill
    objective = draw(st.sampled_from(OBJECTIVES))
    return Knapsacks(np.array(loads, float), capacities, np.array(speeds, float), objective)


@settings(max_examples=example_count(60))
@given(problem=knapsacks(), seed=st.integers(0, 9))
def test_allocations_are_legal_and_exact_is_never_worse(problem: Knapsacks, seed: int) -> None:
    try:
        best = solve_exactly(problem, 20).plan
    except ConfigError:
        for heuristic in (allocate_greedily, run_gabra):
            with pytest.raises(NetpartError):
                heuristic(problem)
        return
    assert problem.is_legal(best)
    sign = 1 if problem.objective == "profit" else -1
    heuristics: list[Callable[[], Plan]] = [
        lambda: allocate_greedily(problem),
        lambda: run_gabra(problem, seed, 30).plan,
    ]
    for found in heuristics:
        try:
            plan = found()
        except NetpartError:
            continue
        assert problem.is_legal(plan)
        assert sign * problem.value(best) >= sign * problem.value(plan) - 1e-9 * abs(problem.value(plan))


@st.composite
def filled(draw: st.DrawFn, least: int, most: int) -> tuple[Knapsacks, Plan]:
    """A problem whose devices one plan fills to the last bit, and that plan: with equal loads, or any."""
    devices = draw(st.integers(1, 4))
    count = draw(st.integers(max(devices, least), most))
    plan = np.array([*range(devices), *draw(st.lists(st.integers(0, devices - 1), min_size=count, max_size=count))])
    plan = plan[:count]
    share = st.floats(1e-3, 1.0)
    loads = [draw(share)] * count if draw(st.booleans()) else draw(st.lists(share, min_size=count, max_size=count))
    capacities = np.bincount(plan, loads, devices).astype(float)
    speeds = draw(st.lists(st.integers(1, 9), min_size=devices, max_size=devices))
    return Knapsacks(np.array(loads), capacities, np.array(speeds, float), draw(st.sampled_from(OBJECTIVES))), plan


@pytest.mark.parametrize(
    ("least", "most", "limit", "examples"), [(1, FEW, 20, 40), (MOST + 1, MOST + 8, 0.3, 10)], ids=["few", "many"]
)
def test_exact_never_says_that_there_is_no_plan_where_one_is_known(
    least: int, most: int, limit: float, examples: int
) -> None:
    @settings(max_examples=examples)
    @given(found=filled(least, most))
    def holds(found: tuple[Knapsacks, Plan]) -> None:
        problem, known = found
        assert problem.is_legal(known)
        for start in (None, known):
            try:
                proof = solve_exactly(problem, limit, start)
            except ConfigError as error:
                raise AssertionError(f"it says that there is none: {error}") from error
            except NetpartError:
                continue  # the time did not suffice
            assert problem.is_legal(proof.plan)
            assert start is None or problem.fitness(proof.plan) >= problem.fitness(known)

    holds()


@settings(max_examples=example_count(20))
@given(draw=st.data(), workers=st.integers(1, 3))
def test_proposals_are_placements_within_memory(draw: st.DataObject, workers: int) -> None:
    sketch = draw.draw(nets())
    job = Job(sketch.job, None, "job", "")
    speeds = draw.draw(st.lists(st.sampled_from([1e6, 3e6]), min_size=workers, max_size=workers))
    most = draw.draw(st.sampled_from([float("inf"), 20_000.0, 5_000.0]))
    devices = Devices(tuple(DeviceSpec(f"d{speed:g}", speed, most) for speed in speeds))
    portfolio = Portfolio(job, PlanningTask(profile_net(build_net(job.proto), 8), devices, limit=0.2))
    assert {name for row in portfolio.rows for name in row.name.split(", ")} >= set(PLANNERS.names())
    for proposal in portfolio.proposals:
        if proposal.partition is not None:
            written = read(write_plan(proposal.job, proposal.partition, "the law", job.folder)).proto
            check_graph(partition_by_scheme(written, workers).graph)
            fits = all(need <= most for need in predict_memory(proposal.partition))
            assert fits == (not proposal.row.refused)
    try:
        best = portfolio.best()
    except MemoryRefused:
        assert all(row.refused for row in portfolio.rows)
        return
    assert not best.row.refused
    plain = [r.seconds for r in portfolio.rows if {"one worker", "data"} & set(r.name.split(", ")) and not r.refused]
    assert best.row.seconds <= min(plain, default=float("inf"))
    assert best.partition is not None
    again = read(write_plan(best.job, best.partition, "the law", job.folder)).proto
    assert again.cluster.nworkers_per_group == workers
