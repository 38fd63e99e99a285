"""Printed drawings: PNG and PDF, by typst or rsvg-convert."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from netpart.draw.printed import MARGIN, print_svg, svg_size
from netpart.errors import NetpartError

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" style="max-width: 80pt" viewBox="0 0 80 40">'
    '<rect width="80" height="40" fill="#ff0000"/><text x="4" y="20">a "b"\\ é</text></svg>'
)


@pytest.fixture
def without_typst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Typst is not installed; returns the folder of all programs."""
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add_converter(folder: Path, script: str) -> None:
    (folder / "rsvg-convert").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "rsvg-convert").chmod(0o755)


def test_the_program_serves_where_the_package_is_missing(without_typst: Path) -> None:
    add_converter(without_typst, 'echo "$@"; while read -r line; do echo "$line"; done')
    assert print_svg(SVG + "\n", "png").decode().splitlines()[0] == "-f png"


def test_a_failing_program_is_quoted(without_typst: Path) -> None:
    add_converter(without_typst, "echo out of ink >&2; exit 3")
    with pytest.raises(NetpartError, match="out of ink; write an SVG instead"):
        print_svg(SVG, "pdf")


def test_an_svg_without_a_size_is_refused() -> None:
    assert svg_size(SVG) == (80, 40)
    with pytest.raises(NetpartError, match="an SVG with a viewBox"):
        svg_size("<svg/>")


def test_typst_prints_a_page_of_the_size_of_the_drawing() -> None:
    import typst  # noqa: F401
    from PIL import Image

    with Image.open(io.BytesIO(print_svg(SVG, "png"))) as image:
        assert image.size == (2 * (80 + 2 * MARGIN), 2 * (40 + 2 * MARGIN))
        assert image.convert("RGB").getpixel((2 * MARGIN + 150, 2 * MARGIN + 6)) == (255, 0, 0)
    assert print_svg(SVG, "pdf").startswith(b"%PDF-")
