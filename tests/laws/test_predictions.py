"""Law: what is predicted of a step is what a simulation of its Programs by the same prices finds.

The bytes are the same. The seconds are of a model that plays one micro-batch layer by layer and lets the others follow
at the pace of the busiest worker; the simulation plays every message of every step. Where messages cost nothing they
differ by no more than FREE times; where these are all that there is, as in nets as small as these, by COSTLY times. So
it is with workers in hosts that share a card, with hosts in racks, and with delayed gradients.
"""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netpart.collectives.network import LinkCost
from netpart.graph.partition import Partition, partition_job
from netpart.measure.simulate import PricedSimulation
from netpart.measure.timeline import STEP
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import devices_of_cluster
from netpart.plan.price.predict import predict_step
from netpart.proto.job_pb2 import ClusterProto, Schedule, Sharding
from tests.laws.nets import Example, examples, nets
from tests.laws.sketch import Sketch
from tests.thorough import example_count

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
    hold_prediction(partition_job(example.job, example.workers, phases=("train",)), cluster)


@given(sketch=nets(), workers=st.sampled_from([2, 3, 4]), cluster=clusters())
@settings(max_examples=example_count(100))
def test_predictions_of_delayed_pipelines_are_near_what_is_simulated(
    sketch: Sketch, workers: int, cluster: ClusterProto
) -> None:
    """Stages that do not wait for the gradients of those behind them."""
    job = sketch.job
    assume(job.shard_updates != Sharding.YES)
    job.neuralnet.schedule = Schedule.DELAYED
    job.cluster.host.extend(cluster.host)
    hold_prediction(partition_by_scheme(job, workers, scheme="pipeline", phases=("train",)), cluster)


def hold_prediction(cut: Partition, cluster: ClusterProto) -> None:
    """Compare the prediction for a cut with a simulation, in bytes and seconds."""
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
