from __future__ import annotations

import re

import pytest

from netpart.errors import ConfigError
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType, PoolingProto
from netpart.proto.reader import Job, read_job_text

TEXT = """name: "net"
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.5 } }
neuralnet {
  layer { name: "data" type: kRecordInput include: kTrain store_conf { path: "train.bin" } }
  layer { name: "data" type: kRecordInput include: kTest store_conf { path: "test.bin" } }
  layer { name: "conv1" location: 5 param { name: "w" } param { name: "b" } pooling_conf { } }
  layer { name: "conv1.a-b" }
  layer { name: "seed" }
}
"""
DATA, TEST, CONV, DOTTED, SEED = range(5)


def read(*overrides: str) -> Job:
    return read_job_text(TEXT, "job.conf", overrides)


def layer(i: int, *overrides: str) -> LayerProto:
    return read(*overrides).proto.neuralnet.layer[i]


def test_a_field_of_a_layer() -> None:
    changed = layer(CONV, "conv1.partition_dim=0")
    assert changed.HasField("partition_dim")
    assert changed.partition_dim == 0


def test_a_field_of_the_job() -> None:
    job = read("updater.learning_rate.base_lr=0.125", "train_steps = 7", "dtype=FLOAT64").proto
    assert job.updater.learning_rate.base_lr == 0.125
    assert (job.train_steps, job.dtype) == (7, JobProto.FLOAT64)


def test_a_name_stands_for_every_layer_of_that_name() -> None:
    job = read("data.store_conf.batchsize=32").proto
    assert [list(entry.store_conf.batchsize) for entry in job.neuralnet.layer[:2]] == [[32], [32]]


@pytest.mark.parametrize(("phase", "expected"), [("train", ["x=y", "test.bin"]), ("test", ["train.bin", "x=y"])])
def test_a_phase_picks_one_of_them(phase: str, expected: list[str]) -> None:
    job = read(f"data@{phase}.store_conf.path=x=y").proto
    assert [entry.store_conf.path for entry in job.neuralnet.layer[:2]] == expected


def test_a_name_with_dots_and_dashes_wins_over_its_beginning() -> None:
    assert layer(DOTTED, "conv1.a-b.type=kReLU").type == LayerType.kReLU


@pytest.mark.parametrize(
    ("text", "expected"),
    [("conv1.location=0,1, 2", [0, 1, 2]), ("conv1.location=", []), ("conv1.location[0]=3", [3]),
     ("conv1.location[1]=3", [5, 3])],
)  # fmt: skip
def test_repeated_fields(text: str, expected: list[int]) -> None:
    assert list(layer(CONV, text).location) == expected


@pytest.mark.parametrize(
    "field", ["type", "partition_dim", "location", "convolution_conf", "user_type", "share_src_blobs", "param"]
)
def test_no_value_clears_any_field(field: str) -> None:
    given = (
        "conv1.type=kReLU", "conv1.partition_dim=1", "conv1.convolution_conf.kernel=5", "conv1.user_type=kMine",
        "conv1.share_src_blobs=true",
    )  # fmt: skip
    filled = {known.name for known, _ in layer(CONV, *given).ListFields()}
    assert {known.name for known, _ in layer(CONV, *given, f"conv1.{field}=").ListFields()} == filled - {field}
    assert field in filled


def test_clearing_adds_nothing() -> None:
    assert layer(CONV, "conv1.store_conf.path=") == layer(CONV)
    assert [param.name for param in layer(CONV, "conv1.param[0]=").param] == [layer(CONV).param[1].name]


def test_repeated_blocks_by_index() -> None:
    changed = layer(CONV, "conv1.param[1].init.std=0.5", "conv1.cut[0].axis=1", "conv1.cut[0].sizes=2,4")
    assert changed.param[1].init.std == 0.5
    assert not changed.param[0].HasField("init")
    assert (changed.cut[0].axis, list(changed.cut[0].sizes)) == (1, [2, 4])


def test_values_of_every_kind() -> None:
    job = read(
        "conv1.pooling_conf.pool=AVG", "conv1.pooling_conf.stride=3", "seed@train.type=kReLU", "debug=true",
        "neuralnet.layer[2].param[0].lr_scale=2", "data.store_conf.shape=1,28,28", "name=a b", "checkpoint_path=a,b",
    ).proto  # fmt: skip
    conv = job.neuralnet.layer[CONV]
    assert (conv.pooling_conf.pool, conv.pooling_conf.stride) == (PoolingProto.AVG, 3)
    assert (job.debug, job.name, list(job.checkpoint_path)) == (True, "a b", ["a", "b"])
    assert conv.param[0].lr_scale == 2
    assert list(job.neuralnet.layer[TEST].store_conf.shape) == [1, 28, 28]


def test_later_overrides_win() -> None:
    assert read("train_steps=1", "train_steps=2").proto.train_steps == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv1.partition_dim", "expected TARGET.FIELD=VALUE, got 'conv1.partition_dim'; e.g. --set"),
        ("conv2.type=kReLU", "expected a layer or a field of the job, got 'conv2'; did you mean conv1"),
        ("data@tets.type=kReLU", "got 'data@tets'; did you mean data@test"),
        ("data@val.type=kReLU", "got 'data@val'; did you mean"),
        ("trian_steps=3", "got 'trian_steps'; did you mean train_steps"),
        ("conv1=3", "expected a field of the layer, got none; write conv1.FIELD=VALUE"),
        ("conv1.partiton_dim=3", "expected a field of LayerProto, got 'partiton_dim'; did you mean partition_dim"),
        ("conv1.kernel=3", "got 'kernel'; did you mean pooling_conf.kernel?"),
        ("conv1.window=3", "got 'window'; did you mean text_conf.window or token_conf.window?"),
        ("conv1.partition_dim=x", "expected a whole number of 32 bits, got 'x'"),
        ("conv1.partition_dim=99999999999", "expected a whole number of 32 bits, got '99999999999'"),
        ("conv1.param[2]=", "expected an index up to 1, got [2]; param has 2 elements"),
        ("conv1.cut[0]=", "expected an element that exists, got [0]; cut has 0 elements"),
        ("conv1.type=kConvolutoin", "expected a value of LayerType, got 'kConvolutoin'; did you mean kConvolution"),
        ("updater.momentum=fast", "expected a number, got 'fast'"),
        ("updater.momentum=0,9", "got '0,9'; numbers have a point, not a comma: momentum=0.9"),
        ("train_steps=1e3", "got '1e3'; write it in digits: train_steps=1000"),
        ("train_steps=20.0", "got '20.0'; write it in digits: train_steps=20"),
        ("data.store_conf.shape=3 8 8", "got '3 8 8'; separate them by commas: shape=3,8,8"),
        ("conv1.pooling_conf.kernel=3,3", "got '3,3'; kernel takes one number: kernel=3"),
        ("conv1.pooling_conf.pad=same", "got 'same'; pad is: border on each side of every spatial axis"),
        ("debug=on", "got 'on'; write debug=true or debug=false"),
        ("conv1.location=0,b", "expected a whole number of 32 bits, got 'b'"),
        ("conv1.param.init.std=1", "expected param[INDEX], got param; there are 2, counted from 0"),
        ("conv1.param[3].name=x", "expected an index up to 2, got [3]; param has 2 elements"),
        ("conv1.type[0]=kReLU", "expected type without an index, got [0]"),
        ("conv1.pooling_conf=3", "expected a field that holds a value, got pooling_conf, a block; go on with"),
        ("conv1.type.x=3", "expected a block, got type, which holds a value of LayerType; stop at type"),
        ("conv1.param[x].name=y", "expected a field of LayerProto, got 'param[x]'; did you mean param"),
        ("seed.type=kReLU", "got 'seed', which is both; for the layer write neuralnet.layer[4], or rename it"),
    ],
)
def test_errors_quote_the_override_and_say_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        read(text)
    assert str(caught.value).startswith(f"--set {text}: ")


def test_an_error_about_an_overridden_field_points_at_the_override() -> None:
    job = read("conv1.location=0,1", "conv1.cut[0].axis=1")
    conv = ("neuralnet", "layer", CONV)
    error = job.explain(ConfigError("conv1", "a", "b", at=(*conv, "location", 0)))
    assert str(error) == "--set conv1.location=0,1: conv1: expected a, got b"
    assert str(job.locate((*conv, "cut", 0, "parts"))) == "--set conv1.cut[0].axis=1"
    assert str(job.locate((*conv, "param", 1))) == "job.conf:6:57"


def test_a_field_that_an_override_breaks_is_explained_by_it() -> None:
    with pytest.raises(ConfigError, match=r"^--set conv1.exclude=kTest: conv1: expected include"):
        read("conv1.exclude=kTest")
