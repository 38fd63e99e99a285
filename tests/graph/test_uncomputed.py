"""A layer type that netpart does not compute is told of where no phase that runs has it."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import netpart
from netpart.cli.main import main
from netpart.errors import ConfigError
from netpart.graph.uncomputed import uncomputed_warnings
from netpart.proto.reader import read_job, read_job_text

JOB = """train_steps: 1 %s
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 3 } synthetic_conf { classes: 2 } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 2 }
    param { init { type: kConstant } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
  layer { name: "gru" type: kGRU srclayers: "ip" %s }
}
"""
TOLD = "8:23: gru: netpart does not compute kGRU; the job runs as "


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "job.conf"
    path.write_text(JOB % ("", "include: kTest"))
    return path


@pytest.mark.parametrize(
    ("include", "why"),
    [
        ("include: kTest", "it has no test_steps"),
        ("include: kVal include: kTest", "it has no validate_steps or test_steps"),
        ("exclude: kTrain exclude: kVal exclude: kTest", "the layer is in no phase"),
    ],
)  # fmt: skip
def test_each_is_told_of_with_its_place(include: str, why: str) -> None:
    assert list(uncomputed_warnings(read_job_text(JOB % ("", include), "job.conf"))) == [f"job.conf:{TOLD}{why}"]


def test_a_type_that_is_refused_or_known_is_not_told_of() -> None:
    assert list(uncomputed_warnings(read_job_text(JOB % ("test_steps: 1", "include: kTest")))) == []
    assert list(uncomputed_warnings(read_job_text((JOB % ("", "include: kTest")).replace("kGRU", "kReLU")))) == []
    with pytest.raises(ConfigError, match="gru: expected a layer type of netpart, got kGRU"):
        netpart.partition(read_job_text(JOB % ("test_steps: 1", "include: kTest")), 1)


def test_check_and_run_tell_of_it(conf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["check"], ["run", "--launcher", "threads", "--workspace", str(tmp_path / "out")]):
        assert main([command[0], str(conf), *command[1:]]) == 0
        said = capsys.readouterr()
        assert f"warning: {conf}:{TOLD}it has no test_steps" in said.out + said.err


def test_the_python_api_warns(conf: Path) -> None:
    for call in (netpart.build, netpart.partition):
        with pytest.warns(UserWarning, match=f"{conf}:{TOLD}it has no test_steps") as told:
            call(read_job(conf))
        assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        netpart.partition(read_job(conf, ["gru.type=kReLU"]))
