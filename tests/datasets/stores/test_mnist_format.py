from __future__ import annotations

import numpy as np
import pytest

from netpart.data.resize import resize_images
from netpart.data.stores.mnist_format import mnist_decoder, mnist_shape
from netpart.data.stores.record import Record, encode_record
from netpart.errors import DataError
from tests.datasets.samples import pixels


@pytest.mark.parametrize(
    ("shape", "size", "expected"), [((28, 28), 0, (28, 28)), ((1, 8, 8), 0, (8, 8)), ((28, 28), 32, (32, 32))]
)
def test_the_output_is_square_without_a_channel(shape: tuple[int, ...], size: int, expected: tuple[int, int]) -> None:
    assert mnist_shape(shape, size) == expected


@pytest.mark.parametrize("shape", [(), (784,), (28, 27), (3, 8, 8), (1, 1, 8, 8)])
def test_other_records_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="expected a square grey image, got shape"):
        mnist_shape(shape)


def test_pixels_become_x_over_a_minus_b() -> None:
    image = pixels(1, (1, 5, 5))[0]
    values, label = mnist_decoder(127.5, 1.0)(encode_record(Record.from_array(image, 9)))
    assert (values.shape, values.dtype.name, label) == ((5, 5), "float32", 9)
    np.testing.assert_allclose(values, image[0] / 127.5 - 1, atol=1e-6)


def test_resizing_comes_before_the_norm() -> None:
    image = pixels(1, (4, 4))[0]
    values, _ = mnist_decoder(2.0, 3.0, size=7)(encode_record(Record.from_array(image)))
    np.testing.assert_array_equal(values, resize_images(image, 7, 7) / 2 - 3)


def test_too_few_pixels_are_refused() -> None:
    with pytest.raises(DataError, match=r"expected 16 pixels for shape \(4, 4\), got 3"):
        mnist_decoder()(encode_record(Record((4, 4), 0, b"abc")))
