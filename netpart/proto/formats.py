"""Detection of other text formats, so that a file that is no job at all gets one error instead of many."""

from __future__ import annotations

import re

from netpart.errors import ConfigError, Position

COMMENTS = re.compile(r"(?:\s+|#(?!!).*)*")
"""Blanks and comments at the beginning of a text. ``#!`` is not skipped: it marks a program."""
FORMATS = {
    "JSON": re.compile(r'\{\s*["}]|\[\s*["\[{\d\]]'),
    "an SVG drawing": re.compile(r"(<\?xml[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>|\s)*<svg\b", re.DOTALL),
    "HTML or XML": re.compile(r"<(\?xml|!DOCTYPE|!--|html\b)", re.IGNORECASE),
    "a Graphviz graph": re.compile(r"(strict\s+)?(di)?graph\b[^:{]*\{"),
    "a Python program": re.compile(r'#!.*python|(import|from)\s+[\w.]+(\s+import\b|\s*[\n,]|\s+as\b)|def \w+\(|"""'),
    "YAML": re.compile(r"---\s*\n|-\s+\w+:|\w+:[ \t]*\n\s*-\s"),
}
"""Pattern of the beginning of each format, after COMMENTS."""


def other_format_error(text: str, file: str) -> ConfigError | None:
    """The error for ``text`` if its beginning is that of another format; None if it may be a job with mistakes."""
    begin = COMMENTS.match(text)
    rest = text[begin.end() if begin else 0 :][:4096]
    for name, pattern in FORMATS.items():
        if pattern.match(rest):
            hint = "give the job itself; docs/language.md describes how to write one"
            return ConfigError(file, "a job in protobuf text", name, hint, position=Position(file, 1, 1))
    return None
