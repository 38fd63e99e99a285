"""Stages with a price of their own: the search finds what trying all finds, and asks for few prices."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.stages.priced_stages import PricedPipeline, search_priced_stages
from tests.thorough import example_count


def chain_of(seed: int, length: int) -> NetProfile:
    figures = np.random.default_rng(seed).uniform([0.1, 0.1, 0, 0], [1, 2, 2, 4], (length, 4)).tolist()
    layers = tuple(LayerProfile(f"l{i}", "Linear", *row) for i, row in enumerate(figures))
    return NetProfile(layers, tuple((i, i + 1) for i in range(length - 1)))


def price_of(profile: NetProfile, seed: int, layers: tuple[int, ...], workers: int) -> tuple[float, str]:
    """Evenly divided work and something more, which depends on the layers and on the workers."""
    more = np.random.default_rng((seed, workers, *layers)).uniform(0, 2)
    work = sum(profile.layers[i].work for i in layers)
    return work / workers * (1 + more), f"{layers} on {workers}"


def best_step(profile: NetProfile, seed: int, workers: int, bandwidth: float, micro_batches: int | None) -> float:
    """The least seconds of a step over all cuts of a chain, and all workers of each stage."""
    count, found = len(profile.layers), inf
    priced = cache(lambda layers, some: price_of(profile, seed, layers, some)[0])
    for bits in range(2 ** (count - 1)):
        bounds = [0, *(i + 1 for i in range(count - 1) if bits >> i & 1), count]
        for each in product(range(1, workers + 1), repeat=len(bounds) - 1):
            if sum(each) > workers:
                continue
            times = [priced(tuple(range(a, b)), r) for (a, b), r in zip(pairwise(bounds), each, strict=True)]
            links = zip(bounds[1:], pairwise(each), strict=False)
            times += [2 * profile.layers[b - 1].activation / (bandwidth * min(pair)) for b, pair in links]
            rest = 0 if micro_batches is None else sum(times) + (micro_batches - 2) * max(times)
            found = min(found, max(times) + rest)
    return found


def solved(seed: int, length: int, workers: int, micro_batches: int | None, limit: float = inf) -> PricedPipeline:
    profile = chain_of(seed, length)
    return search_priced_stages(
        profile, workers, 3.0, lambda layers, some: price_of(profile, seed, layers, some), micro_batches, limit
    )


@settings(max_examples=example_count(60))
@given(
    seed=st.integers(0, 10**6), length=st.integers(1, 5), workers=st.integers(1, 4),
    micro_batches=st.sampled_from([None, 1, 2, 8]),
)  # fmt: skip
def test_no_pipeline_has_a_faster_step(seed: int, length: int, workers: int, micro_batches: int | None) -> None:
    found = solved(seed, length, workers, micro_batches)
    assert found.seconds == pytest.approx(best_step(chain_of(seed, length), seed, workers, 3.0, micro_batches))
    assert found.bound == found.seconds
    assert [i for stage in found.stages for i in stage.layers] == list(range(length))
    assert sum(stage.workers for stage in found.stages) <= workers
    assert all(stage.placements == f"{stage.layers} on {stage.workers}" for stage in found.stages)


def test_without_time_there_is_a_pipeline_and_a_bound_below_it() -> None:
    found = solved(3, 12, 6, 4, limit=0.0)
    best = solved(3, 12, 6, 4)
    assert found.bound <= best.seconds <= found.seconds
    assert sorted(i for stage in found.stages for i in stage.layers) == list(range(12))


def test_few_of_all_stages_are_priced() -> None:
    profile, asked = chain_of(5, 30), set[tuple[tuple[int, ...], int]]()

    def price(layers: tuple[int, ...], workers: int) -> tuple[float, None]:
        asked.add((layers, workers))
        return sum(profile.layers[i].work for i in layers) / workers * 1.1, None

    search_priced_stages(profile, 8, 30.0, price, 8)
    assert len(asked) < 0.1 * 30 * 31 / 2 * 8


def test_bubbles_make_fewer_stages() -> None:
    """With one micro-batch a second stage only adds its own time; with many it doubles the pace."""
    profile = NetProfile(
        tuple(LayerProfile(f"l{i}", "Linear", 1.0, 1.0, 0.01, 0.0) for i in range(8)),
        tuple((i, i + 1) for i in range(7)),
    )
    stages = []
    for micro_batches in (1, 2, 64):
        found = search_priced_stages(
            profile, 2, 1.0, lambda layers, some: (2.0 * len(layers) * (1 if some == 1 else 0.75), None), micro_batches
        )
        stages.append(len(found.stages))
    assert stages == [1, 1, 2] or stages == [1, 2, 2]
