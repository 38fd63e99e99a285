"""What NVIDIA's own compiler says of every source: it needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from netpart.kernels.cuda.device import SOURCE, text
from netpart.kernels.cuda.fused_attention import CORES, FMA, FORWARD, GRADIENT
from netpart.kernels.cuda.tiles import best, candidates

OPTIONS = "-std=c++17", "-arch=sm_90"


def nvrtc() -> ctypes.CDLL | None:
    """The library in the wheel nvidia-cuda-nvrtc, if that is installed."""
    try:
        found = [file for file in files("nvidia-cuda-nvrtc") or [] if file.match("libnvrtc.so.*")]
    except PackageNotFoundError:
        return None
    return ctypes.CDLL(str(found[0].locate())) if found else None


def complaint(library: ctypes.CDLL, source: str, real: str, *defines: str) -> str:
    """What the compiler says of ``source``; "" if it takes it without a word."""
    program, size, given = ctypes.c_void_p(), ctypes.c_size_t(), [*OPTIONS, f"-DREAL={real}"]
    given += [f"-D{one}" for one in defines]
    options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"source.cu", 0, None, None)
    try:
        refused = library.nvrtcCompileProgram(program, len(options), options)
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or (f"error {refused}" if refused else "")


@pytest.fixture(scope="module")
def compiled() -> Callable[..., str]:
    library = nvrtc()
    if library is None:
        pytest.skip("needs the wheel nvidia-cuda-nvrtc")
    return lambda source, real, *defines: complaint(library, source, real, *defines)


@pytest.mark.parametrize("real", ["float", pytest.param("double", marks=pytest.mark.slow)])
@pytest.mark.parametrize("file", sorted(path.name for path in Path(SOURCE).glob("*.cu")))
def test_every_source_compiles_for_an_h200(compiled: Any, file: str, real: str) -> None:
    assert compiled(text(file), real) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("real", "cores"), [("double", FMA), *(("float", cores) for cores in CORES.values())])
@pytest.mark.parametrize("name", [FORWARD, GRADIENT])
@pytest.mark.parametrize("widths", [(16, 16), (64, 64), (80, 48), (128, 128)])
def test_attention_compiles_for_an_h200(
    compiled: Any, widths: tuple[int, int], name: str, real: str, cores: str
) -> None:  # fmt: skip
    for few in (False, True):
        found = candidates(*widths, {"float": 4, "double": 8}[real], name == GRADIENT, cores, few)
        assert compiled(text(f"{name}.cu"), real, *best(found, 227 << 10).defines) == ""


def test_a_mistake_would_be_seen(compiled: Any) -> None:
    assert "undefined" in compiled('extern "C" __global__ void wrong(float* y) { *y = missing; }', "float")
