"""cuDNN has an engine for every convolution of the zoo, in every precision. It takes cuDNN to say so, and no GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from netpart.data.make.digits import make_digits
from tests.graphs.test_zoo import ROOT, ZOO

PACKAGES = "nvidia-cudnn-frontend", "nvidia-cudnn-cu13", "nvidia-cublas"
MINUTES = 10


def missing() -> str:
    """Which package is not here, in one line."""
    for package in PACKAGES:
        try:
            version(package)
        except PackageNotFoundError:
            return f"no {package}"
    return ""


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_every_convolution_of_the_zoo_has_a_plan(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    make_digits(tmp_path / "data" / "digits")
    (tmp_path / "data" / "python.txt").write_bytes(20 * Path(__file__).read_bytes())
    folder = tmp_path / "graphs" / "family"
    folder.mkdir(parents=True)
    path = os.pathsep.join(place for place in sys.path if Path(place).name != "emulator")
    command = [sys.executable, "-m", "tests.cuda.plans", str(folder), *map(str, ZOO)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60 * MINUTES
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["plans"] > 0
    assert not found["refused"]
