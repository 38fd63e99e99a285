from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.proto.job_pb2 import LayerProto, Phase
from netpart.proto.phase import in_phase
from netpart.proto.reader import read_job_text


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ([], [], ["train", "val", "test"]),
        ([Phase.kTrain], [], ["train"]),
        ([Phase.kVal, Phase.kTest], [], ["val", "test"]),
        ([], [Phase.kTrain], ["val", "test"]),
        ([Phase.kDeploy], [], []),
    ],
)
def test_in_phase(include: list[Phase], exclude: list[Phase], expected: list[str]) -> None:
    layer = LayerProto(name="a", include=include, exclude=exclude)
    assert [phase for phase in ("train", "val", "test") if in_phase(layer, phase)] == expected


def test_one_layer_with_both_is_an_error() -> None:
    layer = LayerProto(name="a", include=[Phase.kTrain], exclude=[Phase.kTest])
    with pytest.raises(ConfigError, match="a: expected include or exclude, got both") as caught:
        in_phase(layer, "train", ("neuralnet", "layer", 4))
    assert caught.value.at == ("neuralnet", "layer", 4, "exclude")


def test_two_styles_in_one_conf_are_an_error() -> None:
    text = """neuralnet {
  layer { name: "a" include: kTrain }
  layer {
    name: "b"
    exclude: kTest
  }
}"""
    with pytest.raises(ConfigError, match=r"^job.conf:5:5: b: expected include, as layer a has it, got exclude"):
        read_job_text(text, "job.conf")
