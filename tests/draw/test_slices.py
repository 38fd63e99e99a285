"""Pictures of maps: every place where it is, and words, sides and a scale around them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.draw.glyphs import ADVANCE, HIGH, glyph_pixels
from netpart.draw.slices import (
    INK,
    SCALE,
    Image,
    colour_scale,
    draw_slices,
    grey_shades,
    hottest_voxel,
    overlay_heat,
    slice_planes,
    text_image,
)


def coloured(image: NDArray[np.float64] | Image) -> NDArray[np.bool_]:
    """Where a picture is not grey."""
    return np.asarray((image != image[..., :1]).any(axis=-1))


def places(image: Image, text: str) -> list[tuple[int, int]]:
    """Where ``text`` is written in a picture."""
    mask, ink = glyph_pixels(text, SCALE), (image == INK).all(axis=-1)
    top, left = (int(at) for at in np.argwhere(mask)[0])  # the first pixel of the first letter
    starts = ((int(y) - top, int(x) - left) for y, x in np.argwhere(ink))
    high, wide = mask.shape
    return [(y, x) for y, x in starts if np.array_equal(ink[max(0, y) : y + high, max(0, x) : x + wide], mask)]


def test_without_heat_a_picture_is_grey_and_hot_places_are_not() -> None:
    values, heat = np.arange(24.0).reshape(4, 6), np.zeros((4, 6))
    plain = overlay_heat(values, heat)
    assert plain.shape == (4, 6, 3)
    assert not coloured(plain).any()
    heat[1, 2] = 1
    assert np.argwhere(coloured(overlay_heat(values, heat))).tolist() == [[1, 2]]


def test_a_volume_is_shown_in_three_planes_through_its_hottest_voxel() -> None:
    values, heat = np.random.default_rng(0).random((4, 5, 6)), np.zeros((4, 5, 6))
    heat[1, 2, 3] = 1
    planes = list(slice_planes(values, heat, (1.0, 1.0, 1.0)))
    assert [plane.pixels.shape[:2] for plane in planes] == [(6, 5), (6, 4), (5, 4)]
    # Sagittal (front, top), coronal (right, top) and axial (right, front); tops and fronts are upwards.
    assert [np.argwhere(coloured(plane.pixels)).tolist() for plane in planes] == [[[2, 2]], [[2, 1]], [[2, 1]]]
    assert [plane.name for plane in planes] == ["sagittal 1", "coronal 2", "axial 3"]
    assert hottest_voxel(heat) == (1, 2, 3)


def test_planes_are_as_large_as_in_life() -> None:
    volume = np.random.default_rng(0).random((4, 5, 6))
    planes = list(slice_planes(volume, volume, (1.0, 1.0, 3.0)))
    assert [plane.pixels.shape[:2] for plane in planes] == [(18, 5), (18, 4), (5, 4)]


def test_a_picture_of_a_volume_says_which_side_is_which() -> None:
    volume = np.random.default_rng(0).random((4, 5, 6))
    image = draw_slices(volume, volume, "a title")
    names = {
        name.split()[0]: places(image, name)[0] for name in (plane.name for plane in slice_planes(volume, volume, ()))
    }
    assert list(names) == ["sagittal", "coronal", "axial"]
    (coronal_left, axial_left), (coronal_right, axial_right) = (sorted(places(image, side), key=lambda p: p[1])
                                                                for side in "LR")  # fmt: skip
    assert coronal_left[1] < names["coronal"][1] < coronal_right[1] < axial_left[1] < names["axial"][1] < axial_right[1]
    assert len(places(image, "S")) == len(places(image, "I")) == len(places(image, "A")) == len(places(image, "P")) == 2


def test_a_picture_has_its_title_and_a_scale() -> None:
    image = draw_slices(np.random.default_rng(0).random((28, 28)), np.zeros((28, 28)), "net: sample 3, of class 1")
    (title,) = places(image, "net: sample 3, of class 1")
    (half,), (below,) = places(image, "0.5"), places(image, "largest")
    most, none = (max(place for place in places(image, tick) if place[1] == half[1]) for tick in ("1", "0"))
    assert title[0] < most[0] < half[0] - 10 < none[0] < below[0]
    assert not places(image, "L")


def test_a_long_title_is_broken_and_nothing_is_lost() -> None:
    title = "word " * 60
    image = draw_slices(np.zeros((8, 8)), np.zeros((8, 8)), title.strip())
    assert len(places(image, "word")) == 60


def test_the_scale_runs_from_the_colour_of_most_to_grey() -> None:
    bar = colour_scale(200)
    assert bar[0, 0].tolist() == [round(255 * (0.5 * 0.3 + 0.7)), round(255 * (0.5 * 0.3 + 0.7)), round(255 * 0.15)]
    assert bar[199, 0].tolist() == [128, 128, 128]


def test_shades_span_black_to_white_and_flat_images_are_black() -> None:
    found = grey_shades(np.arange(1000.0))
    assert (found.min(), found.max()) == (0, 1)
    assert not grey_shades(np.full((3, 3), 7.0)).any()


@pytest.mark.parametrize("letters", ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789.,:-()"])
def test_letters_differ_from_each_other(letters: str) -> None:
    assert len({glyph_pixels(letter).tobytes() for letter in letters}) == len(letters)
    assert glyph_pixels(letters).shape == (HIGH, ADVANCE * len(letters))


def test_a_letter_that_is_not_known_is_a_frame() -> None:
    frame = glyph_pixels("é")
    assert frame[0, :5].all()
    assert not frame[1:-1, 1:4].any()
    assert not text_image(" ").any()
