"""Lines of a CSV file: a line feed between quotes ends none, and errors name the line of the file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.file_bytes import FileBytes
from netpart.data.stores.csv_fields import split_fields
from netpart.data.stores.csv_store import CsvStore
from netpart.errors import DataError

ROWS = st.lists(st.lists(st.text(st.sampled_from('a",\n'), max_size=5), min_size=2, max_size=2), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv") / "a.csv"


@given(rows=ROWS, block=st.integers(1, 9))
def test_rows_are_those_of_the_csv_module(path: Path, rows: list[list[str]], block: int) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileBytes, "stride", block)
        with CsvStore(path) as store:
            found = [[field.decode() for field in split_fields(store.value(i), b",")] for i in range(len(store))]
    assert found == rows


def test_places_are_lines_of_the_file(path: Path) -> None:
    path.write_bytes(b'a,b\n"1\n\n",2\n3,4\n')
    with CsvStore(path) as store:
        assert [store.place(i) for i in range(3)] == [f"{path}:{line}" for line in (1, 2, 5)]
        store.skip(1)
        assert [store.place(i) for i in range(2)] == [f"{path}:{line}" for line in (2, 5)]


def test_a_quote_that_is_never_closed_is_named_by_its_line(path: Path) -> None:
    path.write_bytes(b'a,b\n1,2\n3,"4\n5,6\n')
    with pytest.raises(DataError, match=r"a\.csv:3: expected an even number of quotes"):
        CsvStore(path)
