"""The page of a run: one HTML document with its style and script, which asks for the feed and for nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from netpart.launch.report.run_description import RunDescription


def build_run_page(run: RunDescription) -> bytes:
    """The page of ``run`` in UTF-8."""
    style, script = _read_asset("run.css"), _read_asset("run.js")
    policy = (
        f"default-src 'none'; connect-src 'self'; style-src '{source_hash(style)}'; script-src '{source_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "name": escape(run.name), "style": style, "script": script}
    page = _read_asset("run.html")
    for name, text in parts.items():
        page = page.replace("{{" + name + "}}", text)
    return page.encode()


def _read_asset(name: str) -> str:
    return (files("netpart.live") / "assets" / name).read_text(encoding="utf-8")


def source_hash(text: str) -> str:
    """The hash by which a content security policy allows an inline script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
