"""Figure 4 of the use case: partitions of 3D-ResAttNet18, the groups of workers that GABRA allocates them to, and rows.

group 0            group 1
worker 0, 1        worker 2, 3
┌────────────┐
│ conv1 …    │───┐
└────────────┘   ▼
               ┌────────────┐
               │ s2b1-1 …   │
               └────────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from benchmarks.nets import RESATTNETS
from benchmarks.ways import Hybrid, by_gabra
from netpart.draw.font_metrics import FAMILY
from netpart.draw.palette import worker_colour
from netpart.plan.search.task import PlanningTask

NET = "resattnet18"
WORKERS = 4
CHOICE = Hybrid(group=2, partitions=None, micro_batches=2)
COLUMN = 330
BOX = 290
HIGH = 17
ROW = 21
TOP = 92
LEFT = 24
"""Pixels: the left margin, distances of columns and rows, and sizes of boxes."""
STYLE = f"font-family: {FAMILY}; font-size: 10px"


def drawing() -> str:
    """The SVG."""
    net = RESATTNETS[NET]
    _, task, plan = by_gabra(net, WORKERS, CHOICE, local=False)
    width, height = LEFT * 2 + COLUMN * (len(task.groups) - 1) + BOX, TOP + ROW * len(plan) + 34
    title = f"{net.title}: {len(plan)} partitions on {len(task.groups)} groups of {CHOICE.group} workers"
    size = f'viewBox="0 0 {width} {height}" style="max-width: {width}px; {STYLE}"'
    body = [
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" style="font-size: 14px; font-weight: bold">{escape(title)}</text>',
        *columns(task, plan, net.batch, height), *arrows(plan), *boxes(task, plan),
    ]  # fmt: skip
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *body, "</svg>\n"])


def columns(task: PlanningTask, plan: list[int], batch: int, height: int) -> Iterator[str]:
    """A field for each group: its workers, their rows, and the share of the work that it has."""
    for number, group in enumerate(task.groups):
        x, own = LEFT + COLUMN * number, worker_colour(number)
        work = sum(block.work for block, at in zip(task.blocks, plan, strict=True) if at == number)
        rows = batch / CHOICE.micro_batches / len(group)
        yield (
            f'<rect x="{x - 12}" y="32" width="{BOX + 24}" height="{height - 42}" rx="8" fill="{own.field}"'
            f' stroke="{own.line}"/>'
        )
        yield f'<text x="{x}" y="50" font-weight="bold">group {number}: workers {", ".join(map(str, group))}</text>'
        yield f'<text x="{x}" y="66">each {rows:g} rows of each of {CHOICE.micro_batches} micro-batches;</text>'
        yield f'<text x="{x}" y="80">together {work / task.profile.work:.1%} of the work, gradients summed</text>'


def boxes(task: PlanningTask, plan: list[int]) -> Iterator[str]:
    """The partitions, from the data above to the loss below."""
    for row, (block, number) in enumerate(zip(task.blocks, plan, strict=True)):
        x = LEFT + COLUMN * number
        y = TOP + ROW * row
        own = worker_colour(number)
        names = [task.profile.layers[layer].name for layer in block.layers]
        name = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        yield f'<rect x="{x}" y="{y}" width="{BOX}" height="{HIGH}" rx="3" fill="{own.fill}" stroke="{own.line}"/>'
        yield f'<text x="{x + 6}" y="{y + 12.5}">{escape(name)}</text>'
        share = f"{block.work / task.profile.work:.1%}"
        yield f'<text x="{x + BOX - 6}" y="{y + 12.5}" text-anchor="end">{share}</text>'


def arrows(plan: list[int]) -> Iterator[str]:
    """From each partition to the next: down, or from side to side to another group."""
    for row, (number, after) in enumerate(pairwise(plan)):
        x = LEFT + COLUMN * number
        y = TOP + ROW * row
        below = LEFT + COLUMN * after
        middle, line = y + HIGH / 2, f'stroke="{worker_colour(number).line}" stroke-width="1.5" fill="none"'
        if number == after:
            yield f'<path d="M{x + BOX / 2:g} {y + HIGH}v{ROW - HIGH}" {line}/>'
        else:
            out, into, tip = (x + BOX, below, -6) if after > number else (x, below + BOX, 6)
            head = f"M{into + tip:g} {middle + ROW - 3.5:g}L{into} {middle + ROW:g}l{tip} 3.5"
            yield f'<path d="M{out} {middle:g}L{into} {middle + ROW:g}{head}" {line}/>'
