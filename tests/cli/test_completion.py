"""The completion of shells: what real ones offer, from the script that netpart prints."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.cli.completion import SHELLS, completion_script
from netpart.cli.main import main, make_parser
from netpart.errors import ConfigError
from tests.house.tree import ROOT

ASK_BASH = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_netpart 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = {
    "netpart pl": {"plan", "plot"},
    "netpart run --laun": {"--launcher"},
    "netpart run --scheme column": {"column-row"},
    "netpart run graphs/mlp/": {"graphs/mlp/column-row.conf"},
    "netpart check graphs/mlp/column-row.conf --dtype ": {"float32", "float64"},
    "netpart run --workspace grap": {"graphs"},
    "netpart --completion ": set(SHELLS),
}
"""A command line up to the cursor, and what may follow."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The script for each shell, in a file."""
    folder = tmp_path_factory.mktemp("completion")
    found = {shell: folder / shell for shell in SHELLS}
    for shell, path in found.items():
        path.write_text(completion_script(make_parser(), shell), encoding="utf-8")
    return found


def ask(*command: str | Path) -> set[str]:
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.split("\t")[0].rstrip("/") for line in answer.splitlines()}


@pytest.mark.parametrize("line", CASES)
def test_bash_offers_what_may_follow(line: str, scripts: dict[str, Path]) -> None:
    assert ask("bash", "-c", ASK_BASH, "bash", scripts["bash"], *line.split(" ")) == CASES[line]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize("line", CASES)
def test_fish_offers_what_may_follow(line: str, scripts: dict[str, Path]) -> None:
    code = f"source {shlex.quote(str(scripts['fish']))}; complete -C {shlex.quote(line)}"
    assert ask("fish", "--no-config", "-c", code) == CASES[line]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_can_read_its_script(scripts: dict[str, Path]) -> None:
    assert ask("zsh", "-n", scripts["zsh"]) == set()
    assert "_files -g '*.(conf|textproto|pbtxt)'" in scripts["zsh"].read_text(encoding="utf-8")


def test_the_command_prints_the_script(scripts: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--completion", "bash"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == scripts["bash"].read_text(encoding="utf-8") + "\n"


def test_without_the_package_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(ConfigError, match=r"--completion: .* `pip install 'netpart\[completion\]'`"):
        completion_script(make_parser(), "bash")
