"""All that is wrong with a job is reported at once: its settings, names, types, shapes and cuts, in every phase."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netpart
from netpart.errors import SHOWN, ConfigError, DataError, JobError, MissingData, combine_faults
from netpart.layers import layer_type_names
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder

RBM = """train_one_batch { alg: kCD }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 10 shape: 784 } }
  layer { name: "vis" type: kRBMVis srclayers: "data" srclayers: "hid" rbm_conf { hdim: 10 } }
  layer { name: "hid" type: kRBMHid srclayers: "vis" rbm_conf { hdim: 10 } }
  layer { name: "after" type: kReLU srclayers: "hid" }
  layer { name: "pool" type: kPooling srclayers: "data" }
  layer { name: "lost" type: kReLU srclayers: "dat" }
}
"""
MEAN = 'kRecordInput include: kTrain store_conf { path: "a.bin" batchsize: 4 shape: 3 mean_file: "m.bin" }'


def faults(text: str, workers: int = 1, folder: Path | None = None) -> list[str]:
    """Every fault of the job ``text``, as a line."""
    with pytest.raises(JobError) as raised:
        netpart.partition(read_job_text(text, "job.conf"), workers)
    return raised.value.lines()


def test_types_that_are_not_computed_are_no_cycle() -> None:
    found = faults(RBM)
    assert [line.split(":", 4)[1:4] for line in found] == [
        ["1", "19", " train_one_batch.alg"], ["4", "23", " vis"], ["5", "23", " hid"], ["8", "36", " lost"],
        ["7", "3", " pool"],
    ]  # fmt: skip
    assert "kRBMVis; the language has its name, netpart does not compute it; docs/layers.md lists" in found[1]


def test_a_refusal_names_the_nearest_types_and_not_all() -> None:
    for type_name in ("kGRU", 'kUserLayer user_type: "kRelu"', 'kUserLayer user_type: "Zebra"'):
        (line,) = faults(f'neuralnet {{ layer {{ name: "x" type: {type_name} }} }}')
        assert sum(name in line for name in layer_type_names()) <= 3
        assert len(line) < 240
    assert "did you mean kReLU or kPReLU" in line or "docs/layers.md lists them" in line


def test_what_replaces_a_type_is_said() -> None:
    (line,) = faults('neuralnet { layer { name: "x" type: kOneHot } }')
    assert "try kEmbedding; " in line


def test_cuts_of_several_layers_are_refused_together() -> None:
    text = """neuralnet {
      layer { name: "data" type: kSyntheticInput location: 7 store_conf { batchsize: 10 shape: 784 } }
      layer { name: "r" type: kReLU srclayers: "data" partition_dim: 5 }
      layer { name: "s" type: kReLU srclayers: "r" partition_dim: 0 }
      layer { name: "t" type: kReLU srclayers: "r" location: 9 }
      layer { name: "u" type: kReLU srclayers: "r" } }"""
    assert [line.split(":")[1] for line in faults(text, 2)] == ["2", "3", "5"]
    for scheme in ("DATA", "NAIVE"):
        found = faults(text.replace("neuralnet {", f"neuralnet {{ scheme: {scheme}"), 2)
        assert [line.split(":")[1] for line in found] == ["2", "3", "5"]


def test_the_same_fault_in_two_phases_is_one() -> None:
    text = """test_steps: 1 validate_steps: 1 neuralnet {
      layer { name: "data" type: kSyntheticInput include: kTrain store_conf { batchsize: 8 shape: 4 } }
      layer { name: "data" type: kSyntheticInput include: [kTest, kVal] store_conf { batchsize: 4 shape: 4 } }
      layer { name: "r" type: kReLU srclayers: "data" partition_dim: 5 }
      layer { name: "only" type: kPooling include: kTest srclayers: "data" } }"""
    assert [line.split(":")[1] for line in faults(text, 2)] == ["4", "5"]


def test_ten_are_listed_and_the_others_counted() -> None:
    layers = "\n".join(f'layer {{ name: "l{i}" type: kGRU }}' for i in range(SHOWN + 5))
    *listed, last = faults(f"neuralnet {{ {layers} }}")
    assert len(listed) == SHOWN
    assert last == "and 5 more, which are listed once some of these are corrected"


def test_an_error_keeps_its_kind_and_those_of_the_job_come_first() -> None:
    both = combine_faults([MissingData("a: gone"), ConfigError("x", "y", "z"), DataError("b: broken")])
    assert isinstance(both, ConfigError)
    assert both.lines() == ["x: expected y, got z", "a: gone", "b: broken"]
    assert combine_faults([both]).lines() == both.lines()


def test_two_faults_of_one_field_are_both_listed() -> None:
    at = ("neuralnet", "layer", 0, "srclayers", 0)
    found = [ConfigError("a", "x", "1", at=at), ConfigError("a", "y", "1", at=at), ConfigError("a", "x", "2", at=at)]
    assert combine_faults(found).lines() == ["a: expected x, got 1", "a: expected y, got 1"]


def test_a_fault_of_two_phases_is_listed_once() -> None:
    proto = read_job(zoo_folder() / "mnist/conv.conf", ["conv1.convolution_conf.num_filters=2147483647"])
    with pytest.raises(ConfigError) as raised:
        netpart.partition(proto)
    assert [line for line in raised.value.lines() if "conv1: expected an output" in line] == raised.value.lines()[:1]
    assert len(raised.value.lines()) == 1


def test_an_input_of_another_phase_is_named_as_one() -> None:
    job = read_job(zoo_folder() / "mnist/conv.conf", ["conv1.include=kTest"])
    with pytest.raises(ConfigError) as raised:
        netpart.partition(job)
    assert raised.value.describe() == (
        "pool1: expected srclayers that exist in phase train, got 'conv1'; conv1 is only in phase test; "
        "drop its include, or add include: kTrain"
    )


def test_neither_a_layer_nor_what_reads_it_is_offered_as_its_source() -> None:
    text = """neuralnet {
      layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 3 } }
      layer { name: "relu1" type: kReLU srclayers: "relu" }
      layer { name: "relu2" type: kReLU srclayers: "relu1" }
    }"""
    (line,) = faults(text)
    assert line.endswith("relu1: expected srclayers that exist in phase train, got 'relu'; known: data")


def test_a_shard_that_is_missing_is_blamed_on_the_layer_that_names_it() -> None:
    text = """neuralnet {
      layer { name: "data" type: kShardData sharddata_conf { path: "absent/shard" batchsize: 4 } }
      layer { name: "pixels" type: kMnist srclayers: "data" }
      layer { name: "label" type: kLabel srclayers: "data" }
    }"""
    (line,) = faults(text)
    assert line.startswith("job.conf:2:62: data: absent/shard: expected a data file, got nothing there; ")


def test_a_mean_file_that_is_missing_is_blamed_on_its_field(tmp_path: Path) -> None:
    from netpart.data.stores.record import Record, encode_record
    from netpart.data.stores.store import KvWriter
    from netpart.graph.partition import partition_job
    from netpart.graph.ready import find_run_faults as missing

    with KvWriter(tmp_path / "a.bin") as writer:
        writer.put(b"0", encode_record(Record.from_array(np.ones(3), 0)))
    updater = "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }"
    job = read_job_text(f'{updater} neuralnet {{ layer {{ name: "data" type: {MEAN} }} }}')
    (error,) = missing(partition_job(job.proto, 1, tmp_path))
    assert error.at == ("neuralnet", "layer", 0, "store_conf", "mean_file")
