from __future__ import annotations

from pathlib import Path

import pytest

from netpart.kernels.cuda.choice_cache import ChoiceCache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


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
