"""Which kernels are chosen, and what is said where there are no faster ones."""

from __future__ import annotations

import pytest

from netpart.errors import NetpartError
from netpart.kernels import choose as chooser
from netpart.kernels.choose import AUTO, KERNELS, MODULES, Choice, choose, named
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
def test_float64_and_gpus_have_the_reference_alone(wanted: str) -> None:
    assert choose(wanted, "float64") == Choice("reference", "float64 has no others")
    assert choose(wanted, "float32", "cuda") == Choice("reference", "a GPU has no others")


def test_the_environment_says_what_auto_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chooser.VARIABLE, "reference")
    assert choose("auto", "float32") == Choice("reference")
    monkeypatch.setenv(chooser.VARIABLE, "fast")
    with pytest.raises(NetpartError, match="expected one of auto, reference, onednn, got 'fast'"):
        choose("auto", "float32")
