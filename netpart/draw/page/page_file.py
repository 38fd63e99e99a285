"""The file of a page: its content, scripts and styles in one HTML, which opens without a network.

A content security policy lets only the scripts and styles with these hashes act, and nothing be loaded. Names of a net
are in compressed data, or escaped, and scripts make text nodes of them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from netpart.draw.palette import worker_colour

ASSETS = Path(__file__).parent / "assets"
DRAWING_SCRIPTS = (
    "page_texts", "fold_model", "page_colours", "box_painter", "graph_view", "page_elements", "explain_panel",
    "read_content",
)  # fmt: skip
"""The scripts of the drawing of a net, each after those that it imports. They only define things."""
PAGE_SCRIPTS = *DRAWING_SCRIPTS, "step_player", "box_list", "page_main", "page_start"
"""The scripts of the page; the last one starts it."""
COLOURS = 16
"""Workers have so many different colours."""
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const)\b)", re.MULTILINE)


@dataclass(frozen=True)
class PageParts:
    """What a page consists of. ``content`` is the text of its data, gzip in base64; ``policy`` has the hashes of
    ``script`` and ``style``."""

    title: str
    style: str
    script: str
    content: str

    @property
    def policy(self) -> str:
        """The content security policy of a file that loads nothing."""
        return f"default-src 'none'; script-src {hash_source(self.script)}; style-src {hash_source(self.style)}"

    def html(self) -> str:
        """The page."""
        texts = {
            "policy": escape(self.policy), "title": escape(self.title), "style": self.style, "content": self.content,
            "script": self.script,
        }  # fmt: skip
        return fill_template((ASSETS / "page.html").read_text("utf-8"), texts)


def make_page_parts(content: dict[str, Any], title: str) -> PageParts:
    """The parts of the page of ``content``, which ``page_content`` makes."""
    return PageParts(title, _page_style(), page_script(ASSETS, PAGE_SCRIPTS), pack_content(content))


def pack_content(content: dict[str, Any]) -> str:
    """``content`` as the page reads it: JSON, gzip, base64. Equal contents give equal texts."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def page_script(folder: Path, names: Sequence[str]) -> str:
    """The modules ``names`` in ``folder`` as one: without imports and exports, in this order."""
    texts = ((folder / f"{name}.mjs").read_text("utf-8") for name in names)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def _page_style() -> str:
    """The style sheet, with the colours of workers."""
    rules = (f".w{n} {{ background: {worker_colour(n).fill}; }}" for n in range(COLOURS))
    return fill_template((ASSETS / "page.css").read_text("utf-8"), {"workers": "\n".join(rules)})


def fill_template(template: str, texts: Mapping[str, str]) -> str:
    """``template`` with each {{name}} replaced; in one pass, so that {{script}} in a text stays what it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: texts[found[1]], template)


def hash_source(text: str) -> str:
    """The source of a content security policy that allows this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
