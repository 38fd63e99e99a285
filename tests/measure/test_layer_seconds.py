"""Profiling: every layer has its seconds, and what computes nothing has none backward."""

from __future__ import annotations

import pytest

from netpart.measure.layer_seconds import measure_layers
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.worker.ensemble import Ensemble
from netpart.worker.trace import TracedAction


def test_every_layer_is_timed_both_ways() -> None:
    job = read_job(zoo_folder() / "halo" / "conv-rows.conf", ["neuralnet.micro_batches=2"])
    found = measure_layers(job.proto, job.folder, steps=1)
    assert set(found) == {layer.name for layer in job.proto.neuralnet.layer}
    assert all(forward > 0 and backward > 0 for name, (forward, backward) in found.items() if "conv" in name)
    assert found["data"][1] == 0
    assert job.proto.neuralnet.micro_batches == 2


def test_actions_of_one_layer_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a gradient that is made in strips."""

    def step(self: Ensemble, phase: str, number: int) -> None:
        if (events := self.players[0].trace.events) is not None:
            times = ("forward ip3", 0, 1), ("backward ip3", 1, 3), ("update ip3/w", 3, 9), ("backward ip3", 9, 14)
            events += [TracedAction(*each) for each in times]

    monkeypatch.setattr(Ensemble, "step", step)
    job = read_job(zoo_folder() / "halo" / "conv-rows.conf")
    assert measure_layers(job.proto, job.folder)["ip3"] == (1, 7)
