"""Changed colours: what each factor does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.data.images.image_change import ImageChange, choose_crop, recolour
from tests.datasets.samples import photo


def changed(values: Any, **factors: Any) -> Any:
    found = values.copy()
    recolour(found, ImageChange(0, 0, **factors))
    return found


@pytest.mark.parametrize("channels", [1, 3])
def test_each_factor_does_what_it_says(channels: int) -> None:
    values = photo(2, channels=channels).transpose(2, 0, 1) / 255
    grey = values[0] if channels == 1 else np.tensordot((0.299, 0.587, 0.114), values, 1)
    assert np.allclose(changed(values, brightness=1.3), (1.3 * values).clip(0, 1))
    assert np.allclose(changed(values, contrast=0.6), grey.mean() + 0.6 * (values - grey.mean()))
    assert np.allclose(changed(values, contrast=1.6), (grey.mean() + 1.6 * (values - grey.mean())).clip(0, 1))
    assert np.allclose(changed(values, saturation=0.0), np.stack([grey] * channels))


def test_a_factor_of_1_changes_no_bit() -> None:
    values = photo(2).transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    assert np.array_equal(changed(values), values)
    assert not ImageChange(0.5, 0.5, 0.3, mirror=True).recolours
    assert ImageChange(0, 0, saturation=0.5).recolours


def test_without_an_area_the_crop_has_the_size_of_the_output() -> None:
    assert choose_crop((40, 60), (40, 40), 0, ImageChange(0, 0.99)).size == (40, 40)
    assert choose_crop((40, 60), (40, 40), 0, ImageChange(0, 0.99)).left == 20
    assert choose_crop((40, 60), (20, 20), 0, ImageChange(0, 0, 0.25)).size == (24, 24)
