"""Stages: PipeDream's programme finds what trying all finds, and on its profiles what its own optimizer found."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import ceil, inf
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import ConfigError, MemoryRefused
from netpart.plan.price.net_profile import LayerProfile, NetProfile, read_profile
from netpart.plan.search.pipelines import pipeline_memory
from netpart.plan.stages import pipeline_stages
from netpart.plan.stages.link_levels import LinkLevels, flat_levels
from netpart.plan.stages.pipeline_price import price_pipeline
from netpart.plan.stages.pipeline_stages import (
    Pipeline,
    PipelineStage,
    best_pipeline,
    data_parallel_seconds,
    search_pipeline,
)
from netpart.plan.stages.stage_search import MemoryBudget
from tests.thorough import example_count, sampled

PROFILES = Path(__file__).parents[2] / "data" / "pipedream"
ORACLE = [
    ("vgg16", 2, "1-1", 0.411042), ("vgg16", 4, "3-1", 0.205521), ("vgg16", 8, "7-1", 0.103833),
    ("vgg16", 16, "13-2-1", 0.05653), ("resnet18", 2, "2", 0.176629), ("resnet18", 4, "4", 0.100004),
    ("resnet18", 8, "5-3", 0.050783), ("resnet18", 16, "9-4-3", 0.02569),
]  # fmt: skip
"""What PipeDream's optimizer answers."""


def chain(seed: int, length: int) -> NetProfile:
    random = np.random.default_rng(seed)
    figures = random.uniform([0, 0, 0, 0], [1, 2, 2, 4], (length, 4)).tolist()
    layers = tuple(LayerProfile(f"l{i}", "Linear", *row) for i, row in enumerate(figures))
    return NetProfile(layers, tuple((i, i + 1) for i in range(length - 1)))


def best_of_all(profile: NetProfile, workers: int, bandwidth: float, room: float = inf) -> float:
    """The seconds of the fastest pipeline: every last stage, before every pipeline of what is left, of any number of
    workers. With momentum no worker takes more than ``room``."""
    layers = profile.layers

    @cache
    def seconds(end: int, behind: int, left: int) -> float:
        if not end:
            return 0.0 if not left else inf
        found = [inf]
        for start in range(end):
            for replicas in range(1, left + 1):
                work = sum(layer.work for layer in layers[start:end])
                parameters = sum(layer.parameters for layer in layers[start:end])
                activations = sum(layer.activation for layer in layers[start:end])
                versions = ceil((behind + replicas) / replicas)
                if versions * (parameters + activations / replicas) + 2 * parameters > room:
                    continue
                stage = (work + 4 * (replicas - 1) * parameters / (bandwidth * replicas)) / replicas
                moves = [layers[start - 1].activation if start else 0.0]
                moves += [layers[end - 1].activation if end < len(layers) else 0.0]
                stage = max(stage, 2 * max(moves) / (bandwidth * replicas))
                found.append(max(stage, seconds(start, behind + replicas, left - replicas)))
        return min(found)

    return min(seconds(len(layers), 0, used) for used in range(1, workers + 1))


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 12), workers=st.integers(1, 6), bandwidth=st.floats(0.2, 20))
def test_no_pipeline_of_a_chain_is_faster(seed: int, length: int, workers: int, bandwidth: float) -> None:
    profile = chain(seed, length)
    found = best_pipeline(profile, workers, bandwidth)
    assert found.seconds == pytest.approx(best_of_all(profile, workers, bandwidth))
    assert found.workers == tuple(range(len(found.workers)))
    assert len(found.workers) <= workers
    assert [i for stage in found.stages for i in stage.layers] == list(range(length))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6), length=st.integers(1, 8), workers=st.integers(1, 5), bandwidth=st.floats(0.2, 20),
    room=st.floats(5, 80),
)  # fmt: skip
def test_no_pipeline_that_fits_the_workers_is_faster(
    seed: int, length: int, workers: int, bandwidth: float, room: float
) -> None:
    profile = chain(seed, length)
    best = best_of_all(profile, workers, bandwidth, room)
    if best == inf:
        with pytest.raises(MemoryRefused, match="no cut into stages for"):
            best_pipeline(profile, workers, bandwidth, MemoryBudget(room))
        return
    found = best_pipeline(profile, workers, bandwidth, MemoryBudget(room))
    assert found.seconds == pytest.approx(best)
    assert max(pipeline_memory(profile, found)) <= room


@pytest.mark.parametrize(("name", "workers", "replicas", "seconds"), ORACLE)
def test_it_answers_as_pipedream_does(name: str, workers: int, replicas: str, seconds: float) -> None:
    profile = read_profile(PROFILES / f"{name}.txt")
    found = best_pipeline(profile, workers, 1e9)
    assert found.seconds == pytest.approx(seconds, abs=1e-6)
    assert found.replicas == replicas
    assert price_pipeline(profile, found, flat_levels(workers, 1e9)) == pytest.approx(found.seconds)


def best_of_all_workers(profile: NetProfile, levels: LinkLevels) -> float:
    """The seconds of the fastest pipeline, over all cuts of a chain and all workers of each stage."""
    length, found = len(profile.layers), inf
    for bits in range(2 ** (length - 1)):
        bounds = [0, *(i + 1 for i in range(length - 1) if bits >> i & 1), length]
        for of_worker in product(range(len(bounds)), repeat=levels.workers):
            # The last number is that of idle workers.
            workers = [tuple(w for w, k in enumerate(of_worker) if k == stage) for stage in range(len(bounds) - 1)]
            if all(workers):
                runs = zip(pairwise(bounds), workers, strict=True)
                stages = tuple(PipelineStage(tuple(range(*run)), len(some), some) for run, some in runs)
                found = min(found, price_pipeline(profile, Pipeline(stages, 0.0), levels))
    return found


@pytest.mark.parametrize("counts", sampled([pytest.param(counts) for counts in ((2, 2), (2, 1, 2), (3, 2))], 3))
@settings(max_examples=example_count(12))
@given(seed=st.integers(0, 10**6), length=st.integers(1, 3))
def test_no_pipeline_on_any_workers_of_hosts_is_faster(counts: tuple[int, ...], seed: int, length: int) -> None:
    levels = LinkLevels(counts, (8.0, 2.0, 1.0)[: len(counts)])
    found = search_pipeline(chain(seed, length), levels)
    assert found.seconds == pytest.approx(best_of_all_workers(chain(seed, length), levels))


def test_resnet18_on_four_hosts_of_four_workers() -> None:
    """PipeDream's optimizer reports 23.5 ms, for a plan that needs 42.1 ms."""
    profile, levels = read_profile(PROFILES / "resnet18.txt"), LinkLevels((4, 4), (10e9, 1.25e9))
    found = search_pipeline(profile, levels)
    assert found.seconds == pytest.approx(0.0228357, rel=1e-5)
    assert price_pipeline(profile, found, levels) == pytest.approx(found.seconds)


def test_many_hosts_have_a_pipeline_as_fast_as_one_host_repeated() -> None:
    profile = chain(4, 12)
    levels = LinkLevels((4, 8), (20.0, 4.0))
    found = search_pipeline(profile, levels)
    assert price_pipeline(profile, found, levels) == pytest.approx(found.seconds)
    assert found.seconds <= best_pipeline(profile, 32, 4.0).seconds
    assert found.seconds <= search_pipeline(profile, LinkLevels((4, 1), (20.0, 4.0), copies=8)).seconds


def test_what_the_first_stage_sends_counts_at_its_end_too() -> None:
    """PipeDream's optimizer takes 4-10-2 for 18.9 ms, as it omits what the four replicas of the first stage send."""
    profile = read_profile(PROFILES / "vgg16.txt")
    layers = tuple(range(len(profile.layers)))
    four = PipelineStage(layers[:5], 4, (0, 1, 2, 3))
    ten = PipelineStage(layers[5:], 10, tuple(range(4, 14)))
    sent = 2 * profile.layers[4].activation / (4 * 1e7)
    assert price_pipeline(profile, Pipeline((four, ten), 0.0), flat_levels(14, 1e7)) == pytest.approx(sent)


@pytest.mark.parametrize("counts", [(4,), (2, 2), (3, 2), (2, 2, 2)])
@settings(max_examples=example_count(40))
@given(seed=st.integers(0, 10**6), length=st.integers(1, 6), room=st.sampled_from([inf, 60.0]))
def test_the_price_of_a_pipeline_is_that_of_its_workers(
    counts: tuple[int, ...], seed: int, length: int, room: float
) -> None:
    profile = chain(seed, length)
    bandwidths = np.random.default_rng(seed).uniform(0.5, 20, len(counts)).tolist()
    levels = LinkLevels(counts, tuple(sorted(bandwidths, reverse=True)))
    try:
        found = search_pipeline(profile, levels, MemoryBudget(room))
    except MemoryRefused:
        return
    assert found.seconds == pytest.approx(price_pipeline(profile, found, levels))
    assert sorted(i for stage in found.stages for i in stage.layers) == list(range(length))
    assert len(set(found.workers)) == sum(stage.replicas for stage in found.stages)
    assert set(found.workers) <= set(range(levels.workers))
    assert max(pipeline_memory(profile, found)) <= room


def test_every_layer_is_in_one_stage_and_reads_from_none_behind_it() -> None:
    profile = read_profile(PROFILES / "resnet18.txt")
    found = best_pipeline(profile, 16, 1e9)
    stage_of = {layer: k for k, stage in enumerate(found.stages) for layer in stage.layers}
    assert sorted(stage_of) == list(range(len(profile.layers)))
    assert all(stage_of[source] <= stage_of[target] for source, target in profile.edges)


def test_three_hundred_layers_on_sixteen_workers_take_less_than_a_second() -> None:
    profile = chain(1, 300)
    started = process_time()
    best_pipeline(profile, 16, 5.0)
    assert process_time() - started < 1


def test_straight_stages_have_one_replica_and_are_not_faster() -> None:
    profile = chain(2, 20)
    straight, free = (best_pipeline(profile, 6, 5.0, straight=straight) for straight in (True, False))
    assert {stage.replicas for stage in straight.stages} == {1}
    assert straight.seconds >= free.seconds


def test_one_stage_is_data_parallelism() -> None:
    profile = chain(3, 5)
    assert data_parallel_seconds(profile, flat_levels(1, 1.0)) == pytest.approx(profile.work)
    seconds = data_parallel_seconds(profile, flat_levels(4, 1e12))
    assert best_pipeline(profile, 4, 1e12).seconds == pytest.approx(seconds)


def test_no_workers_are_refused() -> None:
    with pytest.raises(ConfigError, match="a worker and a bandwidth above 0"):
        best_pipeline(chain(1, 3), 2, 0.0)


def test_many_workers_have_fewer_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those in a share of the work the one with the fewest bytes; the pipeline is priced as it is."""
    profile = chain(3, 60)
    best = best_pipeline(profile, 16, 5.0)
    monkeypatch.setattr(pipeline_stages, "MOST_PRICES", 136 * 20**2)
    found = best_pipeline(profile, 16, 5.0)
    assert best.seconds <= found.seconds < 1.5 * best.seconds
    assert price_pipeline(profile, found, flat_levels(16, 5.0)) == pytest.approx(found.seconds)
    levels = flat_levels(16, 5.0)
    assert len(pipeline_stages._search_cuts(profile, levels, None, straight=False)) <= 20
    assert len(pipeline_stages._search_cuts(profile, levels, None, straight=True)) > 40
    assert len(pipeline_stages._search_cuts(profile, levels, MemoryBudget(), straight=False)) == 61
