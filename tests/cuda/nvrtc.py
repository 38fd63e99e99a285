"""Compiles CUDA C with one version of NVRTC, in a process of its own: all versions are one library to the loader.

python tests/cuda/nvrtc.py FOLDER      a source and its options, as JSON, in each line of stdin; the answer in one
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Answer(NamedTuple):
    """What NVRTC makes of a source: 0 or its error, what it tells, and the PTX."""

    error: int
    log: str
    ptx: str


class Nvrtc:
    """The NVRTC whose libraries are in ``folder``, until it is closed."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, __file__, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def compile(self, source: str, options: Sequence[str]) -> Answer:
        """What it makes of ``source``."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([source, *options]) + "\n")
        self.process.stdin.flush()
        return Answer(*json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End its process."""
        self.process.communicate()


def library_in(folder: Path) -> ctypes.CDLL:
    """The library, loaded after its other half: that of CUDA 13.0 does not look beside itself for it."""
    paths = [path for name in ("libnvrtc-builtins.so.*", "libnvrtc.so.*") for path in sorted(folder.glob(name))]
    return [ctypes.CDLL(str(path)) for path in paths][-1]


def compiled_by(library: ctypes.CDLL, source: str, options: Sequence[str]) -> Answer:
    """What ``library`` makes of ``source``."""
    program, given = ctypes.c_void_p(), [option.encode() for option in options]
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"source.cu", 0, None, None)
    try:
        error = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = _text_of(library, program, "ProgramLog")
        return Answer(error, log, "" if error else _text_of(library, program, "PTX"))
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text_of(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """A text that NVRTC has of a program."""
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, found)
    return found.value.decode()


def main() -> None:
    """Answer each line of stdin in one of stdout."""
    library = library_in(Path(sys.argv[1]))
    for line in sys.stdin:
        source, *options = json.loads(line)
        sys.stdout.write(json.dumps(compiled_by(library, source, options)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
