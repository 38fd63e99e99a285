"""Everything that keeps a partition from running is found before it runs, each with its place in the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.errors import ConfigError, MissingData
from netpart.graph.partition import Partition, partition_job
from netpart.graph.ready import check_ready, find_run_faults
from netpart.proto.reader import read_job_text
from tests.datasets.samples import scans

JOB = """
test_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kRecordInput include: kTrain store_conf { path: "train.bin" batchsize: 4 shape: 3 } }
  layer { name: "data" type: kShardData include: kTest sharddata_conf { path: "test.bin" batchsize: 4 } }
  layer { name: "pixels" type: kMnist include: kTest srclayers: "data" mnist_conf { resize: 3 } }
  layer {
    name: "ip" type: kInnerProduct include: kTrain srclayers: "data" innerproduct_conf { num_output: 5 }
    param { name: "w" init { type: kUniform low: 2 } } param { name: "b" init { type: kUniformSqrtFanIn } }
  }
}
"""


def cut(text: str = JOB) -> Partition:
    return partition_job(read_job_text(text).proto, 1)


def test_faults_of_all_phases_are_found_with_their_places() -> None:
    layer = ("neuralnet", "layer")
    found = find_run_faults(cut(JOB.replace("base_lr: 0.1", "base_lr: -1")))
    assert [(type(e), e.at) for e in found] == [
        (ConfigError, ("updater", "learning_rate", "base_lr")),
        (MissingData, (*layer, 0, "store_conf", "path")),
        (ConfigError, (*layer, 3, "param", 0, "init", "low")),
        (ConfigError, (*layer, 3, "param", 1, "init", "type")),
        (MissingData, (*layer, 1, "sharddata_conf", "path")),
    ]
    assert str(found[1]).startswith("data: train.bin: expected a data file, got nothing there")
    assert str(found[2]).startswith("ip.param[0].init.low: expected at most high: 1.0, got 2.0")


def test_all_are_raised_at_once_those_of_the_job_first() -> None:
    with pytest.raises(ConfigError, match=r"^ip\.param\[0\]\.init\.low: ") as raised:
        check_ready(cut())
    assert raised.value.faults == (raised.value, *raised.value.also)
    assert [type(fault) for fault in raised.value.also] == [ConfigError, MissingData, MissingData]
    assert len(str(raised.value).splitlines()) == 4


def test_a_vector_has_no_fan_in() -> None:
    (_, error, _) = find_run_faults(cut(JOB.replace(" low: 2", "")))
    assert isinstance(error, ConfigError)
    assert (error.who, error.at) == ("ip.param[1].init.type", ("neuralnet", "layer", 3, "param", 1, "init", "type"))


def test_a_net_that_can_run_has_no_faults() -> None:
    text = JOB[: JOB.index("  layer { name")].replace("test_steps: 1", "")
    data = 'layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 3 } }'
    partition = cut(f"{text}{data} }}")
    assert list(find_run_faults(partition)) == []
    check_ready(partition)


@pytest.mark.parametrize("cut", ["partition_dim: 0", "partition_dim: 1"])
def test_a_label_of_a_table_that_is_no_class_is_found_with_its_line(cut: str, tmp_path: Path) -> None:
    (scans(tmp_path, "nc") / "nc-train.csv").write_text("path,label\nscan-0.nii.gz,2\nscan-1.nii.gz,7\n")
    text = f"""
    updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
    neuralnet {{
      layer {{ name: "in" type: kNiftiInput nifti_conf {{ path: "nc-train.csv" batchsize: 2 shape: [2, 2, 2] }} }}
      layer {{ name: "ip" type: kInnerProduct srclayers: "in" innerproduct_conf {{ num_output: 7 }}
        param {{ init {{ type: kConstant }} }} param {{ init {{ type: kConstant }} }} }}
      layer {{ name: "loss" type: kSoftmaxLoss srclayers: ["ip", "in"] {cut} }}
    }}"""
    (error,) = find_run_faults(partition_job(read_job_text(text).proto, 2, tmp_path))
    assert error.at == ("neuralnet", "layer", 0, "nifti_conf", "path")
    assert f"in: {tmp_path}/nc-train.csv:3: expected a class from 0 to 6, got 7; " in str(error)
    wider = read_job_text(text.replace("num_output: 7", "num_output: 8")).proto
    assert list(find_run_faults(partition_job(wider, 2, tmp_path))) == []


def test_a_parameter_shared_within_a_layer_is_filled_once() -> None:
    norm = """
    layer { name: "in" type: kSyntheticInput store_conf { batchsize: 4 shape: 3 } }
    layer { name: "norm" type: kLayerNorm srclayers: "in" norm_conf { axis: 1 }
      param { name: "w" init { type: kConstant } } param { share_from: "w" } }
    layer { name: "loss" type: kSoftmaxLoss srclayers: "norm" srclayers: "in" }"""
    updater = "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }"
    assert list(find_run_faults(cut(f"{updater} neuralnet {{ {norm} }}"))) == []
