"""Part prices: timed seconds of the kernels that a part really calls, in the units of the devices' speeds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netpart.collectives.network import LinkCost
from netpart.graph.graph import LAYER, Graph, Part
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.layer_loads import priced_profile, profile_net
from netpart.plan.price.part_prices import TimedPrices
from netpart.plan.price.predict import predict_step
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.kernel_times import KernelTimes, PartSeconds
from netpart.plan.timings.part_question import PartQuestion
from netpart.proto.reader import read_job_text
from netpart.proto.updater_pb2 import UpdaterProto
from tests.graph.jobs import HEAD, data, layer

FIGURES = HostFigures(1e9, 1e12, 1.0, 1.0, instruction=1e-9, step=1e-3)
WEIGHTS = "param { init { type: kGaussian } } param { init { type: kGaussian } }"


class FixedTimes(KernelTimes):
    """Seconds that no clock decides: of each part, a second a row forward and two for each gradient."""

    def part_seconds(self, question: PartQuestion) -> PartSeconds:
        rows = float(question.region[0][1] - question.region[0][0]) if question.region else 0.0
        learns = bool(question.layer.params) and question.trains
        return PartSeconds(rows, 2 * rows * any(question.wanted), 2 * rows * learns)

    def update_seconds(self, updater: UpdaterProto, elements: int) -> float:
        return 7.0


class Fusing(Kernels):
    """Kernels that compute a relu with what is before it."""

    fuses = ("relu",)


def cut(workers: int, scheme: str = "data") -> Partition:
    text = HEAD + data(16, "shape: 32", 32, more="")
    text += layer("fc", "kInnerProduct", "data", more=f"innerproduct_conf {{ num_output: 32 }} {WEIGHTS}")
    text += layer("relu", "kReLU", "fc") + layer("loss", "kSoftmaxLoss", "relu", "data")
    return partition_by_scheme(read_job_text(text + "}").proto, workers, scheme=scheme)


def prices(kernels: type[Kernels] = Kernels, cores: int = 2, figures: HostFigures = FIGURES) -> TimedPrices:
    return TimedPrices(FixedTimes(kernels, "float32", 1, figures, 0.0), cores)


def part(graph: Graph, name: str) -> Part:
    return next(p for p in graph.parts if p.kind == LAYER and graph.net.nodes[p.node].name == name)


def test_work_is_seconds_of_this_host() -> None:
    graph = cut(2).graph
    found = prices().part_work(graph, part(graph, "fc"))
    assert found.forward == pytest.approx(8e9)
    assert found.backward == pytest.approx(16e9)  # of the parameters alone: data want no gradient
    assert found.later == 0


def test_a_fused_activation_is_free_forward() -> None:
    graph = cut(2).graph
    plain, fused = (prices(kernels).part_work(graph, part(graph, "relu")) for kernels in (Kernels, Fusing))
    assert plain.forward == pytest.approx(8e9)
    assert plain.backward == fused.backward == pytest.approx(16e9)
    assert (fused.forward < 100) is graph.net.by_name["fc"].layer.fuses_activation


def test_a_step_has_its_updates_and_its_constant() -> None:
    for workers, rows in ((1, 16), (2, 8)):
        found = cut(workers)
        told = predict_step(found, equal_devices(workers, 1e9, streaming=1e30), prices=prices())
        # Forward: data, fc, relu and loss a second a row each; backward two for fc, relu and loss; two updates.
        assert told.busy[0] == pytest.approx(rows * (4 + 2 + 2 + 2), rel=1e-6)
        assert told.seconds - told.busy[0] >= 7.0


def test_workers_that_share_memory_are_slower() -> None:
    slow = prices(figures=replace(FIGURES, products_slow=1.5, streams_slow=1.5))
    assert slow.cores == 2
    alone, both = (cut(workers).graph for workers in (1, 2))
    assert slow.part_work(alone, part(alone, "fc")).forward == pytest.approx(16e9)
    assert slow.part_work(both, part(both, "fc")).forward == pytest.approx(12e9)


def test_workers_are_slower_while_others_compute() -> None:
    slow = prices(figures=replace(FIGURES, products_slow=1.5, streams_slow=1.5))
    graph = cut(2).graph
    seconds = [slow.overlapping(share).part_work(graph, part(graph, "fc")).forward for share in (0.0, 0.5, 1.0)]
    assert seconds == pytest.approx([8e9, 10e9, 12e9])


def test_nobody_is_slowed_in_a_pipeline_of_one_micro_batch() -> None:
    slow, alone = prices(figures=replace(FIGURES, products_slow=1.5, streams_slow=1.5)), prices()
    devices = equal_devices(2, 1e9, streaming=1e30)
    told = {
        scheme: [predict_step(cut(2, scheme), devices, prices=each).busy for each in (alone, slow)]
        for scheme in ("data", "pipeline")
    }
    assert told["pipeline"][0] == pytest.approx(told["pipeline"][1], rel=1e-3)
    assert [1.5 * each for each in told["data"][0]] == pytest.approx(list(told["data"][1]), rel=1e-3)


def test_measured_sums_have_their_adding() -> None:
    """A link of sums replaces both the seconds of messages and of adding."""
    found = cut(2)
    link = LinkCost(0.0, 0.0, 1e3)
    slow = equal_devices(2, 1e9, link=link, streaming=1e3)
    fast = replace(slow, sums=LinkCost(0.0, 0.0, 1e30))
    devices = [predict_step(found, each, prices=prices()).seconds for each in (slow, fast)]
    nbytes = 4 * (32 * 32 + 32)
    # Each worker sends half of the gradients and takes half, twice; both are read, and written, as they are added.
    assert devices[0] - devices[1] >= 6 * nbytes / 1e3
    assert devices[1] == pytest.approx(max(predict_step(found, fast, prices=prices()).busy) + 14.0, rel=1e-2)


def test_a_profile_has_the_same_work() -> None:
    found = cut(1)
    net = found.graph.net
    profile = priced_profile(profile_net(net, 4), prices(), found.graph)
    assert [layer.forward for layer in profile.layers] == pytest.approx([16e9] * 3)
