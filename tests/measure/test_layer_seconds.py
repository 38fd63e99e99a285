"""Profiling: every layer has its seconds, and what computes nothing has none backward."""

from __future__ import annotations

from netpart.measure.layer_seconds import measure_layers
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder


def test_every_layer_is_timed_both_ways() -> None:
    job = read_job(zoo_folder() / "halo" / "conv-rows.conf", ["neuralnet.micro_batches=2"])
    found = measure_layers(job.proto, job.folder, steps=1)
    assert set(found) == {layer.name for layer in job.proto.neuralnet.layer}
    assert all(forward > 0 and backward > 0 for name, (forward, backward) in found.items() if "conv" in name)
    assert found["data"][1] == 0
    assert job.proto.neuralnet.micro_batches == 2
