"""Text of a Quotient for terminals: a line per group with its workers, its shape and what it reads.

positions      workers 0 to 3  Positions       4 × 8×256×768  ← tokens
12 × b1 … b12  workers 0 to 3  20 layers each  4 × 8×256×768  ← positions
                               inside: 48 all-reduces ↓ 12.2 GiB  ↑ 12.2 GiB
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.draw.quotient import Quotient, group_workers_text, traffic_lines



def quotient_text(folded: Quotient) -> Iterator[str]:
    """The lines of the drawing."""
    shown = folded.picture
    yield shown.title
    if shown.traffic:
        yield shown.traffic
    yield ""
    rows = [_group_cells(folded, number) for number in range(len(folded.groups))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, cells in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"  {line}  {_reading_text(folded, number)}".rstrip()
        for more in filter(None, (folded.groups[number].types, *traffic_lines(folded, number))):
            yield " " * (6 + sum(widths[:2])) + more


def _group_cells(folded: Quotient, number: int) -> tuple[str, str, str, str]:
    """The aligned columns of a group's line."""
    group = folded.groups[number]
    return group.name, group_workers_text(group.workers), group.kind, group.extent


def _reading_text(folded: Quotient, number: int) -> str:
    """The groups that a group reads, each with what crosses workers on the way."""
    feeds = (arrow for arrow in folded.arrows if arrow.target == number)
    texts = [" ".join((folded.groups[arrow.source].name, *arrow.traffic.lines)) for arrow in feeds]
    return f"← {', '.join(texts)}" if texts else ""
