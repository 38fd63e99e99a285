from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from netpart.kernels.cuda.choice_cache import ChoiceCache

SESSION = (
    "import sys; from netpart.kernels.cuda.choice_cache import ChoiceCache; sys.stdout.write(str(ChoiceCache('', [])))"
)


def test_choices_of_tests_and_of_their_processes_are_not_the_users(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=True).stdout
    assert found == repr(ChoiceCache("", []))
    assert str(tmp_path_factory.getbasetemp()) in found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_choice_holds_for_its_versions() -> None:
    ChoiceCache("kind", ("1", "2")).put("question", "answer")
    assert ChoiceCache("kind", ("1", "2")).get("question") == "answer"
    assert ChoiceCache("kind", ("1", "3")).get("question") is None
    assert ChoiceCache("kind", ("1", "2")).get("another") is None


def test_what_cannot_be_read_is_no_choice(folder: Path) -> None:
    choices = ChoiceCache("kind", ("1",))
    choices.put("question", "answer")
    [file] = folder.rglob("*.json")
    for text in ("{", "[]", '{"question": "question", "chosen": 3}', '{"question": "other", "chosen": "x"}'):
        file.write_text(text)
        assert choices.get("question") is None


def test_what_cannot_be_written_is_let_be(folder: Path) -> None:
    (folder / "netpart").write_text("a file")
    choices = ChoiceCache("kind", ("1",))
    choices.put("question", "answer")
    assert choices.get("question") is None
