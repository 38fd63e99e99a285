"""Contact sheets: pictures keep their pixels, fit into the sheet, and texts are escaped."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from netpart.draw.contact_sheet import LARGEST, WIDTH, SheetCell, SheetSection, draw_sheet

RED = np.broadcast_to(np.array([200, 10, 10], np.uint8), (6, 8, 3)).copy()
SVG = "{http://www.w3.org/2000/svg}"


def painted(*pictures: Any) -> Any:
    """The pixels of a sheet of these pictures."""
    section = SheetSection("a <title>", tuple(SheetCell(each, f"{k}: <b>") for k, each in enumerate(pictures)), ())
    return np.asarray(Image.open(BytesIO(draw_sheet(".png", "sheet", [section], ""))))


def test_a_small_picture_is_enlarged_by_a_whole_factor() -> None:
    sheet = painted(RED)
    places = np.argwhere((sheet == RED[0, 0]).all(-1))
    assert (places.max(0) - places.min(0) + 1).tolist() == [96, 128]
    assert len(places) == 96 * 128


@pytest.mark.parametrize("shape", [(1000, 40), (40, 3000), (1, 1), (3, 901), (700, 700)])
def test_a_large_picture_is_thinned_out(shape: tuple[int, int]) -> None:
    sheet = painted(np.broadcast_to(RED[0, 0], (*shape, 3)).copy())
    places = np.argwhere((sheet == RED[0, 0]).all(-1))
    high, wide = places.max(0) - places.min(0) + 1
    assert high <= LARGEST
    assert wide <= WIDTH
    assert sheet.shape[1] == WIDTH


def test_many_pictures_are_in_several_rows_and_none_is_lost() -> None:
    sheet = painted(*[RED] * 15)
    assert (sheet == RED[0, 0]).all(-1).sum() == 15 * 96 * 128


def test_an_svg_has_the_pixels_and_escaped_texts() -> None:
    section = SheetSection("a <title> & more", (SheetCell(RED, "0: <b>"),), ("1: plain",))
    root = ElementTree.fromstring(draw_sheet(".svg", "sheet", [section], ""))
    (image,) = root.findall(f"{SVG}image")
    content = b64decode(image.get("href", "").partition(",")[2])
    assert np.array_equal(np.asarray(Image.open(BytesIO(content)))[::16, ::16], RED)
    assert [text.text for text in root.findall(f"{SVG}text")] == ["sheet", "a <title> & more", "1: plain", "0: <b>"]
    page = draw_sheet(".html", "sheet", [section], "report <i>").decode()
    assert "<pre>report &lt;i&gt;</pre>" in page
    assert "<b>" not in page
