"""Numbers as text with units: bytes in powers of 1024, counts in powers of 1000, seconds from ns to hours."""

from __future__ import annotations

from collections.abc import Sequence

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
COUNT_UNITS = ("", "k", "M", "G", "T", "P")
SECOND_UNITS = ("ns", "µs", "ms", "s")


def bytes_text(count: float) -> str:
    """Write a number of bytes: ``1536`` is ``"1.5 KiB"``. Below one KiB there is no fraction."""
    return _scaled_text(count, 1024, BYTE_UNITS)


def count_text(count: float) -> str:
    """Write a number of things (parameters, FLOPs, samples): ``431080`` is ``"431.1 k"``."""
    return _scaled_text(count, 1000, COUNT_UNITS)


def seconds_text(seconds: float) -> str:
    """Write a duration given in seconds: ``0.0042`` is ``"4.2 ms"``, ``125`` is ``"2 min 05 s"``."""
    if seconds <= 0:
        return f"-{seconds_text(-seconds)}" if seconds else "0 s"
    # Rounded before it is compared: 59.97 would be written "60.0 s".
    if round(seconds, 1) < 60:
        return _scaled_text(seconds * 1e9, 1000, SECOND_UNITS)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min"


def plural_text(count: int, noun: str) -> str:
    """Write a number with its noun: ``1`` is ``"1 worker"``, ``3`` is ``"3 workers"``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def ranges_text(numbers: Sequence[int]) -> str:
    """Write ascending numbers as ranges: ``1, 2, 3, 7`` is ``"1 to 3, 7"``."""
    starts = [i for i, number in enumerate(numbers) if not i or numbers[i - 1] != number - 1]
    ends = [*starts[1:], len(numbers)]
    pairs = [(numbers[i], numbers[j - 1]) for i, j in zip(starts, ends, strict=False)]
    return ", ".join(f"{first} to {last}" if first != last else f"{first}" for first, last in pairs)


def _scaled_text(value: float, base: int, units: Sequence[str]) -> str:
    """``value`` in the smallest of ``units`` in which it is, after rounding, below ``base``."""
    power = 0
    while round(abs(value), 1 if power else 0) >= base and power < len(units) - 1:
        value = value / base
        power = power + 1
    return f"{value:.{1 if power else 0}f} {units[power]}".rstrip()
