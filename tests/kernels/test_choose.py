"""Which kernels are chosen, and what is said where there are no faster ones."""

from __future__ import annotations

import pytest

from netpart.choices import AUTO, KERNELS
from netpart.errors import NetpartError
from netpart.kernels import choose as chooser
from netpart.kernels.choose import MODULES, KernelChoice, check_precision, choose_kernels, kernel_class
from netpart.proto.job_pb2 import KernelSet


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(chooser.VARIABLE, raising=False)


def test_kernels_have_one_name_everywhere() -> None:
    named_by_jobs = [name.lower() for name, _ in KernelSet.Name.items()]
    assert named_by_jobs == [*KERNELS] == [AUTO, *MODULES]


def test_auto_is_onednn_where_it_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "probe_onednn", lambda: "")
    assert choose_kernels("auto", "float32") == KernelChoice("onednn")
    assert kernel_class("onednn").channels_last


def test_auto_says_why_it_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "probe_onednn", lambda: "no library")
    assert str(choose_kernels("auto", "float32")) == "reference kernels (no library)"
    with pytest.raises(NetpartError, match="--kernels onednn: no library, or use --kernels reference"):
        choose_kernels("onednn", "float32")


@pytest.mark.parametrize("wanted", ["auto", "onednn"])
def test_float64_has_the_reference_alone_on_a_cpu(wanted: str) -> None:
    assert choose_kernels(wanted, "float64") == KernelChoice("reference", "float64 has no others")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gpu_has_kernels_of_its_own(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "probe_cudnn", lambda: "no cuDNN")
    assert str(choose_kernels("cuda", dtype, "cuda")) == "cuda kernels (no cuDNN)"
    monkeypatch.setattr(chooser, "probe_cudnn", lambda: "")
    assert choose_kernels("auto", dtype, "cuda") == choose_kernels("cuda", dtype, "cuda") == KernelChoice("cuda")
    assert choose_kernels("onednn", dtype, "cuda") == KernelChoice("cuda", "oneDNN is for CPUs")
    assert choose_kernels("reference", dtype, "cuda") == KernelChoice("reference")


def test_cuda_on_a_cpu_is_refused() -> None:
    with pytest.raises(NetpartError, match="--kernels cuda: expected a GPU, got --device cpu"):
        choose_kernels("cuda", "float32", "cpu")


@pytest.mark.parametrize(
    ("dtype", "kernels", "wrong"),
    [("float32", "onednn", "expected cuda kernels, got onednn"), ("float64", "cuda", "expected --dtype float32")],
)
def test_a_precision_that_means_nothing_is_refused(dtype: str, kernels: str, wrong: str) -> None:
    check_precision("float32", dtype, kernels)
    with pytest.raises(NetpartError, match=f"--precision tf32: {wrong}"):
        check_precision("tf32", dtype, kernels)


def test_the_reference_has_bfloat16_on_cpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    check_precision("bfloat16", "float32", "reference", "cpu")
    monkeypatch.setattr(chooser, "array_module", lambda device: (None, "cuda"))
    with pytest.raises(NetpartError, match="expected cuda kernels, got reference"):
        check_precision("bfloat16", "float32", "reference", "cuda")


def test_bfloat16_is_refused_where_the_processor_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "has_bfloat16", lambda: False)
    with pytest.raises(NetpartError, match="expected a processor with AVX512-BF16 or AMX-BF16 instructions"):
        check_precision("bfloat16", "float32", "onednn")


def test_the_environment_says_what_auto_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chooser.VARIABLE, "reference")
    assert choose_kernels("auto", "float32") == KernelChoice("reference")
    monkeypatch.setenv(chooser.VARIABLE, "fast")
    wrong = "expected one of auto, reference, onednn, cuda, got 'fast'"
    with pytest.raises(NetpartError, match=f"{chooser.VARIABLE}: {wrong}"):
        choose_kernels("auto", "float32")
    with pytest.raises(NetpartError, match=f"--kernels: {wrong}"):
        choose_kernels("fast", "float32")
    monkeypatch.setenv(chooser.VARIABLE, "cuda")
    with pytest.raises(NetpartError, match=f"{chooser.VARIABLE} cuda: expected a GPU, got --device cpu"):
        choose_kernels("auto", "float32", "cpu")
