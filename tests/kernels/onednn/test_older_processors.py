"""The tests of this folder, as on processors with fewer instructions: oneDNN has other kernels there, with other
defects, and other roundings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.kernels.choose import has_avx512
from netpart.kernels.onednn.library import missing_onednn

HERE = Path(__file__)


@pytest.mark.slow
@pytest.mark.parametrize(
    "isa", [*(pytest.param(old, marks=pytest.mark.thorough) for old in ("SSE41", "AVX", "AVX512_CORE")), "AVX2"]
)
def test_kernels_pass_their_tests_on_older_processors(isa: str) -> None:
    """oneDNN reads the variable once, so each takes processes of its own."""
    if missing_onednn() or (isa in {"AVX2", "AVX512_CORE"} and not has_avx512()):
        pytest.skip(
            f"expected a processor that has more than {isa}: the tests of this folder run as on it by themselves"
        )
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not alone and not thorough"]
    call += [str(HERE.parent), f"--ignore={HERE}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NETPART_", "PYTEST_"))}
    done = subprocess.run(call, env={**clean, "ONEDNN_MAX_CPU_ISA": isa}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:]
