"""Tokens of several files, raw and .npy, as one sequence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data import corpus, open_bytes
from netpart.data.arrays.token_corpus import TokenCorpus
from netpart.data.file_bytes import FileBytes
from netpart.errors import DataError

U2, U4 = np.dtype("<u2"), np.dtype("<u4")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files, of tokens 0 to 59."""
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "a.bin").write_bytes(np.arange(20, dtype=U2).tobytes())
    np.save(folder / "b.npy", np.arange(20, 50, dtype=np.int64))
    (folder / "c.bin").write_bytes(np.arange(50, 60, dtype=U2).tobytes())
    return [folder / name for name in ("a.bin", "b.npy", "c.bin")]


@given(st.integers(0, 59), st.integers(1, 60))
def test_files_make_one_sequence(paths: list[Path], start: int, count: int) -> None:
    tokens = TokenCorpus(paths, U2)
    stop = min(start + count, len(tokens))
    found = tokens.read(start, stop)
    assert found.dtype == np.int32
    assert found.tolist() == list(range(start, stop))


def test_few_files_are_open_at_once(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.data.arrays.token_corpus.OPENED", 1)
    assert corpus.OPENED > 1
    assert TokenCorpus(paths, U2).read(0, 60).tolist() == list(range(60))


def test_each_file_is_opened_once(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[object]()

    class Counted(FileBytes):
        def __init__(self, path: Path) -> None:
            opened.append(path)
            super().__init__(path)

    monkeypatch.setattr(open_bytes, "FileBytes", Counted)
    assert len(TokenCorpus(paths, U2).read(0, 60)) == 60
    assert opened == paths


def test_a_raw_file_may_have_four_bytes_a_token(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([0, 70000, 2], U4).tobytes())
    assert TokenCorpus([tmp_path / "a.bin"], U4).read(0, 3).tolist() == [0, 70000, 2]


def test_a_token_beyond_the_vocabulary_is_named(paths: list[Path]) -> None:
    tokens = TokenCorpus(paths, U2)
    tokens.check_below(60)
    with pytest.raises(DataError, match=r"c\.bin: token 9: expected a number from 0 to 58, got 59; set vocab_size"):
        tokens.check_below(59)
    with pytest.raises(DataError, match=r"b\.npy: token 10: expected a number from 0 to 29, got 30"):
        tokens.check_below(30)
    tokens.check_below(59, 59)
    for ignored in (-1, 58):
        with pytest.raises(DataError, match=r"c\.bin: token 9: expected a number from 0 to 58, got 59"):
            tokens.check_below(59, ignored)


@pytest.mark.parametrize("token", [-1, 2**31])
def test_a_token_that_is_no_int32_is_named(token: int, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, token]))
    with pytest.raises(DataError, match=f"a.npy: token 1: expected a number from 0 to 2147483647, got {token}"):
        TokenCorpus([tmp_path / "a.npy"], U2).read(0, 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "expected tokens of 2 bytes each, got 0 bytes"), (b"abc", "expected tokens of 2 bytes each, got 3 bytes")],
)
def test_what_is_no_sequence_of_tokens(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=said):
        TokenCorpus([tmp_path / "a"], U2)


def test_arrays_that_are_no_sequence(tmp_path: Path) -> None:
    for x in (np.zeros((2, 3), np.int32), np.zeros(3)):
        np.save(tmp_path / "a.npy", x)
        with pytest.raises(DataError, match="expected tokens, whole numbers on one axis, got"):
            TokenCorpus([tmp_path / "a.npy"], U2)
