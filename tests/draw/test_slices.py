from __future__ import annotations

import numpy as np

from netpart.draw.slices import hottest, overlay, shades


def test_without_heat_a_picture_is_grey_and_hot_places_are_not() -> None:
    values, heat = np.arange(24.0).reshape(4, 6), np.zeros((4, 6))
    plain = overlay(values, heat)
    assert plain.shape[0] * 6 == plain.shape[1] * 4
    assert (plain == plain[..., :1]).all()
    heat[1, 2] = 1
    factor = plain.shape[0] // 4
    changed = (overlay(values, heat) != plain).any(axis=-1)[::factor, ::factor]
    assert np.argwhere(changed).tolist() == [[1, 2]]


def test_a_volume_is_shown_in_three_planes_through_its_hottest_voxel() -> None:
    values, heat = np.random.default_rng(0).random((4, 5, 6)), np.zeros((4, 5, 6))
    heat[1, 2, 3] = 1
    picture = overlay(values, heat)
    factor = picture.shape[0] // 6
    assert picture.shape == (6 * factor, (5 + 4 + 4) * factor, 3)
    coloured = np.argwhere((picture != picture[..., :1]).any(axis=-1)[::factor, ::factor])
    # Sagittal (front, top), coronal (right, top) and axial (right, front); tops and fronts are upwards.
    assert coloured.tolist() == [[2, 2], [2, 5 + 1], [2, 9 + 1]]
    assert hottest(heat) == (1, 2, 3)


def test_shades_span_black_to_white_and_flat_images_are_black() -> None:
    found = shades(np.arange(1000.0))
    assert (found.min(), found.max()) == (0, 1)
    assert not shades(np.full((3, 3), 7.0)).any()
