"""The page of a run: one HTML document with its style and scripts, which asks for the feed and for nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from netpart.draw.page.page_file import COLOURS, GRAPH_SCRIPTS, page_script, strip_modules
from netpart.draw.palette import worker_colour
from netpart.launch.report.run_description import RunDescription

OWN_GRAPH = "run_graph.mjs"
SCRIPTS = ("run_state.js", "run_curves.js", "run_gantt.js", "run_panels.js")
"""The scripts in the order in which they are loaded."""


def build_run_page(run: RunDescription) -> bytes:
    """The page of ``run`` in UTF-8. Names of the job appear in it as text alone."""
    style, script, graph = _run_style(), "\n".join(map(_read_asset, SCRIPTS)), _graph_script()
    policy = (
        f"default-src 'none'; connect-src 'self'; img-src data:; style-src '{_script_hash(style)}';"
        f" script-src '{_script_hash(script)}' '{_script_hash(graph)}'; base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "name": escape(run.name), "style": style, "script": script, "graph": graph}
    # In one pass, so that a name like {{script}} stays what it is.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read_asset("run.html")).encode()


def _run_style() -> str:
    """The style sheet, with the colours of workers."""
    chips = (f".w{number} {{ background: {worker_colour(number).fill}; }}\n" for number in range(COLOURS))
    return _read_asset("run.css") + "".join(chips)


def _graph_script() -> str:
    """The scripts of the drawing of a net and that of its place in this page, as one module."""
    return page_script(GRAPH_SCRIPTS) + "\n" + strip_modules(_read_asset(OWN_GRAPH))


def _read_asset(name: str) -> str:
    return (files("netpart.live") / "assets" / name).read_text(encoding="utf-8")


def _script_hash(text: str) -> str:
    """The hash by which a content security policy allows an inline script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
