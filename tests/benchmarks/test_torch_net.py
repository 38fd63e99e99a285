"""The peers' nets are netpart's: the same weights, rows and rule of learning bring the same losses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.nets import NETS, RESATTNETS, job, smaller
from benchmarks.prepare import prepare
from netpart.graph.partition import partition_job
from netpart.worker.ensemble import Ensemble

pytestmark = pytest.mark.slow
STEPS = 3
ALL = NETS | RESATTNETS


def by_netpart(name: str, folder: Path) -> list[float]:
    """Losses of netpart, uncut."""
    ensemble = Ensemble(partition_job(job(smaller(ALL[name]), STEPS, dropout=False), 1, folder, uncut=True))
    ensemble.initialise()
    return [ensemble.step("train", step)["loss/loss"] for step in range(STEPS)]


@pytest.mark.parametrize("layout", ["plain", "channels last"])
@pytest.mark.parametrize("name", [*NETS, "resattnet18"])
@pytest.mark.peers
def test_pytorch_comes_to_the_same_losses(name: str, layout: str, tmp_path: Path) -> None:
    from benchmarks.peers.torch_trainer import Trainer

    prepared = prepare(smaller(ALL[name]), tmp_path, dropout=False)
    found = Trainer(prepared.folder, layout).play(STEPS)["losses"]
    assert found == pytest.approx(by_netpart(name, tmp_path), rel=1e-3)
    assert len(set(found)) == STEPS


def test_what_is_trained_is_what_netpart_trains(tmp_path: Path) -> None:
    prepared = prepare(smaller(NETS["cifar"]), tmp_path)
    described = json.loads((prepared.folder / "net.json").read_text())
    assert described["scales"]["ip1/w"] == [1, 250]
    assert described["updater"] == {
        "name": "SGD",
        "momentum": pytest.approx(0.9),
        "lr": pytest.approx(0.001),
        "weight_decay": pytest.approx(0.004),
    }
    assert [layer["op"] for layer in described["layers"]][:4] == ["kConvolution", "kPooling", "kReLU", "kLRN"]
