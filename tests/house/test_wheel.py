"""A wheel holds all of netpart, and what is not code is found again where pip put it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SHARED = ("proto", "graphs", "workers", "docs")
FILES = ("setup.cfg", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md")
FIND = "from netpart.resources import resource_folder; print(resource_folder({!r}))"


def pip(*arguments: str | Path, cwd: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def files(folder: Path) -> set[str]:
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return {p.as_posix() for p in found if "__pycache__" not in p.parts}


def copy(names: Iterable[str], to: Path) -> None:
    """Copies what a wheel is made from: building in the checkout would leave build/ in it."""
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, to / name)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a bare environment with netpart's wheel in it and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    copy(["netpart", *SHARED, *FILES], folder)
    pip("wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", cwd=folder)
    venv.create(folder / "env", with_pip=False)
    interpreter = folder / "env" / "bin" / "python"
    pip("--python", interpreter, "install", "--no-deps", *(folder / "dist").glob("*.whl"), cwd=folder)
    return interpreter


def ask(python: Path, code: str) -> Path:
    result = subprocess.run([python, "-I", "-c", code], cwd=python.parent, capture_output=True, text=True, check=True)
    return Path(result.stdout.strip())


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in SHARED if files(ROOT / n)])
def test_folders_beside_the_code_are_installed_whole(python: Path, name: str) -> None:
    """One that is not: give it its line in setup.cfg, [options.data_files]."""
    assert files(ask(python, FIND.format(name))) == files(ROOT / name)


@pytest.mark.slow
def test_the_package_is_installed_whole(python: Path) -> None:
    installed = ask(python, "import netpart; print(netpart.__path__[0])")
    assert ROOT not in installed.parents
    assert files(installed) == files(ROOT / "netpart")
