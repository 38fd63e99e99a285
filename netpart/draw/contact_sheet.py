"""Contact sheets: small pictures with captions, in rows below titles, as PNG, SVG or HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.draw.font_metrics import FAMILY, truncate_text
from netpart.draw.glyphs import ADVANCE, LINE, glyph_pixels
from netpart.draw.png import encode_png

Image = NDArray[np.uint8]

WIDTH, MARGIN, GAP = 960, 16, 12
"""Pixels: of the whole sheet, of its margin, and between two pictures."""
SMALLEST, LARGEST = 96, 288
"""Pixels: the height to which a picture is enlarged, and the largest one, above which it is thinned out."""
LETTER, ROW = 12, 18
"""Pixels: size of the letters of an SVG, and the height of a line of text."""
SCALE = ROW // LINE
"""Pixels of one pixel of a letter of a PNG."""
PAPER, INK = 255, 34


@dataclass(frozen=True)
class SheetCell:
    """A picture (height, width, 3) uint8 and the text below it."""

    picture: Image
    caption: str


@dataclass(frozen=True)
class SheetSection:
    """Pictures, or lines of text, below a title."""

    title: str
    cells: tuple[SheetCell, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Placed:
    """A text, or a picture, whose top left corner is at ``x``, ``y``; ``wide`` is the room of a text."""

    x: int
    y: int
    text: str = ""
    wide: int = 0
    picture: Any = None


def draw_sheet(suffix: str, title: str, sections: Sequence[SheetSection], report: str) -> bytes:
    """The file of a sheet: .png, .svg, or .html with ``report`` below it."""
    placed = list(_place_sections(title, sections))
    bottom = max(each.y + (ROW if each.picture is None else len(each.picture)) for each in placed) + MARGIN
    width = max(WIDTH, *(each.x + each.picture.shape[1] + MARGIN for each in placed if each.picture is not None), 0)
    if suffix == ".png":
        return encode_png(_paint_sheet(placed, width, bottom))
    svg = "\n".join(_svg_lines(title, placed, width, bottom))
    return (svg if suffix == ".svg" else _html_page(title, svg, report)).encode()


def _fit_picture(picture: Image) -> Image:
    """``picture``, enlarged or thinned out by a whole factor: about SMALLEST pixels high or more, within LARGEST."""
    high, wide = picture.shape[:2]
    if over := max(-(-high // LARGEST), -(-wide // (WIDTH - 2 * MARGIN))) - 1:
        return picture[:: over + 1, :: over + 1]
    by = max(1, min(round(SMALLEST / high), (WIDTH - 2 * MARGIN) // wide))
    return picture.repeat(by, 0).repeat(by, 1)


def _place_sections(title: str, sections: Sequence[SheetSection]) -> Iterator[_Placed]:
    """The places of all texts and pictures, from the top to the bottom."""
    y = MARGIN
    for text in (title, *[""] * bool(sections)):
        yield _Placed(MARGIN, y, text, WIDTH - 2 * MARGIN)
        y += ROW
    for section in sections:
        for text in (section.title, *section.lines):
            yield _Placed(MARGIN, y, text, WIDTH - 2 * MARGIN)
            y += ROW
        for row in _cell_rows([(_fit_picture(cell.picture), cell.caption) for cell in section.cells]):
            x, high = MARGIN, max(len(picture) for picture, _ in row)
            for picture, caption in row:
                yield _Placed(x, y, picture=picture)
                yield _Placed(x, y + high + 2, caption, max(picture.shape[1], SMALLEST))
                x += max(picture.shape[1], SMALLEST) + GAP
            y += high + ROW + GAP
        y += ROW


def _cell_rows(cells: list[tuple[Image, str]]) -> Iterator[list[tuple[Image, str]]]:
    """Split pictures into rows that fit into the width of the sheet."""
    row: list[tuple[Image, str]] = []
    used = 2 * MARGIN
    for cell in cells:
        wide = max(cell[0].shape[1], SMALLEST) + GAP
        if row and used + wide > WIDTH:
            yield row
            row, used = [], 2 * MARGIN
        row.append(cell)
        used += wide
    if row:
        yield row


def _paint_sheet(placed: list[_Placed], width: int, height: int) -> Image:
    """The sheet as pixels."""
    sheet = np.full((height, width, 3), PAPER, np.uint8)
    for each in placed:
        if each.picture is not None:
            high, wide = each.picture.shape[:2]
            sheet[each.y : each.y + high, each.x : each.x + wide] = each.picture
        elif each.text:
            mask = glyph_pixels(each.text[: each.wide // (ADVANCE * SCALE)], SCALE)
            top = each.y + (ROW - len(mask)) // 2
            sheet[top : top + len(mask), each.x : each.x + mask.shape[1]][mask] = INK
    return sheet


def _svg_lines(title: str, placed: list[_Placed], width: int, height: int) -> Iterator[str]:
    """The sheet as SVG; its pictures are PNG files in it."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FAMILY}" font-size="{LETTER}" fill="#222">'
    yield f'<title>{escape(title)}</title>\n<rect width="100%" height="100%" fill="#fff"/>'
    for each in placed:
        if each.picture is not None:
            high, wide = each.picture.shape[:2]
            data = b64encode(encode_png(each.picture)).decode()
            box = f'x="{each.x}" y="{each.y}" width="{wide}" height="{high}"'
            yield f'<image {box} href="data:image/png;base64,{data}"/>'
        elif each.text:
            text = escape(truncate_text(each.text, LETTER, each.wide))
            yield f'<text x="{each.x}" y="{each.y + LETTER + 1}">{text}</text>'
    yield "</svg>"


def _html_page(title: str, svg: str, report: str) -> str:
    """A page of the sheet and of a text below it."""
    head = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
    return f"{head}\n<body>\n{svg}\n<pre>{escape(report)}</pre>\n</body></html>\n"
