"""A job over text: the same windows and the same numbers however its input is cut, and a zoo GPT that learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.worker.ensemble import Ensemble
from tests.trained.texts import TEXT, gpt


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("workers", [2, 3])
def test_a_cut_input_gives_the_numbers_of_a_whole_one(axis: int, workers: int, tmp_path: Path) -> None:
    job = read_job(gpt(tmp_path), [f"text.partition_dim={axis}", f"loss.partition_dim={axis}", "dtype=FLOAT64"])
    job.proto.test_steps = 1
    cut = Ensemble(partition_job(job.proto, workers, job.folder), keep=True)
    whole = Ensemble(partition_job(job.proto, 1, job.folder, uncut=True), keep=True)
    for ensemble in (cut, whole):
        ensemble.initialise()
    for phase, step in (("train", 0), ("train", 1), ("test", 0)):
        assert cut.step(phase, step) == pytest.approx(whole.step(phase, step), rel=1e-11)
        for output in (0, 1):
            assert np.array_equal(cut.activation(phase, "text", output), whole.activation(phase, "text", output))


def test_the_tiny_gpt_learns(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT * 20)
    small = ["text.text_conf.files=text.txt", "text.text_conf.window=16", "text.text_conf.batchsize=8"]
    job = read_job(zoo_folder() / "gpt" / "tiny.conf", small)
    ensemble = Ensemble(partition_job(job.proto, 2, tmp_path))
    ensemble.initialise()
    bits = [ensemble.step("train", step)["loss/bits"] for step in range(30)]
    assert bits[0] == pytest.approx(8, abs=0.5)
    assert np.mean(bits[-3:]) < 0.5 * bits[0]
