from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError, Position
from netpart.proto.job_pb2 import CutProto, JobProto, LayerType, Remainder, Scheme
from netpart.proto.reader import read_job, read_job_text

CONFS = Path(__file__).parents[1] / "data" / "singa" / "conf"
LAYERS = {
    "alexnet/job.conf": 26, "cifar10/cudnn.conf": 17, "cifar10/cudnn_bm.conf": 18, "cifar10/hybrid.conf": 15,
    "cifar10/job.conf": 15, "mnist/conv.conf": 10, "mnist/job.conf": 14,
}  # fmt: skip


def test_the_table_names_every_conf() -> None:
    assert sorted(path.relative_to(CONFS).as_posix() for path in CONFS.glob("*/*.conf")) == sorted(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_singas_confs_are_read(name: str) -> None:
    job = read_job(CONFS / name)
    assert len(job.proto.neuralnet.layer) == LAYERS[name]
    assert job.folder == (CONFS / name).parent
    assert read_job_text(text_format.MessageToString(job.proto)).proto == job.proto


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_of_singas_confs_is_located(name: str) -> None:
    job = read_job(CONFS / name)
    lines = job.text.splitlines()
    for i, layer in enumerate(job.proto.neuralnet.layer):
        at = job.locate(("neuralnet", "layer", i, "name"))
        assert at is not None
        assert lines[at.line - 1][at.column - 1 :].startswith("name")
        assert f'"{layer.name}"' in lines[at.line - 1]


def test_netparts_own_words_are_read() -> None:
    job = read_job_text("""
        seed: 7 dtype: FLOAT64 device: CPU deadline: 2.5 bucket_bytes: 1024
        neuralnet {
          scheme: COLUMN_ROW micro_batches: 4 replicas: 2
          layer {
            name: "fc" type: kAdd remainder: SPREAD location: [0, 2]
            cut { axis: 1 parts: 3 sizes: 2 sizes: 2 sizes: 4 location: 0 location: 1 location: 2 }
            cut { over: INPUT parts: 2 }
            cut { over: REPLICA parts: 2 }
          }
        }""").proto
    layer = job.neuralnet.layer[0]
    assert (job.seed, job.dtype, job.device, job.deadline) == (7, JobProto.FLOAT64, JobProto.CPU, 2.5)
    assert (job.neuralnet.scheme, job.neuralnet.micro_batches) == (Scheme.COLUMN_ROW, 4)
    assert (layer.type, layer.remainder, list(layer.location)) == (LayerType.kAdd, Remainder.SPREAD, [0, 2])
    assert [cut.WhichOneof("what") for cut in layer.cut] == ["axis", "over", "over"]
    assert [cut.over for cut in layer.cut] == [CutProto.AXIS, CutProto.INPUT, CutProto.REPLICA]
    assert list(layer.cut[0].sizes) == [2, 2, 4]


def test_an_unset_partition_dim_is_told_from_minus_one() -> None:
    layers = read_job_text(
        'neuralnet { layer { name: "a" } layer { name: "b" partition_dim: -1 } }'
    ).proto.neuralnet.layer
    assert [(layer.HasField("partition_dim"), layer.partition_dim) for layer in layers] == [(False, -1), (True, -1)]


def test_explain_falls_back_to_the_block_around() -> None:
    job = read_job_text('name: "x"\nneuralnet {\n  layer {\n    name: "a" } }', "job.conf")
    layer = ("neuralnet", "layer", 0)
    error = ConfigError("a", "b", "c", at=(*layer, "param", 1, "name"))
    assert job.explain(error) is error
    assert str(error) == "job.conf:3:3: a: expected b, got c"
    assert job.locate((*layer, "param")) is None
    assert job.explain(ConfigError("a", "b", "c", at=("updater",))).position == Position("job.conf", 1, 1)
    assert job.explain(ConfigError("a", "b", "c")).position is None


def test_explain_keeps_a_position() -> None:
    error = ConfigError("a", "b", "c", at=("name",), position=Position("other.conf", 7, 8))
    assert read_job_text('name: "x"').explain(error).position == Position("other.conf", 7, 8)


def test_a_job_says_what_it_is() -> None:
    assert repr(read_job_text('neuralnet { layer { name: "a" } }', "job.conf")) == "Job(job.conf, 1 layers)"


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "conv.conf").touch()
    with pytest.raises(
        ConfigError, match=r"con\.conf: expected a job configuration file, got .*did you mean conv\.conf"
    ):
        read_job(tmp_path / "con.conf")
    with pytest.raises(ConfigError, match="there is no folder"):
        read_job(tmp_path / "nowhere" / "job.conf")
    with pytest.raises(ConfigError, match=r"got a folder; name a readable file$"):
        read_job(tmp_path)


def test_wrong_bytes_are_located(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_bytes('# é\nname: "é'.encode() + b'\xff"\n')
    with pytest.raises(ConfigError, match="expected UTF-8 text, got byte 0xff; save the file as UTF-8") as caught:
        read_job(path)
    assert caught.value.position == Position(str(path), 2, 9)


def test_a_byte_order_mark_and_dos_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_bytes(b'\xef\xbb\xbfname: "x" # y\r\nseed: 3\r\n')
    job = read_job(path)
    assert (job.proto.name, job.proto.seed) == ("x", 3)
    assert job.locate(("seed",)) == Position(str(path), 2, 1)


def test_a_carriage_return_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_bytes(b'name: "x" # y\rseed: 3\rnam: 4\r')
    with pytest.raises(ConfigError, match=r"job.conf:3:1: .*'nam'; did you mean name"):
        read_job(path)
