"""Gradient buckets: consecutive, whole, and as large as their target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.collectives import pack_buckets


def test_targets_grow_up_to_the_limit() -> None:
    assert pack_buckets([10] * 20, first=10, growth=2, limit=50) == [
        [0],
        [1, 2],
        [3, 4, 5, 6],
        [7, 8, 9, 10, 11],
        [12, 13, 14, 15, 16],
        [17, 18, 19],
    ]


def test_a_large_gradient_closes_its_bucket() -> None:
    assert pack_buckets([1, 1 << 30, 1, 1]) == [[0, 1], [2, 3]]


def test_defaults_are_64_kib_then_four_times_more_up_to_4_mib() -> None:
    kib = 1 << 10
    sizes = [64 * kib - 1, 1, 256 * kib - 1, 1, 1024 * kib, 4096 * kib, 4096 * kib - 1, 1]
    assert pack_buckets(sizes) == [[0, 1], [2, 3], [4], [5], [6, 7]]


def test_nothing_to_pack() -> None:
    assert pack_buckets([]) == []
    assert pack_buckets([0, 0]) == [[0, 1]]


def test_a_first_bucket_above_the_limit_is_that_of_all() -> None:
    mib = 1 << 20
    assert pack_buckets([3 * mib] * 6, first=8 * mib) == [[0, 1, 2], [3, 4, 5]]
    assert pack_buckets([40 * mib, 8], first=1 << 30) == [[0, 1]]


@given(st.lists(st.integers(0, 1000)), st.integers(1, 50), st.integers(1, 5), st.integers(0, 200))
def test_buckets_are_minimal(sizes: list[int], first: int, growth: int, more: int) -> None:
    limit = first + more
    buckets = pack_buckets(sizes, first, growth, limit)
    assert [index for bucket in buckets for index in bucket] == list(range(len(sizes)))
    for i, bucket in enumerate(buckets):
        target = min(first * growth**i, limit)
        held = sum(sizes[index] for index in bucket)
        assert held - sizes[bucket[-1]] < target
        assert held >= target or i == len(buckets) - 1


@pytest.mark.parametrize(
    ("sizes", "first", "growth", "limit"), [([-1], 1, 1, 1), ([1], 0, 1, 1), ([1], 1, 0, 1), ([1], 1, 1, 0)]
)
def test_senseless_settings(sizes: list[int], first: int, growth: int, limit: int) -> None:
    with pytest.raises(ValueError, match="buckets: expected"):
        pack_buckets(sizes, first, growth, limit)
