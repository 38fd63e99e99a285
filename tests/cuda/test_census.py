"""The page says what a step asks of a GPU, and it does not grow unnoticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import sized
from benchmarks.nets import NETS, job
from benchmarks.prepare import costs
from tests.cuda.module import ON_GPU
from tests.house.tree import ROOT
from tools.gpu_census import census, line, main

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.skipif(ON_GPU, reason="it is counted without a GPU")]

LARGE = "alexnet", "resnet18", "unet3d"
ALL = pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LARGE)) for n in NETS])


@ALL
def test_the_page_has_the_figures_of_today(name: str, tmp_path: Path) -> None:
    net = sized(NETS[name])
    asked, least = census(net, "tf32")
    said = "| " + " | ".join(line(net, asked, least)) + " |"
    page = (ROOT / "docs/gpu-results.md").read_text()
    assert said in page, f"docs/gpu-results.md: expected {said}; python -m tools.gpu_census prints all rows"
    flops, _ = costs(job(net, 1), tmp_path)
    assert 0.9 * flops < sum(each.flops for each in asked) < 1.1 * flops  # attention computes its scores again


@ALL
def test_bfloat16_takes_no_longer_than_tf32(name: str) -> None:
    narrow, wide = (
        sum(each.seconds for each in census(sized(NETS[name]), precision)[0]) for precision in ("bfloat16", "tf32")
    )
    assert narrow <= 1.001 * wide


def test_a_convolution_counts_at_the_rate_of_the_precision_that_it_has() -> None:
    asked, _ = census(sized(NETS["lenet"]), "bfloat16")
    assert {each.precision for each in asked if each.grid == "cuDNN"} == {"tf32"}
    assert {each.precision for each in asked if each.grid == "cuBLAS"} == {"bfloat16"}


def test_every_launch_is_listed() -> None:
    said: list[str] = []
    main(["--nets", "mlp", "--each"], said.append)
    assert sum("cuBLAS" in each for each in said) == 17
    assert "sgd" in said[-1]


def test_the_command_counts_each_precision_where_no_gpu_is() -> None:
    """In a process of its own, in which nothing stands for a GPU."""
    command = [sys.executable, "-m", "tools.gpu_census", "--nets", "mlp", "--precision", "bfloat16"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "MNIST MLP" in done.stdout, done.stderr
