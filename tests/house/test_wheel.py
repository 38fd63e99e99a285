"""A wheel holds all of netpart, what is not code is found where pip put it, and the README's job runs from it alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house import tree
from tests.house.tree import ROOT
from tools.throwaway import environment
from tools.throwaway import pip as pip_of_the_index

SHARED = ("proto", "graphs", "workers")
BESIDES = (".ci", "docs", "editors", "tests", "benchmarks", "tools")
FILES = (
    "setup.cfg", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "Makefile", "CHANGELOG.md", "CONTRIBUTING.md",
    "constraints.txt",
)  # fmt: skip
FIND = "from netpart.resources import resource_folder; print(resource_folder({!r}))"


def pip(*arguments: str | Path, cwd: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, "--no-index"]
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
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` makes of a copy of this checkout: a wheel, made from the sdist beside it."""
    folder = tmp_path_factory.mktemp("checkout")
    copy(["netpart", *SHARED, *BESIDES, *FILES], folder)
    (command,) = re.findall(r"^\t\$\(BIN\)/python (-m build .*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    made = subprocess.run([sys.executable, *command.split()], cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a bare environment with netpart's wheel in it and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "env", with_pip=False)
    interpreter = folder / "env" / "bin" / "python"
    pip("--python", interpreter, "install", "--no-deps", wheel, cwd=folder)
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
def test_nothing_else_is_installed_beside_them(python: Path) -> None:
    """Pages and their images are not: no code reads them."""
    assert {folder.name for folder in ask(python, FIND.format("graphs")).parent.iterdir()} == set(SHARED)


@pytest.mark.slow
def test_the_package_is_installed_whole(python: Path) -> None:
    installed = ask(python, "import netpart; print(netpart.__path__[0])")
    assert ROOT not in installed.parents
    assert files(installed) == files(ROOT / "netpart")


@pytest.mark.slow
def test_an_sdist_holds_every_file_of_ours(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as found:
        packed = {member.name.partition("/")[2] for member in found.getmembers()}
    ours = {tree.name(file) for file in tree.text_files() if not file.name.startswith(".")}
    assert ours - packed == set()


@pytest.fixture(scope="module")
def plain(wheel: Path) -> Iterator[Path]:
    """The interpreter of an environment with netpart's wheel in it, what that asks for, and nothing else."""
    with environment("--constraint", str(ROOT / "constraints.txt"), str(wheel)) as interpreter:
        yield interpreter


def netpart(plain: Path, folder: Path, *arguments: str) -> str:
    """What the command says that pip installed, to a user who has nothing else."""
    call = [str(plain.with_name("netpart")), *arguments]
    nothing = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(call, cwd=folder, env=nothing, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder with the job of the README and nothing else."""
    (text,) = re.findall(r"```protobuf\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "job.conf").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.peers
@pytest.mark.slow
def test_the_job_of_the_readme_runs_from_a_plain_wheel(plain: Path, job: Path) -> None:
    assert "ten-lines" in netpart(plain, job, "check", "job.conf")
    netpart(plain, job, "verify", "job.conf", "--workers", "2")
    netpart(plain, job, "run", "job.conf", "--summary", "summary.json")
    summary = json.loads((job / "summary.json").read_text())
    assert summary["steps"] == 100
    assert summary["bytes_predicted"] == summary["bytes_counted"] > 0


@pytest.mark.peers
@pytest.mark.slow
def test_an_extra_is_added_to_it_as_messages_say(plain: Path, job: Path) -> None:
    """netpart itself is there already: pip asks the index for what the extra names, and not for netpart."""
    netpart(plain, job, "draw", "job.conf", "-o", "net.txt")
    pip_of_the_index("--python", str(plain), "install", "netpart[viz]")
    netpart(plain, job, "draw", "job.conf", "-o", "net.svg")
    assert "<svg" in (job / "net.svg").read_text()
