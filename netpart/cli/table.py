"""Text tables: drawn by rich on a terminal, plain aligned text in a pipe or file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.measure.epoch_size import EpochSize

Row = Sequence[str]


@dataclass
class TextTable:
    """A table. A heading that starts with ``>`` aligns its column to the right; ``footer`` is a last row of totals."""

    headings: Sequence[str]
    rows: list[Row] = field(default_factory=list)
    footer: Row = ()

    def print(self) -> None:
        """Print the table: with rich if stdout is a terminal, else as plain text."""
        if sys.stdout.isatty():
            self.print_rich()
        else:
            print("\n".join(self.lines()))

    def lines(self) -> Iterator[str]:
        """The lines of the table as aligned text, without trailing blanks."""
        rows = [[h.lstrip(">") for h in self.headings], *self.rows, *([self.footer] if self.footer else [])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "  ".join(self.aligned(*cell) for cell in zip(self.headings, row, widths, strict=True)).rstrip()

    def aligned(self, heading: str, text: str, width: int) -> str:
        return text.rjust(width) if heading.startswith(">") else text.ljust(width)

    def print_rich(self) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable

        table = RichTable(box=box.SIMPLE_HEAD, show_footer=bool(self.footer), pad_edge=False, footer_style="bold")
        for heading, footer in zip(self.headings, self.footer or [""] * len(self.headings), strict=True):
            table.add_column(heading.lstrip(">"), footer, justify="right" if heading.startswith(">") else "left")
        for row in self.rows:
            table.add_row(*row)
        # No markup: a name of the job such as "[red]" would otherwise be read as a style.
        Console(highlight=False, markup=False).print(table)


INPUTS = ("input", "type", "phase", ">rows", ">batch", ">steps", ">files", ">stored", ">values")
UNKNOWN = "unknown"


def print_epoch_table(epochs: Sequence[EpochSize]) -> None:
    """Print the table, after an empty line and with its explanation."""
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
