"""Law: what is predicted of a step is what a simulation of its Programs by the same prices finds.

The bytes are the same. The seconds are of a model that plays one micro-batch layer by layer and lets the others follow
at the pace of the busiest worker; the simulation plays every message of every step. Where messages cost nothing they
differ by no more than FREE times; where these are all that there is, as in nets as small as these, by COSTLY times. So
it is with workers in hosts that share a card, with hosts in racks, and with delayed gradients.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.collectives.network import LinkCost
from netpart.graph.partition import partition_job
from netpart.measure.simulate import PricedSimulation
from netpart.measure.timeline import STEP
from netpart.plan.price.devices import devices_of_cluster
from netpart.plan.price.predict import predict_step
from netpart.proto.job_pb2 import ClusterProto
from tests.laws.nets import Example, examples

STEPS = 7
WARM_UP = 3
SPEED = 1e8
FREE, COSTLY = 1.8, 2.0
NOTHING = LinkCost(1e-12, 1e-12, 1e18)
CARD = LinkCost(latency=40e-6, bandwidth=2e8)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterProto:
    """Links, and perhaps hosts of 1 to 3 workers, which may be in racks of two."""
    cluster = ClusterProto()
    link, inside = draw(st.sampled_from([NOTHING, LinkCost()])), draw(st.sampled_from([0, 0, 1, 2, 3]))
    cluster.link.add(latency=link.latency, overhead=link.overhead, bandwidth=link.bandwidth)
    if inside and link is not NOTHING:
        cluster.host.add(workers=inside, count=8, latency=CARD.latency, bandwidth=CARD.bandwidth)
        if draw(st.booleans()):
            cluster.host.add(workers=2 * inside, count=4, level=2, latency=CARD.latency, bandwidth=CARD.bandwidth / 2)
    return cluster


@given(example=examples(), cluster=clusters())
@settings(max_examples=40)
def test_predictions_are_near_what_is_simulated(example: Example, cluster: ClusterProto) -> None:
    example.job.cluster.host.extend(cluster.host)
    cut = partition_job(example.job, example.workers, phases=("train",))
    cluster.device.add(count=cut.workers, flops=SPEED)
    devices = devices_of_cluster(cluster)
    told = predict_step(cut, devices)
    simulation = PricedSimulation(cut, devices.network, devices.speeds)
    ends = [0.0] * STEPS
    for event in simulation.run(STEPS).events:
        if event.text == STEP:
            ends[event.step] = max(ends[event.step], event.end)
    assert sum(sum(t.counts.values()) for t in simulation.transports) == STEPS * told.moved
    simulated = (ends[-2] - ends[WARM_UP - 1]) / (STEPS - 1 - WARM_UP)  # the last step may end earlier ones as well
    most = FREE if devices.link == NOTHING else COSTLY
    assert simulated / most <= told.seconds <= simulated * most + 1e-9
