"""What NVIDIA's own compiler makes of every source: it needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

from netpart.kernels.cuda.device import OPTIONS, SOURCE, source_text
from netpart.kernels.cuda.fused_attention import CORES, FMA, FORWARD, GRADIENT, TURNED
from netpart.kernels.cuda.tiles import fitting_tiles, tile_candidates

FOR_AN_H200 = "-arch=sm_90", "--ptxas-options=-v"
SOURCES = sorted(path.name for path in Path(SOURCE).glob("*.cu"))
REALS = pytest.mark.parametrize("real", ["float", pytest.param("double", marks=pytest.mark.slow)])
USE = re.compile(
    r"Function properties for (\w+)$"
    r"\D+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads$"
    r"\D+Used (\d+) registers",
    re.MULTILINE,
)
INFO = re.compile(r"^ptxas (info)?\s*[:.] .*$", re.MULTILINE)
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?^\}", re.MULTILINE | re.DOTALL)

WIDE = {
    "activation.cu": ["activation_relu", "gradient_relu", "activation_gelu_tanh", "gradient_stanh"],
    "arrays.cu": ["total_none", "total_relu", "squares", "copy_32", "add_32"],
    "batch_norm.cu": ["moments", "normalise_none", "normalise_relu", "gradient_sums", "gradient"],
    "bias.cu": ["add_bias", "bias_sums"],
    "combine.cu": ["multiply"],
    "convolution.cu": ["frame", "frame_narrow", "unframe"],
    "global_pooling.cu": ["sums"],
    "normalisation.cu": ["column_products", "scale_shift"],
    "pooling.cu": ["maximum_uint8", "maximum_gradient_uint8", "average", "average_gradient"],
    "rotary.cu": ["rotate"],
    "updates.cu": ["sgd", "momentum", "adamw"],
}
"""Kernels that move 16 bytes at a time where arrays allow it."""
NARROW_COUNTS = "batch_norm.cu", "bias.cu", "normalisation.cu", "pooling.cu"
"""Sources with kernels that take columns or channels: those of WIDE count in 32 bits, whatever else is in them."""
LARGE = {"arrays.cu": ["add_parts"], "losses.cu": ["report"], "normalisation.cu": ["normalise", "normalise_gradient"]}
"""Kernels with blocks of up to 1024 threads, which a multiprocessor has 65536 registers for."""
SPILLING = {("fused_attention_gradient.cu", "double")}
"""What has too few registers, by a little: backward of attention in float64, of rows that are wider than 64."""


@dataclass(frozen=True)
class Compiled:
    """``complaint``: what the compiler says of a source, "" if it takes it without a word. ``use`` of each kernel:
    bytes of its stack frame, bytes spilled to memory and read back, registers. ``ptx``: its instructions."""

    complaint: str
    use: dict[str, tuple[int, int, int, int]]
    ptx: dict[str, str]


def nvrtc() -> ctypes.CDLL | None:
    """The library in the wheel nvidia-cuda-nvrtc, if that is installed."""
    try:
        held = files("nvidia-cuda-nvrtc") or []
    except PackageNotFoundError:
        return None
    # That of CUDA 13.0 does not look beside itself for its other half, which is taken where it has been loaded.
    found = [
        str(file.locate()) for name in ("libnvrtc-builtins.so.*", "libnvrtc.so.*") for file in held if file.match(name)
    ]
    return [ctypes.CDLL(path) for path in found][-1] if found else None


def compiled_by(library: ctypes.CDLL, source: str, real: str, *defines: str) -> Compiled:
    """``source``, compiled for an H200."""
    program = ctypes.c_void_p()
    given = [*OPTIONS, *FOR_AN_H200, f"-DREAL={real}", *(f"-D{one}" for one in defines)]
    options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"source.cu", 0, None, None)

    def told(what: str) -> str:
        size = ctypes.c_size_t()
        getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        found = ctypes.create_string_buffer(size.value)
        getattr(library, f"nvrtcGet{what}")(program, found)
        return found.value.decode()

    try:
        refused = library.nvrtcCompileProgram(program, len(options), options)
        log, ptx = told("ProgramLog"), "" if refused else told("PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    rest = INFO.sub("", log).strip()
    use = {name: (int(frame), int(out), int(back), int(used)) for name, frame, out, back, used in USE.findall(log)}
    return Compiled(
        rest or (f"error {refused}" if refused else ""), use, {found[1]: found[0] for found in ENTRY.finditer(ptx)}
    )


Compile = Callable[..., Compiled]


@pytest.fixture(scope="module")
def compiled() -> Compile:
    """From a source and its type."""
    library = nvrtc()
    if library is None:
        pytest.skip("needs the wheel nvidia-cuda-nvrtc")
    return cache(lambda source, real, *defines: compiled_by(library, source, real, *defines))


@REALS
@pytest.mark.parametrize("file", SOURCES)
def test_every_source_compiles_for_an_h200(compiled: Compile, file: str, real: str) -> None:
    found = compiled(source_text(file), real)
    assert found.complaint == ""
    assert found.use.keys() == found.ptx.keys() != set()
    assert {name: use for name, use in found.use.items() if any(use[:3])} == {} or (file, real) in SPILLING
    assert all(found.use[name][3] <= 64 for name in LARGE.get(file, []))
    if real == "float":
        wide = {name: found.ptx[name] for name in WIDE.get(file, [])}
        assert [name for name, ptx in wide.items() if not re.search(r"ld\.global(\.nc)?\.v4\.[fbu]32", ptx)] == []
        counting = [name for name in wide if file in NARROW_COUNTS and name != "scale_shift"]
        assert [name for name in counting if re.search(r"(div|rem)\.[su]64", wide[name])] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("real", "cores", "widths"),
    [("double", FMA, (16, 16)), *zip(["float"] * 3, CORES.values(), [(64, 64), (80, 48), (128, 128)], strict=True)],
)
@pytest.mark.parametrize("name", [FORWARD, GRADIENT])
def test_attention_compiles_for_an_h200(
    compiled: Compile, name: str, real: str, cores: str, widths: tuple[int, int]
) -> None:
    for few in (False, True):
        found = tile_candidates(*widths, {"float": 4, "double": 8}[real], name == GRADIENT, cores, few)
        defines = fitting_tiles(found, 227 << 10).defines
        for turned in ((), (TURNED,)):
            assert compiled(source_text(f"{name}.cu"), real, *defines, *turned).complaint == ""


def test_a_mistake_would_be_seen(compiled: Compile) -> None:
    found = compiled('extern "C" __global__ void wrong(float* y) { *y = missing; }', "float")
    assert "undefined" in found.complaint
    array = "float x[64]; for (float& e : x) e = y[&e - x] * 2; for (float e : x) y[int(e)] = x[int(y[int(e)]) & 63];"
    assert compiled(f'extern "C" __global__ void slow(float* y) {{ {array} }}', "float").use["slow"][0] > 0
