from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from netpart.data.stores.csv_decode import csv_decoder
from netpart.data.stores.decode import Label, record_decoder
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.record_store import RecordStore
from netpart.data.stores.rows import RowReader
from netpart.data.stores.store import KvWriter, open_store
from netpart.errors import DataError
from netpart.spec import Region, extent
from tests.datasets.samples import image_store, pixels

COUNT, SHAPE = 7, (3, 4)
IMAGES = pixels(COUNT, SHAPE)
BUDGETS = st.sampled_from([0, 2**20])
BOXES = st.tuples(*(st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda p: (min(p), max(p))) for n in SHAPE))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    return open_store("kvfile", image_store(tmp_path_factory.mktemp("rows") / "train.bin", IMAGES))


def reader(store: RecordStore, **kwargs: Any) -> RowReader:
    return RowReader(store, record_decoder(SHAPE), **kwargs)


def read(
    rows: RowReader, step: int, lo: int, hi: int, box: Region | None = None, dtype: Any = np.float64
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    data = np.full((hi - lo, *(rows.shape if box is None else extent(box))), np.nan, dtype)
    label = np.full(hi - lo, -7, np.int32)
    rows.read(step, lo, hi, data, label, box)
    return data, label


def backwards(epoch: int) -> NDArray[np.int64]:
    """Another order in every epoch: turned round and rotated."""
    return np.roll(np.arange(COUNT)[::-1], epoch)


@given(batch=st.integers(1, 20), skip=st.integers(0, 50), step=st.integers(0, 1000))
def test_rows_follow_the_file_and_wrap_across_its_end(store: RecordStore, batch: int, skip: int, step: int) -> None:
    rows = reader(store, batch=batch, skip=skip)
    assert rows.indices(step, 0, batch).tolist() == [(skip + step * batch + r) % COUNT for r in range(batch)]


@given(batch=st.integers(1, 20), skip=st.integers(0, 50), steps=st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_a_shuffled_epoch_takes_every_record_once(store: RecordStore, batch: int, skip: int, steps: list[int]) -> None:
    rows = reader(store, batch=batch, skip=skip, shuffle_key=backwards)
    for step in steps:  # in any order: a resumed run starts in the middle
        places = [skip % COUNT + step * batch + r for r in range(batch)]
        expected = [backwards(place // COUNT)[place % COUNT] for place in places]
        assert rows.indices(step, 0, batch).tolist() == expected


def test_the_order_of_an_epoch_is_asked_for_once(store: RecordStore) -> None:
    asked: list[int] = []

    def order(epoch: int) -> NDArray[np.int64]:
        asked.append(epoch)
        return backwards(epoch)

    rows = reader(store, batch=4, shuffle_key=order)
    for step in range(7):
        for row in reversed(range(4)):
            rows.indices(step, row, row + 1)
    assert asked == [0, 1, 2, 3]


@given(
    batch=st.integers(1, 16),
    step=st.integers(0, 9),
    skip=st.integers(0, 9),
    shuffled=st.booleans(),
    cuts=st.lists(st.integers(0, 16), max_size=4),
    column=st.integers(0, SHAPE[1]),
    budget=BUDGETS,
)
def test_the_parts_of_every_cut_make_the_whole(
    store: RecordStore, batch: int, step: int, skip: int, shuffled: bool, cuts: list[int], column: int, budget: int
) -> None:
    def fresh() -> RowReader:
        return reader(
            store, batch=batch, skip=skip, shuffle_key=backwards if shuffled else None, mean=3.0, budget=budget
        )

    data, label = read(fresh(), step, 0, batch)
    joined, labels = np.full_like(data, np.nan), np.full_like(label, -7)
    ends = sorted({0, batch, *(cut for cut in cuts if cut < batch)})
    for lo, hi in pairwise(ends):
        for span in ((0, column), (column, SHAPE[1])):
            part, labels[lo:hi] = read(fresh(), step, lo, hi, ((0, SHAPE[0]), span))
            joined[lo:hi, :, span[0] : span[1]] = part
    np.testing.assert_array_equal(joined, data)
    np.testing.assert_array_equal(labels, label)


@given(
    box=BOXES,
    lo=st.integers(0, 9),
    rows=st.integers(0, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
    budget=BUDGETS,
    per_element=st.booleans(),
)
def test_elements_are_normalised_and_cropped(
    store: RecordStore, box: Region, lo: int, rows: int, dtype: Any, budget: int, per_element: bool
) -> None:
    mean: Any = IMAGES.mean(axis=0) if per_element else 127.5
    std: Any = IMAGES.std(axis=0) + 1 if per_element else 64.0
    source = reader(store, batch=18, mean=mean, std=std, budget=budget)
    data, label = read(source, 0, lo, lo + rows, box, dtype)
    places = np.arange(lo, lo + rows) % COUNT
    expected = (IMAGES.astype(dtype) - np.asarray(mean, dtype)) / np.asarray(std, dtype)
    crop: Any = (slice(None), *(slice(a, b) for a, b in box))
    np.testing.assert_array_equal(data, expected[places][crop])
    np.testing.assert_array_equal(label, places)


def test_each_output_may_be_left_out(store: RecordStore) -> None:
    rows = reader(store, batch=3)
    data, label = np.zeros((3, *SHAPE), np.float32), np.zeros(3, np.int32)
    rows.read(1, 0, 3, None, label)
    rows.read(1, 0, 3, data, None)
    rows.read(1, 0, 3, None, None)
    np.testing.assert_array_equal(data, IMAGES[3:6])
    assert label.tolist() == [3, 4, 5]


@pytest.mark.parametrize(("budget", "decodings"), [(2**20, COUNT), (10, 1 + 3 * 6)])
def test_records_are_decoded_once_if_they_fit_the_budget(store: RecordStore, budget: int, decodings: int) -> None:
    seen: list[bytes] = []

    def decode(value: bytes) -> tuple[NDArray[Any], Label]:
        seen.append(value)
        return record_decoder(SHAPE)(value)

    rows = RowReader(store, decode, batch=6, budget=budget)
    for step in range(3):
        read(rows, step, 0, 6)
    assert len(set(seen)) == COUNT
    assert len(seen) == decodings + (budget > 10)  # the first record is decoded once more, to learn the shape


@pytest.mark.parametrize("shape", [(1, *SHAPE), (3, *SHAPE[::-1]), (3,)])
def test_an_output_of_another_shape_is_refused(store: RecordStore, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="data_out: expected shape"):
        reader(store, batch=3).read(0, 0, 3, np.zeros(shape), None)


@pytest.mark.parametrize("box", [((0, 3),), ((0, 4), (0, 4)), ((-1, 2), (0, 4))])
def test_a_box_outside_the_row_is_refused(store: RecordStore, box: Region) -> None:
    with pytest.raises(ValueError, match="box: expected a region"):
        reader(store, batch=3).read(0, 0, 3, None, None, box)


def test_a_mean_of_another_shape_is_refused(store: RecordStore) -> None:
    with pytest.raises(DataError, match=r"expected a mean of shape \(3, 4\), got \(4, 3\)"):
        reader(store, batch=3, mean=np.zeros((4, 3)))


def test_a_bad_record_is_named(tmp_path: Path) -> None:
    with KvWriter(tmp_path / "a.bin") as writer:
        writer.put(b"0", encode_record(Record.from_array(np.zeros((2, 2), np.uint8))))
        writer.put(b"1", encode_record(Record.from_array(np.zeros((2, 3), np.uint8))))
    with open_store("kvfile", tmp_path / "a.bin") as store:
        rows = RowReader(store, record_decoder((2, 2)), batch=2)
        with pytest.raises(
            DataError, match=r"a\.bin: record 1: expected 4 elements for shape 2x2, got 6 \(its shape: 2x3"
        ):
            read(rows, 0, 0, 2)


@pytest.mark.parametrize("budget", [0, 2**20])
def test_pixels_and_floats_do_not_mix(tmp_path: Path, budget: int) -> None:
    with KvWriter(tmp_path / "a.bin") as writer:
        writer.put(b"0", encode_record(Record.from_array(np.zeros(2, np.uint8))))
        writer.put(b"1", encode_record(Record.from_array(np.full(2, 0.5))))
    with open_store("kvfile", tmp_path / "a.bin") as store:
        rows = RowReader(store, record_decoder((2,)), batch=2, budget=budget)
        with pytest.raises(DataError, match="record 1: expected uint8 elements like record 0, got float32"):
            read(rows, 0, 0, 2)


def test_lines_without_labels_have_none_to_give(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n5,6\n")
    with open_store("textfile", tmp_path / "a.csv") as store:
        rows = RowReader(store, csv_decoder((2,), has_label=False), batch=2)
        data = np.zeros((2, 2))
        rows.read(1, 0, 2, data, None)
        np.testing.assert_array_equal(data, [[5, 6], [1, 2]])
        with pytest.raises(DataError, match="expected labels, got records without"):
            rows.read(0, 0, 2, None, np.zeros(2, np.int32))
