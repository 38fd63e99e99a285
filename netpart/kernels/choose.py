"""The choice of the kernels: CUDA on a GPU, oneDNN where a CPU has it, else the reference."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from netpart.choices import AUTO, BFLOAT16, CUDA, KERNELS, ONEDNN, PRECISIONS, REFERENCE
from netpart.errors import NetpartError
from netpart.kernels.device import array_module

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

VARIABLE = "NETPART_KERNELS"
"""The environment variable that sets what "auto" chooses."""
MODULES = {
    REFERENCE: "netpart.kernels.reference",
    ONEDNN: "netpart.kernels.onednn.kernels",
    CUDA: "netpart.kernels.cuda.kernels",
}
"""By name, the module that has the class Kernels."""


class KernelChoice(NamedTuple):
    """Kernels by name; ``why`` is one line on why there are no faster ones, "" if the choice is the wanted one."""

    name: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name} kernels" + (f" ({self.why})" if self.why else "")


def choose_kernels(wanted: str, dtype: str, device: str = "cpu") -> KernelChoice:
    """The kernels for ``dtype`` on ``device`` ("auto", "cpu" or "cuda").

    "auto" is CUDA on a GPU, and oneDNN where it can be loaded. Raises NetpartError for an unknown name, for oneDNN that
    is missing, and for CUDA on a CPU.
    """
    asks, wanted = (VARIABLE, os.environ.get(VARIABLE, AUTO)) if wanted == AUTO else ("--kernels", wanted)
    if wanted not in KERNELS:
        raise NetpartError(f"{asks}: expected one of {', '.join(KERNELS)}, got {wanted!r}; choose one of them")
    if wanted == REFERENCE:
        return KernelChoice(REFERENCE)
    if device == "cuda" or (device == "auto" and array_module(device)[1] == "cuda"):
        return KernelChoice(CUDA, "oneDNN is for CPUs" if wanted == ONEDNN else probe_cudnn())
    if wanted == CUDA:
        raise NetpartError(f"{asks} {CUDA}: expected a GPU, got --device {device}; use --device cuda where one is")
    if dtype != "float32":
        return KernelChoice(REFERENCE, f"{dtype} has no others")
    missing = probe_onednn()
    if missing and wanted == ONEDNN:
        raise NetpartError(f"{asks} {ONEDNN}: {missing}, or use --kernels {REFERENCE}")
    return KernelChoice(REFERENCE, missing) if missing else KernelChoice(ONEDNN)


def check_precision(precision: str, dtype: str, kernels: str, device: str = "cpu") -> None:
    """Raise NetpartError for a ``precision`` of PRECISIONS that ``kernels`` in ``dtype`` do not have on ``device``."""
    if precision == PRECISIONS[0]:
        return
    who = f"--precision {precision}"
    if dtype != "float32":
        raise NetpartError(f"{who}: expected --dtype float32, got {dtype}; omit --precision")
    if kernels == CUDA:
        return
    if precision != BFLOAT16 or array_module(device)[1] == "cuda":
        raise NetpartError(f"{who}: expected {CUDA} kernels, got {kernels}; omit --precision")
    if kernels == ONEDNN and not has_bfloat16():
        expected = "a processor with AVX512-BF16 or AMX-BF16 instructions"
        raise NetpartError(f"{who}: expected {expected}, got one that has neither; omit --precision")


def has_bfloat16() -> bool:
    """True if this processor multiplies bfloat16, and oneDNN uses that."""
    from netpart.kernels.onednn.library import load_onednn

    return load_onednn().multiplies_bfloat16


def has_avx512() -> bool:
    """True if oneDNN is there, and uses AVX-512 instructions of this processor."""
    from netpart.kernels.onednn.library import load_onednn

    return not probe_onednn() and load_onednn().has_avx512


def probe_cudnn() -> str:
    """What is missing for cuDNN on a GPU, in one line; "" if nothing is."""
    # Imported here: a CPU worker needs none of the CUDA modules.
    from netpart.kernels.cuda.dnn import missing_cudnn

    return missing_cudnn()


def probe_onednn() -> str:
    """Why oneDNN cannot be used on this machine, in one line; "" if it can."""
    from netpart.kernels.onednn.library import missing_onednn

    return missing_onednn()


def kernel_class(name: str) -> type[Kernels]:
    """The class of the kernels ``name``."""
    kernels: type[Kernels] = import_module(MODULES[name]).Kernels
    return kernels
