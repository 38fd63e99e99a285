"""Printed drawings: PNG and PDF of an SVG, by the package typst if it is installed, else by rsvg-convert."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import import_module
from math import sqrt
from typing import Any

from netpart.errors import NetpartError

INCH, DENSITY, MOST = 72, 144, 64e6
"""Units of a drawing per inch; pixels per inch of a PNG, and its maximum number of pixels: fewer per inch if larger."""
MARGIN = 12
VIEW = re.compile(r'viewBox="\S+ \S+ (\S+) (\S+)"')


def print_svg(svg: str, kind: str) -> bytes:
    """Convert a drawing to ``kind``, "png" or "pdf", with one page of its size.

    Raises NetpartError if neither typst nor rsvg-convert is installed, or if it fails.
    """
    try:
        typst: Any = import_module("typst")
    except ImportError:
        return _run_converter(svg, kind)
    wide, high = svg_size(svg)
    page = f"#set page(width: auto, height: auto, margin: {MARGIN}pt)"
    image = f'#image(bytes({json.dumps(svg, ensure_ascii=False)}), format: "svg", width: {wide}pt)'
    try:
        return bytes(typst.compile(f"{page}\n{image}".encode(), format=kind, ppi=_page_density(wide, high)))
    except typst.TypstError as error:
        raise NetpartError(f"drawing: typst failed: {error}; write an SVG instead") from error


def svg_size(svg: str) -> tuple[float, float]:
    """Width and height of a drawing in its own units. Raises NetpartError for an SVG without a viewBox."""
    found = VIEW.search(svg)
    if found is None:
        raise NetpartError(f"drawing: expected an SVG with a viewBox, got {svg[:60]!r}; write an SVG instead")
    return float(found[1]), float(found[2])


def _page_density(wide: float, high: float) -> float:
    """Pixels per inch of a PNG: fewer if there were more than MOST pixels."""
    return min(DENSITY, INCH * sqrt(MOST / (wide * high)))


def _run_converter(svg: str, kind: str) -> bytes:
    """Convert with the program rsvg-convert. Raises NetpartError if it is missing or fails."""
    program = shutil.which("rsvg-convert")
    if program is None:
        hint = "`pip install 'netpart[print]'`, or write an SVG, which any browser prints"
        raise NetpartError(f"drawing: expected typst or rsvg-convert for a {kind.upper()}, got neither; {hint}")
    result = subprocess.run([program, "-f", kind], input=svg.encode(), capture_output=True)
    if result.returncode:
        raise NetpartError(f"drawing: {program} failed: {result.stderr.decode().strip()}; write an SVG instead")
    return result.stdout
