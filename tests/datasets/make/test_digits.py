from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from netpart.data.make.digits import COUNT, SIDE, _load_digit_images, make_digits
from netpart.data.make.image_store import MEAN, TEST, TRAIN
from netpart.data.stores.mean import read_mean
from netpart.data.stores.record import Record, decode_record
from netpart.data.stores.store import open_store
from netpart.errors import NetpartError

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs scikit-learn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits") / "made"
    assert make_digits(folder)
    return folder


def records(path: Path) -> list[Record]:
    with open_store("kvfile", path) as store:
        assert [store.key(i) for i in range(len(store))] == [b"%08d" % i for i in range(len(store))]
        return [decode_record(store.value(i)) for i in range(len(store))]


def test_the_stores_share_out_all_digits_by_class(folder: Path) -> None:
    train, test = records(folder / TRAIN), records(folder / TEST)
    assert (len(train), len(test)) == (COUNT - 360, 360)
    both = [np.bincount([record.label for record in part], minlength=10) for part in (train, test)]
    assert (both[0] + both[1]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.abs(both[1] - (both[0] + both[1]) / 5).max() <= 1
    assert all(record.shape == (28, 28) and len(record.pixel) == 784 for record in train + test)
    assert len({record.pixel for record in train + test}) == COUNT


def test_pixels_that_lie_between_two_greys_are_the_same_everywhere() -> None:
    """In whole numbers there is no last bit: a place is (2i + 1) / 7 - 1/2 of 8, so weights are fourteenths."""
    grey = import_module("sklearn.datasets").load_digits().images.astype(np.int64)
    place = np.clip(4 * np.arange(SIDE) - 5, 0, 7 * 14)
    below = np.minimum(place // 14, 6)
    matrix = np.zeros((SIDE, 8), np.int64)
    rows = np.arange(SIDE)
    matrix[rows, below], matrix[rows, below + 1] = 14 - (place - 14 * below), place - 14 * below
    value, whole = 255 * (matrix @ grey @ matrix.T), 16 * 14 * 14
    down, rest = np.divmod(value, whole)
    assert np.count_nonzero(2 * rest == whole) > 10
    up = (2 * rest > whole) | ((2 * rest == whole) & (down % 2 == 1))
    assert np.array_equal(_load_digit_images()[0], down + up)


def test_images_use_the_whole_range_and_the_order_is_mixed(folder: Path) -> None:
    train = records(folder / TRAIN)
    images = np.stack([record.values for record in train])
    assert (images.min(), images.max()) == (0, 255)
    assert len({record.label for record in train[:30]}) > 6
    mean = read_mean(folder / MEAN, (784,))
    np.testing.assert_allclose(mean, images.mean(axis=0), rtol=1e-5)


def test_neighbours_have_the_same_label(folder: Path) -> None:
    """Images and labels belong together: the nearest training image of a test image shows the same digit."""
    train, test = records(folder / TRAIN), records(folder / TEST)
    known = np.stack([record.values for record in train]).astype(np.float32)
    asked = np.stack([record.values for record in test]).astype(np.float32)
    nearest = ((known**2).sum(axis=1)[None] - 2 * asked @ known.T).argmin(axis=1)
    right = [train[i].label == record.label for i, record in zip(nearest.tolist(), test, strict=True)]
    assert np.mean(right) > 0.95


def test_making_them_again_changes_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_digits(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert not make_digits(folder)


@pytest.mark.parametrize("name", [TRAIN, TEST, MEAN])
def test_what_is_missing_or_cut_short_is_made_anew(folder: Path, tmp_path: Path, name: str) -> None:
    make_digits(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-1])
    assert make_digits(tmp_path)
    assert (tmp_path / name).read_bytes() == whole


def test_another_share_is_made_anew(tmp_path: Path) -> None:
    make_digits(tmp_path)
    assert make_digits(tmp_path, test_every=10)
    assert len(records(tmp_path / TEST)) == 180


def test_without_scikit_learn_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(NetpartError, match=r"pip install 'netpart\[data\]'"):
        make_digits(tmp_path)
    assert not list(tmp_path.iterdir())
