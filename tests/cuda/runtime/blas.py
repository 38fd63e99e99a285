"""cuBLAS: products are those of the emulation, tests/cuda/emulator/cublas.cpp; all else that CuPy links to refuses."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from tests.cuda.runtime.patch import built, wanted
from tests.cuda.runtime.streams import LOCK, Stream, found

PRODUCTS = (Path(__file__).parents[1] / "emulator/cublas.cpp").read_text()
REFUSAL = 'extern "C" int {}() {{ return 15; }}\n'
"""CUBLAS_STATUS_NOT_SUPPORTED."""
KEPT: list[Any] = []


def load(linked: Path, soname: str = "libcublas.so.13") -> None:
    """Makes the library that ``linked``, of CuPy, is linked to."""
    others = [name for name in wanted(linked, "cublas") if f" {name}(" not in PRODUCTS]
    library = ctypes.CDLL(
        str(built(soname, PRODUCTS + "".join(map(REFUSAL.format, others)), versions=soname)), ctypes.RTLD_GLOBAL
    )
    work = library.emulator_work
    work.argtypes = [ctypes.c_void_p]

    def enqueue(stream: int | None, product: int) -> None:
        with LOCK:
            found(Stream, stream).enqueue(lambda: work(product))

    KEPT.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(enqueue))
    library.emulator_enqueue_by(KEPT[-1])
