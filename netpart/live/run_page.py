"""The page of a run: one HTML document with its style and scripts, which asks for the feed and for nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path

from netpart.draw.page.page_file import ASSETS as DRAWING_ASSETS
from netpart.draw.page.page_file import DRAWING_SCRIPTS, fill_template, hash_source, page_script
from netpart.launch.report.run_description import RunDescription

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = "run_state", "run_curves", "run_gantt", "run_panels", "run_graph", "run_start"
"""The scripts in the order in which they are loaded; the last one starts the page."""


def build_run_page(run: RunDescription) -> bytes:
    """The page of ``run`` in UTF-8. Names of the job appear in it as text alone."""
    style = (ASSETS / "run.css").read_text("utf-8")
    script = run_script()
    policy = (
        f"default-src 'none'; connect-src 'self'; img-src data:; style-src {hash_source(style)};"
        f" script-src {hash_source(script)}; base-uri 'none'; form-action 'none'"
    )
    texts = {"policy": policy, "name": escape(run.name), "style": style, "script": script}
    return fill_template((ASSETS / "run.html").read_text("utf-8"), texts).encode()


def run_script() -> str:
    """All scripts of the page as one module."""
    return page_script(DRAWING_ASSETS, DRAWING_SCRIPTS) + "\n" + page_script(ASSETS, SCRIPTS)
