"""Law: the floor of a step, which placements alone define, is not above the prediction for the rewritten net.

Planners omit what has a floor above the best row, so a floor that is too high would hide the best plan.
"""

from __future__ import annotations

from hypothesis import given, settings

from netpart.choices import DELAYED
from netpart.collectives.network import LinkCost
from netpart.graph.build import build_net
from netpart.graph.partition import partition_job
from netpart.graph.passes.place import place_layers
from netpart.plan.price.devices import Devices, equal_devices
from netpart.plan.price.part_prices import CountedPrices
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.price.step_floor import FloorModel, floor_model
from netpart.program.schedules.schedule import schedule_order
from netpart.proto.element import float_size
from tests.laws.nets import Example, examples
from tests.thorough import example_count

SPEED = 1e8
NOTHING = LinkCost(1e-12, 1e-12, 1e18)


@given(example=examples())
@settings(max_examples=example_count(150))
def test_no_prediction_is_below_its_floor(example: Example) -> None:
    cut = partition_job(example.job, example.workers, phases=("train",))
    for link in (NOTHING, LinkCost(), LinkCost(bandwidth=1e6)):
        devices = equal_devices(cut.workers, SPEED, link=link)
        micros = cut.phases["train"]
        rows = micros[0].rows[1] - micros[0].rows[0]
        model = model_of_placed_layers(example, devices, rows, micros[-1].rows[1])
        delayed = schedule_order(example.job) == DELAYED
        assert 0 < model.step_floor(len(micros), delayed) <= predict_step(cut, devices).seconds
    assert model.memory_floor() <= max(predict_memory(cut))


def model_of_placed_layers(example: Example, devices: Devices, rows: int, whole: int) -> FloorModel:
    net = build_net(example.job, "train", rows=rows)
    placed = place_layers(net, example.job.neuralnet, example.workers, whole).placements
    return floor_model(net, placed, devices, CountedPrices(), float_size(example.job))
