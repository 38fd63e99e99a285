"""cuBLAS of the emulated device: a shared library of the real one's name, so that whoever opens that gets this."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from hashlib import blake2b
from pathlib import Path

from cupy import memory, runtime

SOURCE = Path(__file__).parents[1] / "cublas.cpp"
COMMAND = ["g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-Wl,-soname,libcublas.so.13"]


def built() -> Path:
    """The library, compiled unless it was before; renamed when complete, so that processes do not meet."""
    name = blake2b(SOURCE.read_bytes() + "".join(COMMAND).encode(), digest_size=12).hexdigest()
    library = Path(tempfile.gettempdir(), "netpart-emulator", name, "libcublas.so.13")
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
SIDE = 8
"""Numbers that say how a matrix lies."""


def enqueue(stream: int | None, work: int) -> None:
    """Puts a product into a stream."""
    runtime.STREAMS[stream or 0].enqueue(lambda: multiply(work))


def multiply(work: int) -> None:
    """Computes a product, of what memory lets it use."""
    told = (ctypes.c_longlong * (4 * SIDE + 3))()
    LIBRARY.emulator_sides(work, told)
    sides = [told[i : i + SIDE] for i in range(0, 4 * SIDE, SIDE)]
    a, b, c, vector = (memory.Lying(at, lying[:3], lying[3:], item) for at, item, *lying in sides)
    added, biased, summed = told[4 * SIDE :]
    for array in (a, b, *[c][:added], *[vector][:biased]):
        memory.reads(array)
    LIBRARY.emulator_work(work)
    for array in (c, *[vector][:summed]):
        memory.writes(array)


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(enqueue)
LIBRARY.emulator_enqueue_by(CALLBACK)
