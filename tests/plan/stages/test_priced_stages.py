"""Stages with a price of their own: the search finds what trying all finds, and asks for few prices."""

from __future__ import annotations

from functools import cache, partial
from itertools import accumulate, pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.stages.downsets import find_downsets
from netpart.plan.stages.link_levels import flat_levels
from netpart.plan.stages.priced_stages import PricedPipeline, StagePrice, StageProblem, search_priced_stages
from tests.thorough import example_count


def chain_of(seed: int, length: int) -> NetProfile:
    figures = np.random.default_rng(seed).uniform([0.1, 0.1, 0, 0], [1, 2, 2, 4], (length, 4)).tolist()
    layers = tuple(LayerProfile(f"l{i}", "Linear", *row) for i, row in enumerate(figures))
    return NetProfile(layers, tuple((i, i + 1) for i in range(length - 1)))


def price_of(profile: NetProfile, seed: int, layers: tuple[int, ...], workers: range) -> float:
    """Evenly divided work and something more, which depends on the layers and on the workers."""
    more = np.random.default_rng((seed, workers.start, workers.stop, *layers)).uniform(0, 2)
    work = sum(profile.layers[i].work for i in layers)
    return work / len(workers) * (1 + more)


def problem_of(
    profile: NetProfile, workers: int, bandwidth: float, price: StagePrice, micro_batches: int | None
) -> StageProblem:
    """Any consecutive workers for a stage, of which evenly divided work is expected."""
    cuts = find_downsets(profile)
    work = np.where(cuts.nested(), cuts.work[None, :] - cuts.work[:, None], inf)
    runs = [range(a, b) for a in range(workers) for b in range(a + 1, workers + 1)]
    levels = flat_levels(workers, bandwidth)
    return StageProblem(cuts, runs, levels, lambda run: work / len(run), price, micro_batches)


def best_step(profile: NetProfile, seed: int, workers: int, bandwidth: float, micro_batches: int | None) -> float:
    """The least seconds of a step over all cuts of a chain, and all workers of each stage, the first of them or not."""
    count, found = len(profile.layers), inf
    priced = cache(partial(price_of, profile, seed))
    for bits in range(2 ** (count - 1)):
        bounds = [0, *(i + 1 for i in range(count - 1) if bits >> i & 1), count]
        for idle, *each in product(range(workers), *[range(1, workers + 1)] * (len(bounds) - 1)):
            if idle + sum(each) > workers:
                continue
            runs = [range(a, b) for a, b in pairwise(accumulate(each, initial=idle))]
            times = [priced(tuple(range(a, b)), run) for (a, b), run in zip(pairwise(bounds), runs, strict=True)]
            links = zip(bounds[1:], pairwise(each), strict=False)
            times += [2 * profile.layers[b - 1].activation / (bandwidth * min(pair)) for b, pair in links]
            rest = 0 if micro_batches is None else sum(times) + (micro_batches - 2) * max(times)
            found = min(found, max(times) + rest)
    return found


def solved(seed: int, length: int, workers: int, micro_batches: int | None, limit: float = inf) -> PricedPipeline:
    profile = chain_of(seed, length)
    price = partial(price_of, profile, seed)
    return search_priced_stages(problem_of(profile, workers, 3.0, price, micro_batches), limit)


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
    assert all(a.workers.stop == b.workers.start for a, b in pairwise(found.stages))
    assert all(
        stage.seconds == price_of(chain_of(seed, length), seed, stage.layers, stage.workers) for stage in found.stages
    )


def test_without_time_there_is_a_pipeline_and_a_bound_below_it() -> None:
    found = solved(3, 12, 6, 4, limit=0.0)
    best = solved(3, 12, 6, 4)
    assert found.bound <= best.seconds <= found.seconds
    assert sorted(i for stage in found.stages for i in stage.layers) == list(range(12))


def test_few_of_all_stages_are_priced() -> None:
    profile, asked = chain_of(5, 30), set[tuple[tuple[int, ...], int]]()

    def price(layers: tuple[int, ...], workers: range) -> float:
        asked.add((layers, len(workers)))
        return sum(profile.layers[i].work for i in layers) / len(workers) * 1.1

    search_priced_stages(problem_of(profile, 8, 30.0, price, 8))
    assert len(asked) < 0.1 * 30 * 31 / 2 * 8


def test_bubbles_make_fewer_stages() -> None:
    """With one micro-batch a second stage only adds its own time; with many it doubles the pace."""
    profile = NetProfile(
        tuple(LayerProfile(f"l{i}", "Linear", 1.0, 1.0, 0.01, 0.0) for i in range(8)),
        tuple((i, i + 1) for i in range(7)),
    )

    def price(layers: tuple[int, ...], workers: range) -> float:
        return 2.0 * len(layers) * (1 if len(workers) == 1 else 0.75)

    stages = []
    for micro_batches in (1, 2, 64):
        problem = problem_of(profile, 2, 1.0, price, micro_batches)
        stages.append(len(search_priced_stages(problem).stages))
    assert stages == [1, 1, 2] or stages == [1, 2, 2]
