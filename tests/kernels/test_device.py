from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from netpart.errors import NetpartError
from netpart.kernels.device import array_module


def pretend_cupy(patch: pytest.MonkeyPatch, module: object) -> None:
    """Puts ``module`` in cupy's place; None makes its import fail."""
    patch.setitem(sys.modules, "cupy", module)


def cupy_with(available: bool) -> SimpleNamespace:
    return SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: available))


def test_cpu_is_numpy_even_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cupy(monkeypatch, cupy_with(True))
    assert array_module("cpu") == (np, "cpu")


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_usable_gpu_is_taken(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    cupy = cupy_with(True)
    pretend_cupy(monkeypatch, cupy)
    assert array_module(device) == (cupy, "cuda")


@pytest.mark.parametrize("cupy", [None, cupy_with(False)])
def test_auto_falls_back_to_the_cpu(monkeypatch: pytest.MonkeyPatch, cupy: object) -> None:
    pretend_cupy(monkeypatch, cupy)
    assert array_module("auto") == (np, "cpu")


def test_missing_cuda_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cupy(monkeypatch, None)
    with pytest.raises(NetpartError, match=r"run pip install -e '\.\[cuda13\]' \(cuda12 for older"):
        array_module("cuda")
    pretend_cupy(monkeypatch, cupy_with(False))
    with pytest.raises(NetpartError, match="no usable GPU"):
        array_module("cuda")


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(NetpartError, match="expected one of auto, cpu, cuda, got 'tpu'"):
        array_module("tpu")
