"""Compiles CUDA C for the CPU with g++ and launches its kernels, as CuPy's RawModule does on a GPU."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SOURCES = HERE.parents[2] / "netpart/kernels/cuda/source"
FOLDER = Path(tempfile.gettempdir()) / "netpart-cuda-emulator"
RUNTIME = "shadow.cpp", "host.cpp"
"""What all modules share; g++ compiles calls of it into kernels, wherever these use memory, by what WATCHED says."""
FAST = ["g++", "-std=c++17", "-O2", "-w", "-fPIC", "-U_FORTIFY_SOURCE"]
WATCHED = "thread,alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero,float-cast-overflow,bool"
COMMAND = [
    "g++", "-std=c++17", "-Og", "-g1", "-w", "-fPIC", "-fno-gnu-unique", "-ffp-contract=off", f"-fsanitize={WATCHED}",
    "--param", "tsan-instrument-func-entry-exit=0",
]  # fmt: skip

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.M)
NOT_OURS = re.compile(r"^[ \t]*#[ \t]*(?:include[ \t]+<|pragma).*$", re.M)
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;")
KERNEL = re.compile(
    r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)"
)


def missing() -> str:
    """Why CUDA C cannot be emulated here, in one line; "" if it can."""
    return "" if shutil.which("g++") else "the emulation of CUDA C needs g++"


def compile(source: str, options: Sequence[str] = (), folder: str | Path | None = None) -> Module:
    """The kernels of ``source`` with the definitions ``-D`` among ``options``; what is compiled stays in ``folder``.

    ``#include "name"`` is looked up in netpart/kernels/cuda/source; kernels are ``extern "C"``. Raises RuntimeError
    with what g++ says.
    """
    defined = [option for option in options if option.startswith("-D")]
    text = _translated(source, defined)
    headers = "".join((HERE / name).read_text() for name in ("host.hpp", "intrinsics.hpp"))
    runtime()
    return Module(_built([*COMMAND, *defined], text, headers, Path(folder or FOLDER)), text)


@cache
def runtime() -> ctypes.CDLL:
    """What runs kernels and watches memory: ``host.cpp`` and ``shadow.cpp``, where modules find them."""
    text = "".join((HERE / name).read_text() for name in RUNTIME)
    headers = "".join(path.read_text() for path in sorted(HERE.glob("*.hpp")))
    return ctypes.CDLL(str(_built(FAST, text, headers, FOLDER)), ctypes.RTLD_GLOBAL)


def _translated(source: str, defined: Sequence[str]) -> str:
    """One text without includes, in a namespace of its own, and an entry for each kernel."""
    text = DYNAMIC.sub(r"DYNAMIC_SHARED_MEMORY(\1, \2);", NOT_OURS.sub("", _inlined(source, set())))
    expanded = _run(["g++", "-E", "-P", "-x", "c++", *defined, "-"], text)
    entries = "".join(f"ENTRY({name})\n" for name in dict.fromkeys(KERNEL.findall(expanded)))
    return f'#include "host.hpp"\nnamespace {{\n{text}\n}}\n{entries}'


def _inlined(source: str, seen: set[str]) -> str:
    """``source`` with every file it includes in place of the first mention."""

    def content(found: re.Match[str]) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        return _inlined((SOURCES / name).read_text(), seen)

    return INCLUDE.sub(content, source)


def _built(command: Sequence[str], text: str, headers: str, place: Path) -> Path:
    """The library of ``text``, in ``place`` under a name that says what went in.

    Renamed when complete, so that processes that build the same do not meet.
    """
    name = blake2b("\0".join([*command, headers, text]).encode(), digest_size=12).hexdigest()
    place.mkdir(parents=True, exist_ok=True)
    if not (library := place / f"{name}.so").exists():
        with tempfile.TemporaryDirectory(dir=place) as folder:
            objects, partial = Path(folder, "module.o"), Path(folder, library.name)
            _run([*command, "-c", f"-I{HERE}", "-x", "c++", "-", "-o", str(objects)], text)
            _run(["g++", "-shared", str(objects), "-o", str(partial)], "")
            partial.rename(library)
    return library


def _run(command: Sequence[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"g++: {done.stderr}")
    return done.stdout


class Module:
    """The kernels of one compiled ``text``."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines = path, text.splitlines()
        self._library = ctypes.CDLL(str(path))

    def get_function(self, name: str) -> Function:
        """The kernel ``name``. Raises KeyError if there is none."""
        if not hasattr(self._library, f"run_{name}"):
            raise KeyError(f'{name}: expected a kernel that is extern "C" __global__ void')
        return Function(self, self._library, name)

    def where(self, offset: str) -> str:
        """The statement behind an address of the library, and those that it is inlined in."""
        found = subprocess.run(["addr2line", "-i", "-e", str(self.path), offset], capture_output=True, text=True)
        numbers = [int(n) for n in re.findall(r"<stdin>:(\d+)", found.stdout)]
        return ", in ".join(f"line {n}: {self.lines[n - 1].strip()}" for n in numbers) or f"at {offset}"


AT = re.compile("@([0-9a-f]+)")
"""How the runtime says where in a module something happened."""


@contextmanager
def lent(arrays: Iterable[Any]) -> Iterator[None]:
    """Arrays of the host are memory of the device."""
    memory, places = runtime(), {array.ctypes.data: array.nbytes for array in arrays}
    for first, nbytes in places.items():
        memory.memory_enroll(ctypes.c_size_t(first), ctypes.c_size_t(nbytes), 1, 0)
    try:
        yield
    finally:
        for first in places:
            memory.memory_dismiss(ctypes.c_size_t(first))


def let_foreign_memory_pass() -> None:
    """Kernels of this process use memory of which only somebody else knows."""
    runtime().memory_is_foreign()


class Function:
    """A kernel, launched as a RawKernel of CuPy."""

    def __init__(self, module: Module, library: ctypes.CDLL, name: str) -> None:
        self.name = name
        self._run = library[f"run_{name}"]
        kinds = library[f"kinds_{name}"]
        self._module = module
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self._run.restype = kinds.restype = ctypes.c_char_p
        self.kinds: list[str] = kinds().decode().split()
        """What each parameter is: f4, i8 ..., p before the type that it points to."""

    def __call__(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared_mem: int = 0) -> None:
        """Runs all threads.

        Raises TypeError for arguments that do not fit, and RuntimeError for what a GPU would not do.
        """
        if len(args) != len(self.kinds):
            raise TypeError(f"{self.name}: expected {len(self.kinds)} arguments, got {len(args)}")
        values = [self._value(i, arg) for i, arg in enumerate(args)]
        pointers = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
        dims = *_three(grid), *_three(block)
        if wrong := refused(dims):
            raise RuntimeError(f"{self.name}: {wrong}")
        with lent(arg for arg in args if isinstance(arg, np.ndarray)):
            self.run(dims, shared_mem, pointers)

    def run(self, dims: Sequence[int], shared_mem: int, pointers: Any) -> None:
        """Runs all threads of a grid and block of ``dims`` with the values that ``pointers`` lead to."""
        failure = self._run((ctypes.c_uint * 6)(*dims), shared_mem, pointers)
        if failure:
            raise RuntimeError(f"{self.name}: {AT.sub(lambda at: self._module.where(at[1]), failure.decode())}")

    def _value(self, place: int, arg: Any) -> Any:
        """The bytes of an argument, as a numpy array of one element."""
        kind, value = self.kinds[place], arg
        if arg is None or isinstance(arg, np.ndarray) or hasattr(getattr(arg, "data", None), "ptr"):
            got = "p" if arg is None else f"p{arg.dtype.kind}{arg.dtype.itemsize}"
            value = np.uint64(0 if arg is None else _address(arg))
        else:
            value = np.asarray(arg)[()] if isinstance(arg, bool | int | float | complex) else arg
            got = f"{value.dtype.kind}{value.dtype.itemsize}"
        null = kind[0] == "p" and got == "u8" and not value
        if got != kind and not null and not (got[0] == kind[0] == "p" and "p" in (got, kind)):
            raise TypeError(f"{self.name}: expected {kind} as argument {place}, got {got}")
        return np.array([value])


def refused(dims: Sequence[int]) -> str:
    """Why no GPU has a grid and block of ``dims``; "" if it has."""
    if not all(dims) or dims[1] > 65535 or dims[2] > 65535:
        return f"no grid of {dims[:3]} blocks of {dims[3:]} threads"
    threads = dims[3] * dims[4] * dims[5]
    return f"at most 1024 threads make a block, got {threads}" if threads > 1024 else ""


def _address(array: Any) -> int:
    return int(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


def _three(extents: Sequence[int]) -> tuple[int, ...]:
    return (*extents, 1, 1, 1)[:3]
