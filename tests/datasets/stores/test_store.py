from __future__ import annotations

from pathlib import Path

import pytest

from netpart.data.stores.store import BACKENDS, open_store
from netpart.errors import DataError


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_a_missing_file_says_how_to_make_one(tmp_path: Path, backend: str) -> None:
    with pytest.raises(DataError, match=r"none\.bin: expected a data file, got nothing.*netpart data --help"):
        open_store(backend, tmp_path / "none.bin")


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_an_empty_file_is_refused(tmp_path: Path, backend: str) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="at least one record, got an empty file"):
        open_store(backend, tmp_path / "empty")


def test_a_folder_without_a_shard_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"shard\.dat: expected a data file"):
        open_store("kvfile", tmp_path)


def test_a_folder_is_no_text_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got a folder"):
        open_store("textfile", tmp_path)


def test_an_unknown_backend_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected backend kvfile, lmdb or textfile, got 'hdfsfile'"):
        open_store("hdfsfile", tmp_path)


def test_a_store_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    with open_store("textfile", tmp_path / "a.csv") as store:
        assert repr(store) == f"TextStore({tmp_path / 'a.csv'}, 2 records)"
