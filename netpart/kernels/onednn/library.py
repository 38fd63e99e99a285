"""oneDNN's shared library: finding and loading it, and calls with their status checked."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

from netpart.errors import NetpartError
from netpart.kernels.onednn.names import DnnlStatus

SONAME = "libdnnl.so.3"
CPU, IN_ORDER = 1, 1
_AVX512_ISA, _BFLOAT16_ISA, _AMX_ISA = 0x20, 0x80, 0x800
"""The bits that dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core_bf16 and dnnl_cpu_isa_avx512_core_amx have and all
before them have not."""
HINT = "try --kernels reference"

Handle = ctypes.c_void_p
"""Any of oneDNN's objects."""


class OneDnnRefused(NetpartError):
    """Raised where oneDNN has no fast implementation of a verb, which the reference kernels then have to do."""


class OneDnnLibrary:
    """The loaded library and its CPU engine."""

    def __init__(self, path: str) -> None:
        """Raise OSError if the library or what it needs (libgomp) cannot be loaded."""
        self.path = path
        self.calls = ctypes.CDLL(path)
        self.execute = self.calls.dnnl_primitive_execute
        self.place = self.calls.dnnl_memory_set_data_handle
        self.calls.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.engine = self.create("dnnl_engine_create", CPU, ctypes.c_size_t(0))

    @property
    def has_avx512(self) -> bool:
        """True if the processor has AVX-512 instructions, and ONEDNN_MAX_CPU_ISA permits them."""
        return bool(self.calls.dnnl_get_effective_cpu_isa() & _AVX512_ISA)

    @property
    def multiplies_bfloat16(self) -> bool:
        """True if the processor has AVX512-BF16 or AMX-BF16 instructions, and ONEDNN_MAX_CPU_ISA permits them."""
        return bool(self.calls.dnnl_get_effective_cpu_isa() & _BFLOAT16_ISA)

    @property
    def has_matrix_unit(self) -> bool:
        """True if the processor has AMX-BF16 instructions, and ONEDNN_MAX_CPU_ISA permits them: products in bfloat16
        are then an order of magnitude faster than in float32."""
        return bool(self.calls.dnnl_get_effective_cpu_isa() & _AMX_ISA)

    def call(self, name: str, *args: Any) -> None:
        """Call ``name``; raise OneDnnRefused if it is not implemented and NetpartError if it fails."""
        status = getattr(self.calls, name)(*args)
        # oneDNN returns either of these for a case that it does not support.
        if status in (DnnlStatus.UNIMPLEMENTED, DnnlStatus.INVALID_ARGUMENTS):
            raise OneDnnRefused(f"oneDNN: expected {name} to be supported, got {DnnlStatus(status).name}")
        if status != DnnlStatus.SUCCESS:
            got = f"{DnnlStatus(status).name} ({self.path})"
            raise NetpartError(f"oneDNN: expected {name} to succeed, got {got}; {HINT}")

    def create(self, name: str, *args: Any) -> Handle:
        """The object that ``name`` creates. Raises as ``call`` does."""
        made = Handle()
        self.call(name, ctypes.byref(made), *args)
        return made

    def __repr__(self) -> str:
        return f"oneDNN({self.path})"


class HandleOwner:
    """Owner of ``handle``, which destroys it with ``destroy`` when the last reference is gone."""

    def __init__(self, handle: Handle, destroy: str) -> None:
        self.handle = handle
        self._destroy = getattr(load_onednn().calls, destroy)

    def __del__(self) -> None:
        destroy = getattr(self, "_destroy", None)  # absent if a constructor raised before it got here
        if destroy is not None:
            destroy(self.handle)


def missing_onednn() -> str:
    """Why oneDNN cannot be used on this machine, in one line; empty if it can."""
    found = _find_onednn()
    return found if isinstance(found, str) else ""


def load_onednn() -> OneDnnLibrary:
    """The library, loaded once. Raises NetpartError, naming what is missing."""
    found = _find_onednn()
    if isinstance(found, str):
        raise NetpartError(found)
    return found


@cache
def _find_onednn() -> OneDnnLibrary | str:
    """The first library that loads, of the Python environment or of the system; else what is missing."""
    tried = []
    for path in (str(Path(sys.prefix, "lib", SONAME)), SONAME):
        try:
            return OneDnnLibrary(path)
        except OSError as error:
            tried.append(str(error))
    return f"oneDNN: {'; '.join(tried)}; pip install onednn-cpu-gomp, which needs libgomp"
