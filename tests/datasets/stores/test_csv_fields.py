"""Fields of a line, as Python's csv module writes them."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.csv_fields import split_fields
from netpart.errors import DataError

FIELDS = st.lists(st.text(st.sampled_from('ab",;\n \r'), max_size=6), min_size=1, max_size=5)


@given(fields=FIELDS, separator=st.sampled_from(",;|"), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_what_is_written_is_read(fields: list[str], separator: str, quoting: int) -> None:
    file = StringIO()
    csv.writer(file, delimiter=separator, quoting=quoting, lineterminator="").writerow(fields)  # type: ignore[arg-type]
    assert split_fields(file.getvalue().encode(), separator.encode()) == [field.encode() for field in fields]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'a,5" pipe,c', "column 2: expected quotes around a whole field, got '5\" pipe'"),
        (b'"a"b,c', "column 1: expected quotes around a whole field"),
        (b'a,"b', "column 2: expected quotes around a whole field"),
        (b'a, "b"', "column 2: expected quotes around a whole field"),
    ],
)
def test_a_stray_quote_is_named(line: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        split_fields(line, b",")


@given(st.binary(max_size=20))
def test_any_line_is_split_or_refused(line: bytes) -> None:
    try:
        assert split_fields(line, b",")
    except DataError:
        assert b'"' in line
