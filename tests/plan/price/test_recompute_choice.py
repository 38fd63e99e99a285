"""The recompute choice: it fits, takes no longer than the net's switch, and a run takes the memory that is forecast."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition
from netpart.graph.recomputed import layers_recomputed
from netpart.measure.traces import player_memory_plan
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import Devices, equal_devices
from netpart.plan.price.input_memory import input_bytes
from netpart.plan.price.part_prices import CountedPrices
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.price.recompute_choice import RecomputeChoice, recompute_layers
from netpart.plan.price.worker_memory import LinkMemory, forecast_memory
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.worker.ensemble import Ensemble


def cut_net(name: str, workers: int, scheme: str) -> Partition:
    job = read_job(zoo_folder() / f"{name}.conf")
    return partition_by_scheme(job.proto, workers, job.folder, scheme, ("train",))


def devices_with(memory: float, workers: int) -> Devices:
    return equal_devices(workers, 1e9, memory)


def switched(plain: Partition) -> Partition:
    """The net with its switch."""
    return recompute_layers(plain, range(len(plain.job.neuralnet.layer)))


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize(
    ("name", "workers", "scheme"), [("vit/vit-b16-small", 2, "DATA"), ("unet/unet2d-small", 1, "DATA")]
)
def test_what_is_recomputed_fits_and_takes_less_than_all(name: str, workers: int, scheme: str, share: float) -> None:
    plain = cut_net(name, workers, scheme)
    whole = switched(plain)
    assert whole.job.neuralnet.recompute
    most, least = max(predict_memory(plain)), max(predict_memory(whole))
    devices = devices_with(least + share * (most - least), workers)
    found = RecomputeChoice(devices, CountedPrices()).recompute_least(plain)
    assert found is not None
    assert max(predict_memory(found)) <= devices.devices[0].memory
    assert 0 < sum(layers_recomputed(found.job.neuralnet)) < len(plain.job.neuralnet.layer)
    free, cheap, dear = (predict_step(each, devices).seconds for each in (plain, found, whole))
    assert free < cheap < dear


def test_the_workers_take_the_memory_that_is_forecast() -> None:
    plain = cut_net("vit/vit-b16-small", 2, "COLUMN_ROW")
    most, least = max(predict_memory(plain)), max(predict_memory(switched(plain)))
    found = RecomputeChoice(devices_with((most + least) / 2, 2), CountedPrices()).recompute_least(plain)
    assert found is not None
    assert max(predict_memory(found)) < most
    ensemble = Ensemble(found, kernels=job_kernel_class(found.job))
    unshared = LinkMemory(slots=False, opens=False)  # that of the ensemble's transport
    taken = [player_memory_plan(each).total + input_bytes(each.program) for each in ensemble.players]
    assert taken == forecast_memory(found, unshared)


def test_what_does_not_fit_with_all_layers_recomputed_is_refused() -> None:
    plain = cut_net("unet/unet2d-small", 1, "DATA")
    devices = devices_with(max(predict_memory(switched(plain))) - 1, 1)
    assert RecomputeChoice(devices, CountedPrices()).recompute_least(plain) is None
    assert RecomputeChoice(devices, CountedPrices()).recompute_least(switched(plain)) is None


def test_a_search_that_begins_near_the_last_answer_finds_the_same() -> None:
    plain = cut_net("vit/vit-b16-small", 2, "DATA")
    most, least = max(predict_memory(plain)), max(predict_memory(switched(plain)))
    choice = RecomputeChoice(devices_with((most + least) / 2, 2), CountedPrices())
    first = choice.recompute_least(plain)
    assert first is not None
    assert choice.near is not None
    for near in (choice.near, 1, len(plain.job.neuralnet.layer), choice.near + 1):
        choice.near = near
        again = choice.recompute_least(plain)
        assert again is not None
        assert layers_recomputed(again.job.neuralnet) == layers_recomputed(first.job.neuralnet)
