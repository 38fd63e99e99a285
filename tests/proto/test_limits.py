"""What no job can mean is refused when it is read, with its place: numbers out of range, endless lists and strings."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from netpart.errors import ConfigError, Position
from netpart.proto.fields import is_repeated, message_fields
from netpart.proto.job_pb2 import JobProto
from netpart.proto.limits import CHARACTERS, EXTENT, JOB, RANGES, VALUES, WORKERS, Range
from netpart.proto.reader import read_job, read_job_text

BLOCKS = {
    "JobProto": "",
    "EarlyStopProto": "early_stop.",
    "PlateauProto": "updater.learning_rate.plateau_conf.",
    "NetProto": "neuralnet.",
    "ClusterProto": "cluster.",
    "LayerProto": "l.",
    "CutProto": "l.cut[0].",
    "ShardProto": "l.shard[0].",
    "ConvolutionProto": "l.convolution_conf.",
    "PoolingProto": "l.pooling_conf.",
    "UpsamplingProto": "l.upsampling_conf.",
    "StoreProto": "l.store_conf.",
    "TextProto": "l.text_conf.",
    "NiftiProto": "l.nifti_conf.",
    "ImageProto": "l.image_conf.",
    "ArrayProto": "l.array_conf.",
    "TokenProto": "l.token_conf.",
    "DataProto": "l.sharddata_conf.",
    "DeviceProto": "cluster.device[0].",
    "LinkProto": "cluster.link[0].",
    "HostProto": "cluster.host[0].",
}
"""How --set names the blocks of the table in LAYER."""
LAYER = 'neuralnet { layer { name: "l" } }'
LIMITS = [(block, field, found) for block, fields in RANGES.items() for field, found in fields.items()]
FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)


def fields(block: str) -> dict[str, FieldDescriptor]:
    return dict(message_fields(JobProto).items()) if block == "JobProto" else found_in(JobProto, block)


def found_in(root: object, block: str) -> dict[str, FieldDescriptor]:
    """The fields of the message called ``block``, wherever a job has it."""
    waiting, seen = [root.DESCRIPTOR], set()  # type: ignore[attr-defined]
    while waiting:
        here = waiting.pop()
        if here.name == block:
            return dict(here.fields_by_name.items())
        seen.add(here.full_name)
        waiting += [f.message_type for f in here.fields if f.message_type and f.message_type.full_name not in seen]
    raise AssertionError(block)


@pytest.mark.parametrize(("block", "field", "limit"), LIMITS, ids=[f"{b}.{f}" for b, f, _ in LIMITS])
def test_a_number_beyond_its_limit_is_refused_and_the_limit_is_not(block: str, field: str, limit: Range) -> None:
    assert field in fields(block), "a limit of no field"
    path = BLOCKS[block] + field
    required = ["l.sharddata_conf.path=x", "l.sharddata_conf.batchsize=1"] if block == "DataProto" else []
    for value in (limit.low, limit.high):
        if abs(value) < inf:
            read_job_text(LAYER, overrides=[*required, f"{path}={value:.0f}"])
    beyond = [limit.low - 1, *([2 * limit.high] if limit.high < EXTENT / 2 else [])]
    for value in beyond:
        if fields(block)[field].cpp_type not in (FieldDescriptor.CPPTYPE_UINT32,) or value >= 0:
            with pytest.raises(ConfigError, match=f"expected .*, got {value:.0f}"):
                read_job_text(LAYER, overrides=[*required, f"{path}={value:.0f}"])


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_no_number_of_a_job_is_infinite(value: str) -> None:
    for path in ("deadline", "updater.momentum", "updater.learning_rate.base_lr", "cluster.link[0].latency"):
        with pytest.raises(ConfigError, match=r"finite number|or more|to") as caught:
            read_job_text(LAYER, overrides=[f"{path}={value}"])
        assert f"got {value}" in str(caught.value)


def test_a_wrong_number_is_located_and_its_field_explained() -> None:
    with pytest.raises(ConfigError) as raised:
        read_job_text("train_steps: 3\n  test_freq: -2", "job.conf")
    assert raised.value.position == Position("job.conf", 2, 3)
    assert str(raised.value) == (
        "job.conf:2:3: test_freq: expected from 0 to 2147483647, got -2; test_freq is: steps between tests"
    )


def test_lists_and_strings_are_as_long_as_something_can_mean() -> None:
    assert is_repeated(fields("LayerProto")["location"])
    with pytest.raises(ConfigError, match=f"expected at most {VALUES} values, got {VALUES + 1}"):
        read_job_text(LAYER, overrides=[f"l.shift={','.join(['0'] * (VALUES + 1))}"])
    with pytest.raises(ConfigError, match=f"l.user_type: expected at most {CHARACTERS} characters, got 5000"):
        read_job_text(LAYER, overrides=[f"l.user_type={'x' * 5000}"])
    with pytest.raises(ConfigError, match=r"l.user_type: expected text, got a character of value 0"):
        read_job_text('neuralnet { layer { name: "l" user_type: "a\\000b" } }')


def test_what_a_user_wrote_is_quoted_as_far_as_it_can_be_read() -> None:
    with pytest.raises(ConfigError) as raised:
        read_job_text(LAYER, overrides=[f"l.type={'x' * 5000}"])
    assert len(str(raised.value)) < 1200


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "job.conf").touch()
    os.truncate(tmp_path / "job.conf", 1 << 40)
    with pytest.raises(ConfigError, match=f"expected a job configuration file, got more than {JOB >> 20}.0 MiB"):
        read_job(tmp_path / "job.conf")


def test_a_run_has_so_many_members() -> None:
    with pytest.raises(ConfigError, match=rf"l.location\[0\]: expected from 0 to {WORKERS - 1}, got 1000000"):
        read_job_text(LAYER, overrides=["l.location=1000000"])
