"""The price of bfloat16: copies against the FLOPs that it saves."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from netpart.kernels.cuda import narrowing
from netpart.kernels.cuda.narrowing import BANDWIDTH, LAUNCH, RATES, multiplied_precision

IMAGE = 256 * 14 * 14


def chosen(channels: int) -> str:
    """The precision of a convolution of 3 x 3 with as many filters as channels."""
    places, weights = IMAGE * channels, 9 * channels**2
    return multiplied_precision("bfloat16", [places, weights, places], 2 * IMAGE * weights)


@pytest.mark.parametrize("asked", ["float32", "tf32"])
def test_any_other_precision_is_the_one_that_is_asked_for(asked: str) -> None:
    assert multiplied_precision(asked, [1, 1, 1], 10**15) == asked


def test_many_channels_gain_and_few_do_not() -> None:
    assert [chosen(channels) for channels in (16, 64, 128, 256, 512)] == [*["tf32"] * 3, *["bfloat16"] * 2]


def test_what_a_launch_costs_is_never_saved_by_a_small_one() -> None:
    assert multiplied_precision("bfloat16", [1, 1, 1], int(4 * LAUNCH * RATES["tf32"])) == "tf32"
    assert multiplied_precision("bfloat16", [1, 1, 1], int(7 * LAUNCH * RATES["bfloat16"])) == "bfloat16"


def test_what_only_moves_bytes_stays_in_tf32() -> None:
    assert multiplied_precision("bfloat16", [10**9, 10**9, 10**9], 10**9) == "tf32"


@pytest.mark.parametrize("channels", [128, 160, 192, 224, 256, 512])
def test_what_gains_gains_on_faster_memory_too(channels: int) -> None:
    slow = chosen(channels)
    with patch.object(narrowing, "BANDWIDTH", 2 * BANDWIDTH):
        assert slow == "tf32" or chosen(channels) == "bfloat16"
