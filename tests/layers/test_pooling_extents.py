"""Extents in ceil mode and divisors of means, against windows counted one by one over all small geometries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.layers.pooling import Pooling
from netpart.layers.windows import SlidingWindows
from netpart.spec import Spec
from netpart.testing.play_part import LayerData, play_part
from tests.laws.cases import Case
from tests.thorough import THOROUGH


def geometries(ends: range | None) -> Iterator[tuple[int, int, int, int, int]]:
    """(extent, kernel, stride, pad, pad_end), with pads as PyTorch allows them: of at most half a kernel."""
    for n, k, s in product(range(1, 9), range(1, 6), range(1, 5)):
        for pad in range(k // 2 + 1):
            yield from ((n, k, s, pad, end) for end in (ends or (pad,)))


def starts_in_ceil_mode(n: int, k: int, s: int, pad: int, end: int) -> list[int]:
    """First positions of the windows, from the definition: all that fit into the padded input, and one more if it
    has elements of the padded input that no window has, and starts in the input or the padding before it."""
    found = list(range(-pad, n + end - k + 1, s))
    after = found[-1] + s if found else -pad
    covered = found[-1] + k if found else min(-pad, n)
    return [*found, after] if covered < n + end and after < n and (found or k - n - pad - end < s) else found


def pooling(n: int, k: int, s: int, pad: int, end: int, more: str) -> Pooling:
    text = f"spatial_axes: 1 kernel: {k} stride: {s} pad: {pad} pad_end: {end} {more}"
    layer = Case("kPooling", f"pooling_conf {{ {text} }}", (Spec((1, n)),)).layer()
    assert isinstance(layer, Pooling)
    return layer


def test_extents_are_those_of_the_definition() -> None:
    for n, k, s, pad, end in geometries(range(4)):
        sliding = SlidingWindows((n,), (k,), (s,), (pad,), (1,), (end,), ceil_mode=True)
        wanted = len(starts_in_ceil_mode(n, k, s, pad, end))
        assert max(0, sliding.outputs[0]) == wanted, (n, k, s, pad, end)


@pytest.mark.parametrize("counted", ["true", "false"])
def test_means_divide_by_the_elements_that_they_count(counted: str) -> None:
    for n, k, s, pad, end in list(geometries(range(3)))[:: 1 if THOROUGH else 9]:
        starts = starts_in_ceil_mode(n, k, s, pad, end)
        if not starts:
            continue
        layer = pooling(n, k, s, pad, end, f"pool: AVG ceil_mode: true count_include_pad: {counted}")
        low, high = (-pad, n + end) if counted == "true" else (0, n)
        x = np.arange(1.0, n + 1)
        shares = [(x[max(0, a) : min(n, a + k)].sum(), min(high, a + k) - max(low, a)) for a in starts]
        wanted = [total / max(1, count) for total, count in shares]
        found = play_part(layer, LayerData([x[None]], [], None), backward=False).y
        np.testing.assert_allclose(found, [wanted], rtol=1e-14, err_msg=str((n, k, s, pad, end)))


@pytest.mark.peers
def test_extents_and_values_are_pytorchs() -> None:
    import torch

    for n, k, s, pad, end in geometries(None):
        x = np.random.default_rng(n).normal(size=(1, n))
        for pool, more in product(("MAX", "AVG"), ("true", "false")):
            peer = (
                torch.nn.MaxPool1d(k, s, pad, ceil_mode=True)
                if pool == "MAX"
                else torch.nn.AvgPool1d(k, s, pad, ceil_mode=True, count_include_pad=more == "true")
            )
            conf = f"pool: {pool} ceil_mode: true count_include_pad: {more}"
            try:
                wanted = peer(torch.from_numpy(x)[None])[0].numpy()
            except RuntimeError:  # PyTorch: "Output size is too small"
                with pytest.raises(ConfigError, match="expected a kernel no larger than the padded input"):
                    pooling(n, k, s, pad, end, conf)
                continue
            found = play_part(pooling(n, k, s, pad, end, conf), LayerData([x], [], None), backward=False).y
            assert found.shape == wanted.shape, (n, k, s, pad)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
