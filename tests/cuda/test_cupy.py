"""CuPy's own wheel plays netpart where there is no GPU, on the runtime of tests/cuda/runtime: the calls that the
emulated CuPy only mimics are CuPy's here, down to the parameters of every kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from netpart.kernels.cuda.device import OPTIONS
from tests.cuda.module import ON_GPU
from tests.cuda.test_nvrtc import OF_CUPY

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "tests/cuda/runtime/found"
WHEEL = "cupy-cuda13x"
OWN = "test_the_reference_kernels_on_a_gpu_are_not_captured"
"""Takes products of CuPy's own, which this runtime has not."""


def missing() -> str:
    """Why CuPy's wheel cannot be used here; "" if it can."""
    try:
        version(WHEEL)
    except PackageNotFoundError:
        return f"needs the wheel {WHEEL}"
    return "there is a GPU for it" if ON_GPU else ""


def on_runtime(*arguments: str, gpus: int = 1) -> subprocess.CompletedProcess[str]:
    """What Python says, with CuPy on the runtime."""
    path = os.pathsep.join([str(FOUND), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "NETPART_TEST_GPU": "1", "EMULATED_GPUS": str(gpus)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=540, check=False
    )  # fmt: skip


needs_the_wheel = pytest.mark.skipif(bool(missing()), reason=missing())

BACK = """
import cupy, numpy
stream = cupy.cuda.Stream(non_blocking=True).use()
cupy.zeros((3, 4)).T.get()
assert cupy.cuda.get_current_stream().ptr != stream.ptr
stream.__enter__()
cupy.zeros((3, 4)).T.get()
assert cupy.cuda.get_current_stream().ptr == stream.ptr
"""


@needs_the_wheel
def test_cupy_forgets_a_stream_in_use_and_not_one_that_was_entered() -> None:
    """The emulated one does as much: test_nets would fail there, were ours not entered."""
    done = on_runtime("-c", BACK)
    assert done.returncode == 0, done.stderr


COMPILE = """
import os
os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
import cupy
from cupy.cuda import compiler
from netpart.kernels.cuda.device import CudaDevice
given, plain = [], compiler._NVRTCProgram.compile
compiler._NVRTCProgram.compile = lambda self, options=(), *rest: (given.append(options), plain(self, options, *rest))[1]
CudaDevice(cupy).function("slots.cu", "tell", "float64")
print(*(option for option in given[-1] if not option.startswith("-I")))
"""


@needs_the_wheel
def test_cupy_adds_the_options_with_which_sources_are_compiled_in_tests() -> None:
    done = on_runtime("-c", COMPILE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*OPTIONS, "-DREAL=double", *OF_CUPY]


@needs_the_wheel
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "chosen"),
    [
        ("nets replay feed device combine updates", f"not {OWN}"),
        ("processes", "processes_on_gpus and cuda-2-auto"),
        ("processes", "processes_on_gpus and cuda:0"),
    ],
)
def test_netpart_on_cupy(tests: str, chosen: str) -> None:
    files = [f"tests/cuda/test_{name}.py" for name in tests.split()]
    done = on_runtime("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *files, gpus=2)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " captured, " not in done.stdout + done.stderr
