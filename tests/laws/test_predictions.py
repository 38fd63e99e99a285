"""Law: what is predicted of a step is what a simulation of its Programs by the same prices finds.

The bytes are the same. The seconds are of a model that plays one micro-batch layer by layer and lets the others follow
at the pace of the busiest worker; the simulation plays every message of every step. Where messages cost nothing they
differ by no more than FREE times; where these are all that there is, as in nets as small as these, by COSTLY times.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.collectives.price import LinkCost
from netpart.graph.partition import partition_job
from netpart.measure.simulate import PricedSimulation
from netpart.measure.timeline import STEP
from netpart.plan.price.devices import Devices, DeviceSpec
from netpart.plan.price.predict import predict_step
from tests.laws.nets import Example, examples

STEPS = 7
WARM_UP = 3
SPEED = 1e8
FREE, COSTLY = 2.0, 4.0
NOTHING = LinkCost(1e-12, 1e-12, 1e18)


@given(example=examples(), link=st.sampled_from([NOTHING, LinkCost()]))
@settings(max_examples=40)
def test_predictions_are_near_what_is_simulated(example: Example, link: LinkCost) -> None:
    cut = partition_job(example.job, example.workers, phases=("train",))
    told = predict_step(cut, Devices((DeviceSpec("worker", SPEED),) * cut.workers, link))
    simulation = PricedSimulation(cut, link, [SPEED] * cut.workers)
    ends = [0.0] * STEPS
    for event in simulation.run(STEPS).events:
        if event.text == STEP:
            ends[event.step] = max(ends[event.step], event.end)
    assert sum(sum(t.counts.values()) for t in simulation.transports) == STEPS * told.moved
    simulated = (ends[-2] - ends[WARM_UP - 1]) / (STEPS - 1 - WARM_UP)  # the last step may end earlier ones as well
    most = FREE if link is NOTHING else COSTLY
    assert simulated / most <= told.seconds <= simulated * most + 1e-9
