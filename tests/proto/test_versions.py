"""Every protobuf that setup.cfg allows reads the generated code, and puts mistakes in the same places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tools.throwaway import pip

VERSIONS = ["5.29.0", "5.29.*", "6.30.0", "6.31.1", "6.*", "7.34.0", "7.*"]
"""The oldest one, the newest of each major one, those that warn of older code, the first of the newest major one."""
PLAYED = ["5.29.0", "6.*", "7.*"]
TESTS = ["tests/proto", "tests/cli/test_check.py", "tests/cli/test_broken.py", "tests/plan/text/test_spelling.py"]
SAY = "import google.protobuf as found; print(found.__version__); import netpart.proto.job_pb2"


def python(version: str, folder: Path, *arguments: str) -> str:
    """What Python says with a protobuf of its own before all else of this environment."""
    pip("install", "--no-deps", "--target", str(folder), f"protobuf=={version}")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    call = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.peers
@pytest.mark.parametrize("version", VERSIONS)
def test_the_generated_code_is_read_by(version: str, tmp_path: Path) -> None:
    assert python(version, tmp_path, "-c", SAY).startswith(version.rstrip("*"))


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("version", PLAYED)
def test_jobs_are_read_and_written_and_mistakes_found_with(version: str, tmp_path: Path) -> None:
    python(version, tmp_path, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *TESTS)
