from __future__ import annotations

import json
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.header import (
    DTYPES,
    LARGEST,
    LENGTH,
    PAGE,
    SafetensorsHeader,
    header_length,
    parse_header,
    place_tensors,
    write_header,
)
from netpart.errors import DataError

SHAPES = st.lists(st.integers(0, 6), max_size=4).map(tuple)
NAMES = st.text(max_size=8).filter(lambda name: name != "__metadata__")
TENSORS = st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(DTYPES)), SHAPES), max_size=6)
METADATA = st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3)
JSON = (
    st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.lists(st.integers() | st.just("F32"), max_size=3)
)


def parsed(start: bytes, size: int) -> SafetensorsHeader:
    length = header_length(start[: LENGTH.size], size)
    return parse_header(start[LENGTH.size : LENGTH.size + length], size)


def field(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16], **changes}


@given(TENSORS, METADATA)
def test_what_is_written_is_read_and_aligned(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    start, size = write_header(tensors, metadata)
    header = parsed(start, size)
    assert {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()} == tensors
    assert (header.metadata, header.size) == (metadata, size)
    assert all(tensor.offset % tensor.item.itemsize == 0 for tensor in header.tensors.values())
    assert size == len(start) + sum(prod(shape) * DTYPES[dtype].itemsize for dtype, shape in tensors.values())
    assert len(start) % PAGE == 0
    places = {name: len(start) + low for name, (low, _) in place_tensors(tensors).items()}
    assert places == {name: tensor.offset for name, tensor in header.tensors.items()}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ([], "named tensors, got list"),
        ({"w": 1}, "w: expected dtype, shape and data_offsets, got 1"),
        ({"w": field(more=1)}, "w: expected dtype, shape and data_offsets"),
        ({"w": field(dtype="BF16")}, "w: expected dtype F64, F32, I64, I32, got 'BF16'"),
        ({"w": field(dtype=["F32"])}, "w: expected dtype"),
        ({"w": field(shape=[-2, -2])}, "w: expected a shape and two offsets"),
        ({"w": field(shape=[2, True])}, "w: expected a shape and two offsets"),
        ({"w": field(shape=[1] * 65)}, "w: expected a shape and two offsets"),
        ({"w": field(shape="22")}, "w: expected a shape and two offsets"),
        ({"w": field(data_offsets=[0, 16, 16])}, "w: expected a shape and two offsets"),
        ({"w": field(data_offsets=[16, 0])}, "w: expected 16 bytes for its shape, got -16"),
        ({"w": field(data_offsets=[0, 12])}, "w: expected 16 bytes for its shape, got 12"),
        ({"w": field(shape=[2**62, 2**62])}, "for its shape, got 16"),
        ({"w": field(), "v": field()}, "got an overlap"),
        ({"w": field(), "v": field(data_offsets=[8, 24])}, "v: expected its first byte at .*, got an overlap"),
        ({"w": field(data_offsets=[4, 20])}, "w: expected its first byte at .*, got a gap"),
        ({"w": field(), "v": field(data_offsets=[16, 32])}, "cut short or something was appended"),
        ({"__metadata__": {"a": 1}, "w": field()}, "__metadata__: expected strings"),
        ({"__metadata__": [], "w": field()}, "__metadata__: expected strings"),
    ],
)
def test_a_header_that_lies_is_refused(fields: Any, complaint: str) -> None:
    text = json.dumps(fields).encode()
    with pytest.raises(DataError, match=complaint):
        parse_header(text, LENGTH.size + len(text) + 16)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"w": ' + b"9" * 5000 + b"}"], ids=range(6)
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(DataError, match="expected a header in JSON"):
        parse_header(text, 100)


@pytest.mark.parametrize(("length", "size"), [(93, 100), (LARGEST + 1, 2**40), (2**64 - 1, 100)])
def test_a_header_longer_than_its_file_or_the_limit_is_refused(length: int, size: int) -> None:
    with pytest.raises(DataError, match="expected a header that fits"):
        header_length(LENGTH.pack(length), size)


@given(
    st.dictionaries(
        NAMES, JSON | st.fixed_dictionaries({"dtype": JSON, "shape": JSON, "data_offsets": JSON}), max_size=3
    )
)
def test_any_json_is_a_header_or_a_data_error(fields: dict[str, Any]) -> None:
    text = json.dumps(fields).encode()
    try:
        header = parse_header(text, LENGTH.size + len(text))
    except DataError:
        return
    assert all(tensor.nbytes == 0 for tensor in header.tensors.values())


def test_a_dtype_that_is_not_stored_is_refused() -> None:
    with pytest.raises(DataError, match="fc1_w: expected dtype F64, F32, I64, I32, got 'F16'"):
        write_header({"fc1_w": ("F16", (2,))}, {})
