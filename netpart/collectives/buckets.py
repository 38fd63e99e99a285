"""Gradient buckets: groups of gradients that are reduced together, chosen once before step 0."""

from __future__ import annotations

from collections.abc import Sequence


def pack_buckets(
    sizes_bytes: Sequence[int], first: int = 1 << 16, growth: int = 4, limit: int = 1 << 22
) -> list[list[int]]:
    """Pack gradients, given by size in the order they become ready, into buckets of consecutive indices.

    A bucket is closed once it holds its target number of bytes. The target is ``first`` for the first bucket and grows
    by the factor ``growth`` from bucket to bucket, up to ``limit``, or ``first`` if that is larger. A small first
    bucket lets communication start early, while backward still computes; larger ones later need fewer messages. The
    last bucket takes the rest. Raises ValueError for a negative size, and for ``first``, ``growth`` or ``limit`` below
    1.
    """
    if min(sizes_bytes, default=0) < 0 or first < 1 or growth < 1 or limit < 1:
        wanted = "sizes >= 0, first >= 1, growth >= 1 and limit >= 1"
        raise ValueError(f"buckets: expected {wanted}, got {min(sizes_bytes, default=0)=} {first=} {growth=} {limit=}")
    limit = max(first, limit)
    buckets: list[list[int]] = []
    bucket: list[int] = []
    held, target = 0, first
    for index, size in enumerate(sizes_bytes):
        bucket.append(index)
        held += size
        if held >= target:
            buckets.append(bucket)
            bucket = []
            held = 0
            target = min(target * growth, limit)
    return buckets + [bucket] if bucket else buckets
