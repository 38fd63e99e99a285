"""Corpus: bytes of many files as one text; names of files, folders and globs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data import corpus
from netpart.data.corpus import Corpus, find_text_files
from netpart.errors import DataError


@given(st.lists(st.binary(max_size=5), max_size=6), st.integers(0, 30), st.integers(0, 30))
def test_a_range_is_read_across_files(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], a: int, b: int
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    paths = [folder / str(i) for i in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    whole, text = b"".join(parts), Corpus(paths)
    start, stop = sorted(min(end, len(whole)) for end in (a, b))
    assert len(text) == len(whole)
    assert text.read(start, stop) == whole[start:stop]


def test_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "OPENED", 2)
    paths = [tmp_path / str(i) for i in range(5)]
    for i, path in enumerate(paths):
        path.write_text(str(i))
    text = Corpus(paths)
    assert (text.read(0, 5), text.read(1, 4), repr(text)) == (b"01234", b"123", "Corpus(5 files, 5 bytes)")
    assert len(text._open) == 2


def test_a_file_that_has_shrunk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("0123456789")
    text = Corpus([path])
    path.write_text("01")
    with pytest.raises(DataError, match=r"a: expected 5 bytes, got 2: it was truncated"):
        text.read(0, 5)
    path.unlink()
    with pytest.raises(DataError, match="got nothing there"):
        Corpus([path])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a/x.py", "a/b/y.py", "a/b/z.txt", "c/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "suffix", "found"),
    [
        ("a", ".py", ["a/b/y.py", "a/x.py"]),
        ("a", "", ["a/b/y.py", "a/b/z.txt", "a/x.py"]),
        ("a/x.py", ".txt", ["a/x.py"]),
        ("*/x.py", "", ["a/x.py", "c/x.py"]),
        ("**/*.txt", "", ["a/b/z.txt"]),
    ],
)
def test_a_name_is_a_file_a_folder_or_a_glob(tree: Path, name: str, suffix: str, found: list[str]) -> None:
    assert [Path(str(p)).relative_to(tree).as_posix() for p in find_text_files(name, suffix, [tree])] == found


def test_the_first_place_that_has_it_counts(tree: Path) -> None:
    assert find_text_files("x.py", "", [tree, tree / "c", tree / "a"]) == [tree / "c" / "x.py"]
    assert find_text_files(str(tree / "c" / "x.py"), "", [Path("elsewhere")]) == [tree / "c" / "x.py"]


@pytest.mark.parametrize(("name", "suffix"), [("absent", ""), ("*.csv", ""), ("a", ".c")])
def test_what_means_no_file_is_named(tree: Path, name: str, suffix: str) -> None:
    with pytest.raises(DataError, match=r"expected a file, or a glob.*got nothing there; correct the path"):
        find_text_files(name, suffix, [tree])
