# ruff: noqa: N802 - CUDA's names
"""Modules, kernels and launches, of which g++ makes the kernels: functions of the CUDA driver that CuPy calls."""

from __future__ import annotations

import ctypes
import json
import os
from hashlib import blake2b
from pathlib import Path
from traceback import extract_stack
from typing import Any

from tests.cuda.emulator import host
from tests.cuda.runtime import memory, streams
from tests.cuda.runtime.calls import Int, Pointer, Table, Unsigned, function, give, said
from tests.cuda.runtime.errors import (
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_FOUND,
    UNSUPPORTED,
    Refused,
)
from tests.cuda.runtime.foreign import Foreign
from tests.cuda.runtime.streams import Stream, found, made

FUNCTIONS: Table = {}
SOURCES = Path(os.environ.get("CUPY_CACHE_DIR", "/tmp")) / "sources"
HERE = str(Path(__file__).parent)
STATIC, MOST_SHARED = 49152, 232448
DYNAMIC = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


def digest(image: bytes) -> str:
    """CuPy leaves the last byte away, which is 0."""
    return blake2b(image.ljust(extent(image), b"\0"), digest_size=16).hexdigest()


def extent(image: bytes) -> int:
    """Bytes of an ELF file, as far as its tables tell."""
    segments, sections = (int.from_bytes(image[at : at + 8], "little") for at in (32, 40))
    sizes = [int.from_bytes(image[at : at + 2], "little") for at in (54, 56, 58, 60)]
    return max(segments + sizes[0] * sizes[1], sections + sizes[2] * sizes[3])


def remember(image: bytes, source: str, options: tuple[str, ...]) -> None:
    """Keeps what an image was compiled from, for whoever loads it."""
    SOURCES.mkdir(parents=True, exist_ok=True)
    file = SOURCES / digest(image)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps([source, list(options)]))
    partial.rename(file)


class Module:
    """A source; compiled by g++ when a kernel of it is asked for."""

    def __init__(self, source: str, options: list[str]) -> None:
        self.source = source
        self.options = options
        self.device = streams.device()
        self.library: Any = None

    def kernel(self, name: str) -> Any:
        if "cupy/" in self.source:
            return Foreign(self.source, name)
        host.let_foreign_memory_pass()
        self.library = self.library or host.compile(self.source, self.options)
        try:
            return self.library.get_function(name)
        except KeyError as error:
            raise Refused(NOT_FOUND, str(error)) from None


class Kernel:
    """A kernel of a module; ``shared`` is how much dynamic shared memory it may have."""

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        self.shared = STATIC
        self.function = module.kernel(name)
        kinds = [] if isinstance(self.function, Foreign) else self.function.kinds
        self.sizes = [8 if kind[0] == "p" else int(kind[1:]) for kind in kinds]

    def bound(self, dims: tuple[int, ...], shared: int, parameters: Any) -> Any:
        """The launch as work, with the parameters as they are now."""
        if isinstance(self.function, Foreign):
            said(self.name, f"a kernel of CuPy's own{' is captured' if streams.capturing() else ''}, {caller()}")
            return self.function.bound(parameters)
        values = [ctypes.string_at(parameters[i], size) for i, size in enumerate(self.sizes)]
        for value, kind in zip(values, self.function.kinds, strict=True):
            self.check(int.from_bytes(value, "little") if kind[0] == "p" else 0)
        kept = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (Pointer * len(kept))(*map(ctypes.addressof, kept))
        return lambda alive=kept: self.function.run(dims, shared, pointers)

    def check(self, address: int) -> None:
        if address and memory.block(address) is None:
            raise Refused(ILLEGAL_ADDRESS, f"{self.name}: {address:#x} is not the device's memory")


def caller() -> str:
    """Which line of netpart, or of its tests, has asked CuPy for something."""
    lines = (
        f"{file}:{line}" for file, line, *_ in reversed(extract_stack()) if HERE not in file and "cupy" not in file
    )
    return next(lines, "")


@function(FUNCTIONS, Pointer, Pointer)
def cuModuleLoadData(to: int, image: int) -> None:
    if streams.capturing():
        raise Refused(UNSUPPORTED, "a module is loaded while a stream captures")
    size = extent(ctypes.string_at(image, 64))
    file = SOURCES / digest(ctypes.string_at(image, size))
    if not file.exists():
        raise Refused(INVALID_IMAGE, f"an image of {size} bytes of which nobody knows the source")
    give(Pointer, to, made(Module(*json.loads(file.read_text()))))


@function(FUNCTIONS, Pointer)
def cuModuleUnload(module: int) -> None:
    found(Module, module)
    del streams.OBJECTS[module]


@function(FUNCTIONS, Pointer, Pointer, ctypes.c_char_p)
def cuModuleGetFunction(to: int, module: int, name: bytes) -> None:
    give(Pointer, to, made(Kernel(found(Module, module), name.decode())))


@function(FUNCTIONS, Pointer, Int, Int)
def cuFuncSetAttribute(kernel: int, attribute: int, value: int) -> None:
    if attribute != DYNAMIC or value > MOST_SHARED:
        raise Refused(INVALID_VALUE, f"attribute {attribute} = {value}")
    found(Kernel, kernel).shared = value


@function(
    FUNCTIONS, Pointer, Unsigned, Unsigned, Unsigned, Unsigned, Unsigned, Unsigned, Unsigned, Pointer, Pointer, Pointer
)
def cuLaunchKernel(
    kernel: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int | None,
    parameters: int, extra: int | None,
) -> None:  # fmt: skip
    what = found(Kernel, kernel)
    where = found(Stream, stream)
    dims = (gx, gy, gz, bx, by, bz)
    if what.module.device != where.device or where.device != streams.device():
        places = f"device {what.module.device} on a stream of {where.device}, while {streams.device()} is current"
        raise Refused(INVALID_HANDLE, f"{what.name} of {places}")
    if wrong := host.refused(dims):
        raise Refused(INVALID_VALUE, f"{what.name}: {wrong}")
    if shared > what.shared:
        raise Refused(INVALID_VALUE, f"{what.name}: {shared} bytes of dynamic shared memory, allowed are {what.shared}")
    where.enqueue(what.bound(dims, shared, ctypes.cast(parameters, ctypes.POINTER(Pointer))))
