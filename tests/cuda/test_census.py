"""What a step asks of a GPU does not grow unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gpu import sized
from benchmarks.nets import NETS
from benchmarks.prepare import prepare
from tests.cuda.module import ON_GPU
from tools.gpu_census import HEAD, census, line, main

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.skipif(ON_GPU, reason="it is counted without a GPU")]
MOST = {"lenet": 31, "mlp": 34, "gpt": 233}
"""Launches of a step."""


@pytest.mark.parametrize("name", MOST)
def test_a_step_has_no_more_launches_than_it_had(name: str, tmp_path: Path) -> None:
    net = sized(NETS[name])
    asked, least = census(net, "tf32")
    assert len(asked) <= MOST[name]
    assert least <= sum(each.moved for each in asked) < 1.7 * least
    flops = sum(each.flops for each in asked)
    assert 0.9 * prepare(net, tmp_path).flops < flops < prepare(net, tmp_path).flops
    assert len(line(net, asked, least, "tf32")) == len(HEAD)


def test_every_launch_is_listed() -> None:
    said: list[str] = []
    main(["--nets", "mlp", "--each"], said.append)
    assert sum("cuBLAS" in each for each in said) == 17
    assert "sgd" in said[-1]
