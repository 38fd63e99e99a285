"""Job.set does what --set does, with values of Python."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.proto.reader import read_job
from netpart.proto.setting import Setting, setting_text
from netpart.resources import zoo_folder

JOB = read_job(zoo_folder() / "gpt" / "gpt2-small.conf")


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("data.location", [0, 1, 2], "data.location=0,1,2"),
        ("data.location", (np.int64(2),), "data.location=2"),
        ("updater.learning_rate.base_lr", 1e-05, "updater.learning_rate.base_lr=1e-05"),
        ("updater.learning_rate.base_lr", np.float32(0.5), "updater.learning_rate.base_lr=0.5"),
        ("neuralnet.recompute", True, "neuralnet.recompute=true"),
        ("dtype", "FLOAT64", "dtype=FLOAT64"),
        ("b*-query.partition_dim", 1, "b*-query.partition_dim=1"),
        ("neuralnet.remainder", None, "neuralnet.remainder="),
    ],
)
def test_a_value_is_set_as_its_text_is(path: str, value: Setting, text: str) -> None:
    before = JOB.proto.SerializeToString()
    found = JOB.set(path, value)
    assert setting_text(path, value) == text
    assert found.proto == read_job(zoo_folder() / "gpt" / "gpt2-small.conf", [text]).proto
    assert JOB.proto.SerializeToString() == before != found.proto.SerializeToString()


def test_settings_follow_each_other() -> None:
    job = JOB.set("seed", 7).set("name", "other")
    assert (job.proto.seed, job.proto.name, job.path) == (7, "other", JOB.path)
    assert str(job.locate(("seed",))) == "--set seed=7"


def test_what_cannot_be_set_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"did you mean seed\?"):
        JOB.set("seeed", 3)
    with pytest.raises(ConfigError, match="got -1"):
        JOB.set("train_steps", -1)
    with pytest.raises(ConfigError, match="expected elements without commas, got 'a,b'"):
        JOB.set("checkpoint_path", ["a,b"])
    with pytest.raises(TypeError, match="seed: expected a number, text, True, False, a list of them, or None, got"):
        JOB.set("seed", {})  # type: ignore[arg-type]
