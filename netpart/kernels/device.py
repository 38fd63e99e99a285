"""The array module of a device: numpy on the CPU, cupy on a GPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from netpart.choices import DEVICES
from netpart.errors import NetpartError

INSTALL = "in a clone of netpart run pip install -e '.[cuda13]' (cuda12 for older drivers)"


def array_module(device: str) -> tuple[Any, str]:
    """The array module for ``device`` ("auto", "cpu", "cuda" or "cuda:N") and the name of the chosen device.

    "auto" is cuda where cupy is installed and finds a GPU, and else cpu. A GPU that is given by its number becomes the
    current one of this thread. Raises NetpartError for an unknown name, and for cuda where there is no GPU.
    """
    kind, _, number = device.partition(":")
    if kind not in DEVICES or (number and (kind != "cuda" or not number.isdecimal())):
        raise NetpartError(f"--device: expected one of {', '.join(DEVICES)}, got {device!r}; choose one of them")
    if kind != "cpu":
        cupy, missing = _find_cupy()
        if cupy is not None:
            if number:
                cupy.cuda.Device(int(number)).use()
            return cupy, "cuda"
        if kind == "cuda":
            raise NetpartError(f"--device cuda: expected cupy and a GPU, got {missing}")
    return import_module("numpy"), "cpu"


def count_gpus() -> int:
    """The number of GPUs of this host that cupy finds; 0 without cupy."""
    cupy, _ = _find_cupy()
    return 0 if cupy is None else int(cupy.cuda.runtime.getDeviceCount())


def missing_gpu() -> str:
    """Why there is no usable GPU; "" if there is one."""
    return _find_cupy()[1]


def _find_cupy() -> tuple[Any, str]:
    """cupy and "" if it works on this machine; else None and what is missing."""
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        return None, f"{error}; {INSTALL}, or use --device cpu"
    if not cupy.cuda.is_available():
        return None, "no usable GPU; check the driver with nvidia-smi, or use --device cpu"
    return cupy, ""
