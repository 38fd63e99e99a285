"""The cost of memory: a layer is held or recomputed, whichever costs less; a search with it fits where it can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netpart.plan.optimal.layer_prices import PricedLayer
from netpart.plan.optimal.memory_cost import cost_memory
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.search_plans import search_plans
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.part_prices import CountedPrices
from netpart.plan.price.predict import predict_memory
from netpart.plan.price.recompute_choice import RecomputeChoice, recompute_layers
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder

NOTHING = np.zeros(3)
MEMORY = np.array([[8.0, 2.0], [6.0, 6.0], [4.0, 0.0]])
FREED = np.array([[6.0, 0.0], [1.0, 2.0], [4.0, 0.0]])
LAYER = PricedLayer(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, MEMORY, FREED, np.array([3.0, 3.0, 9.0]))


def test_memory_without_a_price_costs_nothing() -> None:
    found = cost_memory(LAYER, 0.0)
    assert not found.held.any()
    assert not found.again.any()


def test_a_layer_is_recomputed_where_that_costs_less() -> None:
    """Of the first choice two bytes are left instead of eight, of the second five, of the third none."""
    found = cost_memory(LAYER, 1.0)
    assert found.held.tolist() == [2.0, 6.0, 4.0]
    assert found.again.tolist() == [3.0, 0.0, 0.0]
    dear = cost_memory(LAYER, 4.0)
    assert dear.held.tolist() == [8.0, 20.0, 0.0]
    assert dear.again.tolist() == [3.0, 3.0, 9.0]


def test_a_search_finds_plans_that_fit_with_recomputed_layers() -> None:
    job = read_job(zoo_folder() / "vit/vit-b16-small.conf").proto
    devices = equal_devices(1, 1e9)
    plain = PricedJob(job, None, devices, {}, recomputes=True)
    whole = plain.partition(search_plans(plain, 1.0).best_plans(1)[0].choices)
    least = max(predict_memory(recompute_layers(whole, range(len(job.neuralnet.layer)))))
    tight = replace(plain, devices=equal_devices(1, 1e9, least + 1000))
    fitting = search_plans(tight, 1.0).fitting
    assert fitting is not None
    assert RecomputeChoice(tight.devices, CountedPrices()).recompute_least(tight.partition(fitting.choices)) is not None
    assert search_plans(replace(tight, recomputes=False), 1.0).fitting is None
