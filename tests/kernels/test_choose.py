"""Which kernels are chosen, and what is said where there are no faster ones."""

from __future__ import annotations

import pytest

from netpart.choices import AUTO, KERNELS
from netpart.errors import NetpartError
from netpart.kernels import choose as chooser
from netpart.kernels.choose import MODULES, Choice, check_precision, choose, named
from netpart.proto.job_pb2 import KernelSet


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(chooser.VARIABLE, raising=False)


def test_kernels_have_one_name_everywhere() -> None:
    named_by_jobs = [name.lower() for name, _ in KernelSet.Name.items()]
    assert named_by_jobs == [*KERNELS] == [AUTO, *MODULES]


def test_auto_is_onednn_where_it_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "refusal", lambda: "")
    assert choose("auto", "float32") == Choice("onednn")
    assert named("onednn").channels_last


def test_auto_says_why_it_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "refusal", lambda: "no library")
    assert str(choose("auto", "float32")) == "reference kernels (no library)"
    with pytest.raises(NetpartError, match="--kernels onednn: no library, or use --kernels reference"):
        choose("onednn", "float32")


@pytest.mark.parametrize("wanted", ["auto", "onednn"])
def test_float64_has_the_reference_alone_on_a_cpu(wanted: str) -> None:
    assert choose(wanted, "float64") == Choice("reference", "float64 has no others")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gpu_has_kernels_of_its_own(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "slower", lambda: "no cuDNN")
    assert str(choose("cuda", dtype, "cuda")) == "cuda kernels (no cuDNN)"
    monkeypatch.setattr(chooser, "slower", lambda: "")
    assert choose("auto", dtype, "cuda") == choose("cuda", dtype, "cuda") == Choice("cuda")
    assert choose("onednn", dtype, "cuda") == Choice("cuda", "oneDNN is for CPUs")
    assert choose("reference", dtype, "cuda") == Choice("reference")


def test_cuda_on_a_cpu_is_refused() -> None:
    with pytest.raises(NetpartError, match="--kernels cuda: expected a GPU, got --device cpu"):
        choose("cuda", "float32", "cpu")


@pytest.mark.parametrize(
    ("dtype", "kernels", "wrong"),
    [("float32", "onednn", "expected cuda kernels, got onednn"), ("float64", "cuda", "expected --dtype float32")],
)
def test_a_precision_that_means_nothing_is_refused(dtype: str, kernels: str, wrong: str) -> None:
    check_precision("float32", dtype, kernels)
    with pytest.raises(NetpartError, match=f"--precision tf32: {wrong}"):
        check_precision("tf32", dtype, kernels)


def test_the_environment_says_what_auto_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chooser.VARIABLE, "reference")
    assert choose("auto", "float32") == Choice("reference")
    monkeypatch.setenv(chooser.VARIABLE, "fast")
    wrong = "expected one of auto, reference, onednn, cuda, got 'fast'"
    with pytest.raises(NetpartError, match=f"{chooser.VARIABLE}: {wrong}"):
        choose("auto", "float32")
    with pytest.raises(NetpartError, match=f"--kernels: {wrong}"):
        choose("fast", "float32")
    monkeypatch.setenv(chooser.VARIABLE, "cuda")
    with pytest.raises(NetpartError, match=f"{chooser.VARIABLE} cuda: expected a GPU, got --device cpu"):
        choose("auto", "float32", "cpu")
