"""`make test` and `make test-peers` run both of their halves, whatever becomes of the first, and fail if one did."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT

PYTHON = """#!/bin/sh
echo "$@" >> '{log}'
case "$*" in *'not alone'*) exit {shared} ;; *alone*) exit {alone} ;; esac
"""
INTERRUPTED = 2
OF_A_MAKE_ABOVE = {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}


def played(command: str, folder: Path, shared: int, alone: int) -> tuple[int, list[str]]:
    """The exit code of make, and how it calls a Python whose halves end so."""
    python = folder / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON.format(log=folder / "log", shared=shared, alone=alone))
    python.chmod(0o755)
    (folder / "environment" / ".installed").touch()
    ours = [f"{name}={folder / 'environment'}" for name in ("VENV", "PEERS_VENV")]
    ours.append("NEWEST_NVRTC=")  # nothing is to be installed
    environment = {name: value for name, value in os.environ.items() if name not in OF_A_MAKE_ABOVE}
    code = subprocess.run(["make", command, *ours], cwd=ROOT, env=environment, capture_output=True).returncode
    return code, (folder / "log").read_text().splitlines()


@pytest.mark.parametrize(("shared", "alone"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_both_halves_run(shared: int, alone: int, tmp_path: Path) -> None:
    code, calls = played("test", tmp_path, shared, alone)
    assert bool(code) == bool(shared or alone)
    assert calls == [
        "-m pytest --instafail -m not alone -n auto --dist worksteal",
        "-m pytest --instafail -m alone",
    ]


def test_so_do_those_of_the_peers(tmp_path: Path) -> None:
    code, calls = played("test-peers", tmp_path, 1, 0)
    assert code != 0
    assert [call.partition(" -m ")[2] for call in (call.partition("instafail")[2] for call in calls)] == [
        "peers and not alone -n auto --dist worksteal",
        "peers and alone",
    ]


def test_who_interrupts_the_first_has_interrupted_both(tmp_path: Path) -> None:
    code, calls = played("test", tmp_path, INTERRUPTED, 0)
    assert (bool(code), len(calls)) == (True, 1)


def test_what_runs_under_the_sanitizer_keeps_its_choices_for_itself(tmp_path: Path) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\necho \"$XDG_CACHE_HOME\" > '{tmp_path}/log'\n")
    tool.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in OF_A_MAKE_ABOVE}
    environment["PATH"] = os.pathsep.join([str(tmp_path), environment["PATH"]])
    command = ["make", "sanitize-gpu", "GPU_PYTHON=python3", "NETS=halo/conv-rows", "TOOLS=memcheck"]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert (tmp_path / "log").read_text().strip() == str(ROOT / "out/sanitize/cache")


def test_every_command_is_said_once() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = [line.split(":")[0] for line in makefile.splitlines() if ":.*##" not in line and " ## " in line]
    assert len(commands) == len(set(commands)), "make help lists a command twice"
