"""Shared libraries: which functions they have and want, and jumps to functions of ours instead of them."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any

SECTION = Struct("<IIQQQQIIQQ")
SYMBOL = Struct("<IBBHQQ")
LOCAL = 2
DYNAMIC = 11
FUNCTION = 2
"""sh_type of the tables of all symbols and of those that are linked, and the type of a symbol that is code (ELF-64)."""
WRITABLE = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
Callback = Any
JUMPS: dict[int, Callback] = {}
"""What is jumped to from where."""


def symbols(library: Path, table: int) -> Iterator[tuple[str, int, int]]:
    """Name, type and value of each symbol of a shared library in one of its tables."""
    data = library.read_bytes()
    (at,), (size, count) = Struct("<Q").unpack_from(data, 40), Struct("<HH").unpack_from(data, 58)
    sections = [SECTION.unpack_from(data, at + k * size) for k in range(count)]
    for _, kind, _, _, start, length, link, *_ in sections:
        if kind == table:
            names = sections[link][4]
            for name, info, _, _, value, _ in SYMBOL.iter_unpack(data[start : start + length]):
                yield data[names + name : data.index(0, names + name)].decode(), info & 15, value


def functions(library: Path) -> dict[str, int]:
    """Where each function begins, local ones too, counted from where the library is loaded."""
    return {name: value for name, kind, value in symbols(library, LOCAL) if kind == FUNCTION and value}


def wanted(library: Path, prefix: str) -> list[str]:
    """The functions with this prefix that it expects of others."""
    return [name for name, _, value in symbols(library, DYNAMIC) if name.startswith(prefix) and not value]


def built(soname: str, text: str, versions: str = "") -> Path:
    """A shared library of C++, compiled unless it was before; renamed when complete, so that processes do not meet.

    All its symbols are of the version ``versions``, unless that is empty.
    """
    command = ["g++", "-x", "c++", "-std=c++17", "-O2", "-shared", "-fPIC", f"-Wl,-soname,{soname}"]
    name = blake2b("".join([*command, versions, text]).encode(), digest_size=12).hexdigest()
    library = Path(tempfile.gettempdir(), "netpart-runtime", name, soname)
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            partial, script = Path(folder, soname), Path(folder, "versions")
            script.write_text(f"{versions} {{ global: *; }};")
            command += [f"-Wl,--version-script={script}"] if versions else []
            subprocess.run([*command, "-", "-o", str(partial)], input=text.encode(), check=True, timeout=120)
            partial.rename(library)
    return library


def loaded(library: Path) -> int:
    """Where a shared library is in memory; loads it."""
    ctypes.CDLL(str(library))
    lines = (line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines())
    return min(int(line[0].partition("-")[0], 16) for line in lines if line[-1] == str(library))


def jump(address: int, callback: Callback) -> None:
    """Lets code at ``address`` go to ``callback``, a ctypes function: 14 bytes, jmp *(rip) and where to."""
    JUMPS[address] = callback
    target = ctypes.cast(callback, ctypes.c_void_p).value or 0
    code = b"\xff\x25\x00\x00\x00\x00" + target.to_bytes(8, "little")
    page = address & -mmap.PAGESIZE
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(page, address + len(code) - page, WRITABLE):
        raise OSError(ctypes.get_errno(), f"mprotect of the page at {page:#x}")
    ctypes.memmove(address, code, len(code))


def replace(library: Path, prefix: str, ours: dict[str, Callback], other: Callable[[str], Callback | None]) -> None:
    """Replaces all functions of ``library`` that begin with ``prefix`` by ``ours``, or by what ``other`` makes of their
    names: None leaves one as it is. Raises KeyError for one of ours that it has not."""
    base, found = loaded(library), functions(library)
    if missing := ours.keys() - found.keys():
        raise KeyError(f"{library.name}: has no {', '.join(sorted(missing))}")
    for name, offset in found.items():
        if name.startswith(prefix) and (callback := ours.get(name) or other(name)):
            jump(base + offset, callback)


def leave(done: Callback) -> None:
    """Replaces all that was replaced by ``done``: Python ends, and none of it can be called any more."""
    for address in list(JUMPS):
        jump(address, done)
