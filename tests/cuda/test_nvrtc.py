"""What NVIDIA's own compiler makes of every source: it needs neither a GPU nor a driver."""

from __future__ import annotations

import re
import site
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from netpart.kernels.cuda.device import OPTIONS, SOURCE, source_text
from netpart.kernels.cuda.fused_attention import CORES, FMA, FORWARD, GRADIENT, MASKED, TURNED
from netpart.kernels.cuda.lrn import NARROW, QUARTERS
from netpart.kernels.cuda.tiles import fitting_tiles, tile_candidates
from tests.cuda.nvrtc import Nvrtc

APART = "nvrtc-*"
"""The folder of the newest NVRTC, in the environment: see the Makefile."""
OF_CUPY = "-ftz=true", "-arch=sm_90", "--device-as-default-execution-space"
"""What CuPy 14.2 adds to the options of a source on an H100 or H200 (cupy/cuda/compiler.py), besides the paths of
headers, which netpart's sources do not include."""
TELLING = "--ptxas-options=-v"
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
    "lrn.cu": ["lrn", "lrn_gradient"],
    "normalisation.cu": ["column_products", "scale_shift"],
    "pooling.cu": ["maximum_uint8", "maximum_gradient_uint8", "average", "average_gradient"],
    "rotary.cu": ["rotate"],
    "updates.cu": ["sgd", "momentum", "adamw"],
}
"""Kernels that move 16 bytes at a time where arrays allow it."""
NARROW_COUNTS = "batch_norm.cu", "bias.cu", "lrn.cu", "normalisation.cu", "pooling.cu"
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


def folder_of(version: str) -> Path:
    """The libraries of the oldest version, a package of this environment, or of the newest, which lies beside these."""
    held = list(Path(sys.prefix).glob(APART)) if version == "newest" else list(map(Path, site.getsitepackages()))
    found = [path.parent for folder in held for path in folder.glob("nvidia/*/lib/libnvrtc.so.*")]
    if len(found) != 1:
        pytest.skip(f"needs one {version} nvidia-cuda-nvrtc, which `make test-peers` installs, got {len(found)}")
    return found[0]


def compiled_by(nvrtc: Nvrtc, source: str, real: str, *defines: str) -> Compiled:
    """``source``, compiled for an H100 or H200."""
    given = [*OPTIONS, f"-DREAL={real}", *(f"-D{one}" for one in defines), *OF_CUPY, TELLING]
    error, log, ptx = nvrtc.compile(source, given)
    rest = INFO.sub("", log).strip()
    use = {name: (int(frame), int(out), int(back), int(used)) for name, frame, out, back, used in USE.findall(log)}
    return Compiled(
        rest or (f"error {error}" if error else ""), use, {found[1]: found[0] for found in ENTRY.finditer(ptx)}
    )


Compile = Callable[..., Compiled]


@pytest.fixture(scope="module", params=["oldest", "newest"])
def compiled(request: pytest.FixtureRequest) -> Iterator[Compile]:
    """From a source and its type, by the oldest and by the newest NVRTC."""
    with closing(Nvrtc(folder_of(request.param))) as nvrtc:
        yield cache(lambda source, real, *defines: compiled_by(nvrtc, source, real, *defines))


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
        for more in ((), (TURNED,), (MASKED,)):
            assert compiled(source_text(f"{name}.cu"), real, *defines, *more).complaint == ""


@pytest.mark.slow
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("power", [0, *QUARTERS])
@pytest.mark.parametrize("half", range(NARROW // 2 + 1))
def test_windows_of_channels_are_in_registers(compiled: Compile, half: int, power: int, real: str) -> None:
    found = compiled(source_text("lrn.cu"), real, f"HALF={half}", f"POWER={power}")
    assert found.complaint == ""
    assert {name: use for name, use in found.use.items() if "wide" not in name and any(use[:3])} == {}


def test_a_mistake_would_be_seen(compiled: Compile) -> None:
    found = compiled('extern "C" __global__ void wrong(float* y) { *y = missing; }', "float")
    assert "undefined" in found.complaint
    array = "float x[64]; for (float& e : x) e = y[&e - x] * 2; for (float e : x) y[int(e)] = x[int(y[int(e)]) & 63];"
    assert compiled(f'extern "C" __global__ void slow(float* y) {{ {array} }}', "float").use["slow"][0] > 0
