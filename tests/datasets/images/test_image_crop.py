"""Crops: where they are, how much of an image they have, and that they stay within it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.data.images.image_crop import crop_area, place_crop, scaled_frame

SIDES = st.tuples(st.integers(1, 400), st.integers(1, 400))
PLACES = st.floats(0, 1, exclude_max=True)


def test_an_image_is_scaled_until_its_shorter_side_fits() -> None:
    assert scaled_frame((300, 600), (100, 100), 0) == (100, 200)
    assert scaled_frame((300, 600), (100, 100), 150) == (150, 300)
    assert scaled_frame((50, 600), (100, 50), 0) == (100, 1200)


def test_without_a_place_the_crop_is_the_middle() -> None:
    crop = place_crop((300, 600), (100, 100), 0)
    assert (crop.top, crop.left) == (0, 50)
    assert crop.box((300, 600)) == (150, 0, 450, 300)


def test_places_reach_both_ends() -> None:
    first, last = (place_crop((40, 30), (20, 20), 30, (p, p)) for p in (0.0, 0.9999))
    assert (first.box((40, 30)), last.box((40, 30))) == ((0, 0, 20, 20), (10, 20, 30, 40))


@given(SIDES, SIDES, st.integers(0, 500), PLACES, PLACES, PLACES, st.floats(0.01, 1))
def test_boxes_stay_within_the_image(
    image: tuple[int, int], target: tuple[int, int], resize: int, y: float, x: float, aspect: float, area: float
) -> None:
    resize = max(resize, *target) if resize else 0
    for crop in (place_crop(image, target, resize, (y, x)), crop_area(image, target, area, aspect, (y, x))):
        left, top, right, bottom = crop.box(image)
        assert 0 <= left < right <= image[1]
        assert 0 <= top < bottom <= image[0]


@given(st.floats(0.1, 1), PLACES)
def test_a_crop_of_an_area_has_it(area: float, aspect: float) -> None:
    crop = crop_area((1000, 1000), (50, 100), area, aspect, (0.5, 0.5))
    pixels = crop.size[0] * crop.size[1]
    clipped = 1000 in crop.size
    assert clipped or abs(pixels / 1e6 - area) < 0.01
    assert clipped or 1.45 < crop.size[1] / crop.size[0] < 2.75


def test_a_decoder_may_decode_as_small_as_the_crop_allows() -> None:
    assert place_crop((800, 800), (100, 100), 0).least_image((100, 100)) == (100, 100)
    assert place_crop((800, 800), (100, 100), 200).least_image((100, 100)) == (200, 200)
