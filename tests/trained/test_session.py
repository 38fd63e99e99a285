"""Sessions: part of a net, whole, on given values: what the uncut net computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError, DataError
from netpart.graph.partition import partition_job
from netpart.launch import run as launch
from netpart.proto.layer_pb2 import LayerType
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.trained.session import Session
from netpart.worker.ensemble import Ensemble
from tests.end2end.running import mlp


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return read_job(mlp(tmp_path, dtype="FLOAT64"))


def test_a_session_computes_what_the_test_net_computes(job: Job, tmp_path: Path) -> None:
    summary = launch.run_job(job, 3, launcher="threads", workspace=tmp_path / "run")
    whole = Ensemble(partition_job(job.proto, 1, job.folder, uncut=True), keep=True)
    session = Session(job, ["fc2"], Path(summary.checkpoint), rows=6)
    whole.initialise()
    for step in range(12):
        whole.step("train", step)
    for step in range(2):
        whole.step("test", step)
        session.run({"data": whole.activation("test", "data")})
        for name in ("data", "fc1", "relu", "fc2"):
            assert session.value(name) == pytest.approx(whole.activation("test", name), rel=1e-9)


def test_a_session_has_only_what_its_outputs_depend_on_and_any_number_of_rows(job: Job) -> None:
    session = Session(job, ["relu"], rows=2)
    assert list(session.nodes) == ["data", "fc1", "relu"]
    session.run({"data": np.ones((2, 8))})
    assert session.value("relu").shape == (2, 16)
    assert np.array_equal(*session.value("relu"))


def test_a_session_reads_no_data(job: Job) -> None:
    data = next(layer for layer in job.proto.neuralnet.layer if layer.name == "data" and 4 in layer.include)
    data.type, data.store_conf.path = LayerType.kRecordInput, "absent.bin"
    data.ClearField("synthetic_conf")
    session = Session(job, ["fc1"])
    session.run({"data": np.zeros((1, 8))})
    assert session.value("fc1").shape == (1, 16)


def test_an_output_that_is_not_there_is_named(job: Job) -> None:
    with pytest.raises(ConfigError, match=r"expected a layer of the test net, got 'fc9'; it has data, fc1"):
        Session(job, ["fc9"])


def test_only_inputs_are_given(job: Job) -> None:
    with pytest.raises(ConfigError, match="values: expected an input of the net: data, got 'fc1'"):
        Session(job, ["fc1"]).run({"fc1": np.zeros((1, 16))})


def test_a_checkpoint_of_another_net_is_refused(job: Job, tmp_path: Path) -> None:
    job.proto.train_steps = 1
    path = Path(launch.run_job(job, 1, launcher="threads", workspace=tmp_path / "run").checkpoint)
    other = read_job(mlp(tmp_path))
    other.proto.neuralnet.layer[2].innerproduct_conf.num_output = 5
    with pytest.raises(DataError, match="expected shape"):
        Session(other, ["fc1"], path)


RECORDS = """
neuralnet {
  layer { name: "data" type: kShardData sharddata_conf { path: "images.bin" batchsize: 2 } }
  layer { name: "images" type: kMnist srclayers: "data" mnist_conf { resize: 4 } }
}
"""


def test_opaque_records_cannot_be_given() -> None:
    with pytest.raises(ConfigError, match="data: expected an input of numbers or tokens, got one of opaque records"):
        Session(read_job_text(RECORDS), ["images"])


def test_a_mistake_is_told_with_its_place_in_the_job(job: Job, tmp_path: Path) -> None:
    text = (tmp_path / "mlp.conf").read_text().replace('srclayers: "fc2"', 'srclayers: "fc3"')
    wrong = read_job_text(text, "mlp.conf")
    with pytest.raises(ConfigError, match=r"mlp.conf:\d+:\d+: loss: expected srclayers"), wrong.explaining():
        Session(wrong, ["fc1"])


SHARED = """
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 2 shape: 4 } }
  layer { name: "one" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 4 bias_term: false }
    param { name: "w" init { type: kGaussian } } }
  layer { name: "two" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 4 bias_term: false }
    param { share_from: "OWNER" } }
  layer { name: "other" type: kReLU srclayers: "data" }
}
"""


@pytest.mark.parametrize("owner", ["w", "one/w"])
def test_the_layer_whose_parameters_an_output_shares_is_kept(owner: str) -> None:
    session = Session(read_job_text(SHARED.replace("OWNER", owner)), ["two"])
    assert list(session.nodes) == ["data", "one", "two"]
    session.run({"data": np.ones((1, 4), np.float32)})
    assert np.array_equal(session.value("one"), session.value("two"))
