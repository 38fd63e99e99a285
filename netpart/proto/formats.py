"""Tells other formats from a job's protobuf text, so that a file taken for a job by mistake gets one answer."""

from __future__ import annotations

import re

from netpart.errors import ConfigError, Position

COMMENTS = re.compile(r"(?:\s+|#(?!!).*)*")
FORMATS = {
    "JSON": re.compile(r'\{\s*["}]|\[\s*["\[{\d\]]'),
    "an SVG drawing": re.compile(r"(<\?xml[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>|\s)*<svg\b", re.DOTALL),
    "HTML or XML": re.compile(r"<(\?xml|!DOCTYPE|!--|html\b)", re.IGNORECASE),
    "a Graphviz graph": re.compile(r"(strict\s+)?(di)?graph\b[^:{]*\{"),
    "a Python program": re.compile(r'#!.*python|(import|from)\s+[\w.]+(\s+import\b|\s*[\n,]|\s+as\b)|def \w+\(|"""'),
    "YAML": re.compile(r"---\s*\n|-\s+\w+:|\w+:[ \t]*\n\s*-\s"),
}
"""How the text of a format begins, after comments."""


def other_format_error(text: str, file: str) -> ConfigError | None:
    """The error for ``text`` in another format, by its beginning; None if it may be a job with mistakes."""
    begin = COMMENTS.match(text)
    rest = text[begin.end() if begin else 0 :][:4096]
    for name, pattern in FORMATS.items():
        if pattern.match(rest):
            hint = "give the job itself; docs/language.md says how one is written"
            return ConfigError(file, "a job in protobuf text", name, hint, position=Position(file, 1, 1))
    return None
