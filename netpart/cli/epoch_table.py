"""The table of input layers: rows, steps and bytes of a pass over their data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.measure.epoch_size import EpochSize

INPUTS = ("input", "type", "phase", ">rows", ">batch", ">steps", ">files", ">stored", ">values")
UNKNOWN = "unknown"


def print_epoch_table(epochs: Sequence[EpochSize]) -> None:
    """Print the table, after an empty line and with its explanation."""
    from netpart.cli.table import TextTable

    if not epochs:
        return
    print()
    TextTable(INPUTS, [_epoch_cells(epoch) for epoch in epochs]).print()
    print("\nRows, steps and bytes are those of one pass over the data: bytes of its files, and of its rows in memory.")


def _epoch_cells(epoch: EpochSize) -> tuple[str, ...]:
    """The cells of one input layer in one phase."""
    missing = "endless" if epoch.endless else UNKNOWN
    rows, steps = (missing if count is None else f"{count:,}" for count in (epoch.rows, epoch.steps))
    files = UNKNOWN if epoch.files is None else f"{epoch.files:,}"
    values = _bytes_or(missing, epoch.value_bytes)
    return epoch.name, epoch.type, epoch.phase, rows, str(epoch.batch), steps, files, stored_text(epoch), values


def stored_text(epoch: EpochSize) -> str:
    """The bytes of the files; an estimate begins with "about"."""
    return ("" if epoch.exact else "about ") + _bytes_or(UNKNOWN, epoch.file_bytes)


def _bytes_or(missing: str, count: int | None) -> str:
    from netpart.units import bytes_text

    return missing if count is None else bytes_text(count)
