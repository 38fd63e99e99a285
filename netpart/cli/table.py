"""Text tables: drawn by rich on a terminal, plain aligned text in a pipe or file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
