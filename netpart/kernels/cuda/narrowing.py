"""The precision of a convolution: bfloat16 only where it is faster than TF32, by a price of both.

    x, w ──copies──▶ bfloat16 ──engine──▶ bfloat16 ──copy──▶ y
    x, w ──────────── engine, in TF32 ──────────────▶ y

Activations and parameters are float32, and cuDNN reads bfloat16 from memory. So copies round what it reads and widen
what it writes. They take launches and bytes; in return tensor cores do twice the FLOPs in a second.

The price depends on sizes alone, so it is the same in every run, and on every GPU. Products have no such choice: cuBLAS
takes float32 and rounds the factors itself, without a launch of netpart's. So does netpart's attention.
"""

from __future__ import annotations

from collections.abc import Sequence

BFLOAT16, TF32 = "bfloat16", "tf32"
LAUNCH = 2e-6
"""Seconds of a launch in a CUDA graph at least, roughly."""
BANDWIDTH = 3e12
"""Bytes in a second of an H100, roughly. Where memory is faster, copies cost less: what gains here gains there too."""
RATES = {TF32: 400e12, BFLOAT16: 790e12}
"""FLOPs in a second of tensor cores of an H100 or H200, roughly."""
ITEMS = {TF32: 4, BFLOAT16: 2}
"""Bytes of an element that an engine reads or writes."""
COPIED = sum(ITEMS.values())
"""Bytes that a copy moves for each element: float32 on one side, bfloat16 on the other."""


def multiplied_precision(asked: str, sizes: Sequence[int], flops: int) -> str:
    """The precision of an engine on tensors of ``sizes`` elements: ``asked``, or TF32 where bfloat16 gains nothing."""
    return TF32 if asked == BFLOAT16 and not _gains_by_narrowing(sizes, flops) else asked


def _gains_by_narrowing(sizes: Sequence[int], flops: int) -> bool:
    """True if bfloat16 with a copy of each tensor is faster than TF32 without any, which is TF32's best case."""
    copies = sum(_least_seconds(COPIED * size) for size in sizes)
    return copies + _engine_seconds(BFLOAT16, sizes, flops) < _engine_seconds(TF32, sizes, flops)


def _engine_seconds(precision: str, sizes: Sequence[int], flops: int) -> float:
    return max(_least_seconds(ITEMS[precision] * sum(sizes)), flops / RATES[precision])


def _least_seconds(moved: int) -> float:
    """The seconds of a launch that moves so many bytes, at least."""
    return max(LAUNCH, moved / BANDWIDTH)
