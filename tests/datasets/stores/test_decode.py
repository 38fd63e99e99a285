from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.csv_decode import csv_decoder
from netpart.data.stores.decode import record_decoder, record_shape
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from tests.datasets.samples import image_store, kv_bytes, pixels


def test_a_record_takes_the_shape_of_the_row() -> None:
    image = pixels(1, (2, 6))[0]
    values, label = record_decoder((12,))(encode_record(Record.from_array(image, 3)))
    assert (values.dtype.name, label) == ("uint8", 3)
    np.testing.assert_array_equal(values, image.reshape(-1))


def test_floats_go_before_pixels() -> None:
    value = encode_record(Record((2,), 0, pixel=b"ab", data=np.array([0.5, 2], "<f4").tobytes()))
    np.testing.assert_array_equal(record_decoder((2,))(value)[0], [0.5, 2])


def test_a_record_of_another_size_names_both() -> None:
    value = encode_record(Record.from_array(np.zeros((3, 4), np.uint8)))
    with pytest.raises(DataError, match=r"expected 16 elements for shape 4x4, got 12 \(its shape: 3x4\)"):
        record_decoder((4, 4))(value)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9), st.integers(-9, 9))
def test_a_line_is_its_label_and_its_numbers(numbers: list[float], label: int) -> None:
    line = ";".join(map(repr, numbers)).encode()
    values, none = csv_decoder((len(numbers),), ";", has_label=False)(line)
    labelled, found = csv_decoder((1, len(numbers)), ";")(b"%d;" % label + line)
    assert (none, found, labelled.shape) == (None, label, (1, len(numbers)))
    np.testing.assert_array_equal(values, np.array(numbers, np.float32))
    np.testing.assert_array_equal(labelled[0], values)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "a label and 2 values for shape 2, got 1 columns"),
        (b"1,2", "got 2 columns"),
        (b"1,2,3,4", "got 4 columns"),
        (b"1.5,2,3", "column 1: expected a label, a whole number from 0, got '1.5'"),
        (b"4294967296,2,3", "column 1: expected a label of 32 bits"),
        (b"1,2,x", "column 3: expected a number, got 'x'"),
        (b"1,nan,3", "column 2: expected a finite float32, got 'nan'"),
        (b"1,2,1e39", "column 3: expected a finite float32, got '1e39'"),
        (b"1,2,\xff", "column 3: expected a number"),
    ],
)
def test_a_bad_line_names_the_column(line: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        csv_decoder((2,))(line)


@given(st.binary(max_size=30))
def test_any_line_is_decoded_or_a_data_error(line: bytes) -> None:
    try:
        values, _ = csv_decoder((2,))(line)
    except DataError:
        return
    assert values.shape == (2,)


def test_the_first_record_tells_the_shape(tmp_path: Path) -> None:
    with open_store("kvfile", image_store(tmp_path / "a.bin", pixels(2, (3, 4, 5)))) as store:
        assert record_shape(store) == (3, 4, 5)


@pytest.mark.parametrize(
    "value", [b"no record", encode_record(Record((), 1, b"abc")), encode_record(Record((2,), 1, b"abc"))]
)
def test_a_store_that_names_no_shape_is_refused(tmp_path: Path, value: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(kv_bytes([(b"k", value)]))
    with open_store("kvfile", tmp_path / "a.bin") as store, pytest.raises(DataError, match=r"a\.bin: record 0: "):
        record_shape(store)
