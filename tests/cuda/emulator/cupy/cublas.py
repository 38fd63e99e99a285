"""cuBLAS of the emulated device: a shared library of the real one's name, so that whoever opens that gets this."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from hashlib import blake2b
from pathlib import Path

from cupy import memory, runtime

SOURCE = Path(__file__).parents[1] / "cublas.cpp"
SONAME = f"libcublas.so.{runtime.VERSION // 1000}"
COMMAND = ["g++", "-std=c++17", "-O2", "-fPIC", "-shared", f"-Wl,-soname,{SONAME}"]


def built() -> Path:
    """The library, compiled unless it was before; renamed when complete, so that processes do not meet."""
    name = blake2b(SOURCE.read_bytes() + "".join(COMMAND).encode(), digest_size=12).hexdigest()
    library = Path(tempfile.gettempdir(), "netpart-emulator", name, SONAME)
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            partial = Path(folder, library.name)
            subprocess.run([*COMMAND, str(SOURCE), "-o", str(partial)], check=True, timeout=120)
            partial.rename(library)
    return library


LIBRARY = ctypes.CDLL(str(built()))
LIBRARY.emulator_work.argtypes = [ctypes.c_void_p]
LIBRARY.emulator_sides.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
SIDES, SIDE = 5, 8
"""What a product uses, and numbers that say how each lies."""


def enqueue(stream: int | None, work: int) -> None:
    """Puts a product into a stream."""
    runtime.STREAMS[stream or 0].enqueue(lambda: multiply(work))


def multiply(work: int) -> None:
    """Computes a product, of matrices that memory lets it use; the workspace is for one at a time."""
    told = (ctypes.c_longlong * (SIDES * SIDE + 2))()
    LIBRARY.emulator_sides(work, told)
    parts = [told[i : i + SIDE] for i in range(0, SIDES * SIDE, SIDE)]
    a, b, c, vector, workspace = (memory.Lying(at, lying[:3], lying[3:], item) for at, item, *lying in parts)
    again, sums = told[-2:]
    for read in (a, b, *[c] * again, *[vector] * (not sums)):
        memory.reads(read)
    LIBRARY.emulator_work(work)
    for written in (c, *[vector] * sums, workspace):
        memory.writes(written)


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(enqueue)
LIBRARY.emulator_enqueue_by(CALLBACK)
