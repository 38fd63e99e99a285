from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.stores.mean import read_mean, read_std, write_mean
from netpart.errors import DataError
from tests.datasets.samples import kv_bytes


def test_a_mean_comes_back_in_any_shape_of_its_size(tmp_path: Path) -> None:
    values = np.linspace(-1, 1, 12).reshape(3, 4)
    write_mean(tmp_path / "mean.bin", values)
    np.testing.assert_array_equal(read_mean(tmp_path / "mean.bin", (2, 6)), values.astype(np.float32).reshape(2, 6))


@pytest.mark.parametrize("values", [np.zeros(5), np.array([1, np.nan, 1, 1])])
def test_a_mean_that_does_not_fit_is_refused(
    tmp_path: Path, values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    write_mean(tmp_path / "mean.bin", values)
    with pytest.raises(DataError, match=r"mean\.bin: expected 4 finite floats for shape \(2, 2\)"):
        read_mean(tmp_path / "mean.bin", (2, 2))


def test_a_zero_deviation_is_refused(tmp_path: Path) -> None:
    write_mean(tmp_path / "std.bin", np.array([1.0, 0.0]))
    with pytest.raises(DataError, match=r"std\.bin: expected positive standard deviations, got 0\.0"):
        read_std(tmp_path / "std.bin", (2,))


def test_what_is_no_record_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "mean.bin").write_bytes(kv_bytes([(b"mean", b"\x22\xff")]))
    with pytest.raises(DataError, match=r"mean\.bin: record 0: byte 1"):
        read_mean(tmp_path / "mean.bin", (2,))
