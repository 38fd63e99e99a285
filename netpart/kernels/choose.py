"""Which kernels compute on a CPU: the reference ones, or faster ones where this host has what they need."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from netpart.errors import NetpartError
from netpart.kernels.device import array_module

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

AUTO, REFERENCE, ONEDNN = KERNELS = "auto", "reference", "onednn"
"""As options and, in capitals, jobs name them."""
VARIABLE = "NETPART_KERNELS"
"""What "auto" means, in the environment."""
MODULES = {REFERENCE: "netpart.kernels.reference", ONEDNN: "netpart.kernels.onednn.kernels"}
"""Where the class Kernels is."""


class Choice(NamedTuple):
    """Kernels by name; ``why`` says in one line why there are no faster ones, "" where they are what was wanted."""

    name: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name} kernels" + (f" ({self.why})" if self.why else "")


def choose(wanted: str, dtype: str, device: str = "cpu") -> Choice:
    """The kernels for ``dtype`` on ``device`` ("auto", "cpu" or "cuda").

    "auto" is oneDNN where it can be loaded. Raises NetpartError for an unknown name, and for oneDNN that is missing.
    """
    wanted = os.environ.get(VARIABLE, AUTO) if wanted == AUTO else wanted
    if wanted not in KERNELS:
        raise NetpartError(f"--kernels: expected one of {', '.join(KERNELS)}, got {wanted!r}")
    if wanted == REFERENCE:
        return Choice(REFERENCE)
    if dtype != "float32":
        return Choice(REFERENCE, f"{dtype} has no others")
    if device == "cuda" or (device == "auto" and array_module(device)[1] == "cuda"):
        return Choice(REFERENCE, "a GPU has no others")
    missing = refusal()
    if missing and wanted == ONEDNN:
        raise NetpartError(f"--kernels {ONEDNN}: {missing}, or use --kernels {REFERENCE}")
    return Choice(REFERENCE, missing) if missing else Choice(ONEDNN)


def refusal() -> str:
    """Why oneDNN cannot be used here, in one line; "" if it can."""
    from netpart.kernels.onednn.library import refusal

    return refusal()


def named(name: str) -> type[Kernels]:
    """The class of the kernels ``name``."""
    kernels: type[Kernels] = import_module(MODULES[name]).Kernels
    return kernels
