"""Formatting of jobs: text that is no job is refused."""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from netpart.errors import clip_text
from netpart.proto.blocks.source import read_job_source
from netpart.proto.job_files import decode_utf8
from netpart.proto.layout.format_text import format_text


class FormattedJob(NamedTuple):
    """The bytes of a job as they are and as netpart lays them out."""

    present: bytes
    formatted: bytes

    @property
    def same(self) -> bool:
        """True if there is nothing to change."""
        return self.present == self.formatted

    def first_difference(self) -> str:
        """The number of the first line that differs, from 1, and that line as it is formatted and as it is.

        Raises StopIteration if nothing differs.
        """
        lines = (content.decode().split("\n") for content in (self.formatted, self.present))
        pairs = enumerate(zip_longest(*lines), start=1)
        number, (wanted, got) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
        return f"{number}: expected {_quoted_line(wanted)}, got {_quoted_line(got)}"


def _quoted_line(line: str | None) -> str:
    """A line in quotes, or in words if it is missing; of a long one only the beginning."""
    return "the end of the file" if line is None else repr(clip_text(line))


def format_job(content: bytes, name: str) -> FormattedJob:
    """Format a job's file; ``name`` stands for it in errors.

    Raises ConfigError with the positions of all mistakes for content that is not UTF-8 or not a job.
    """
    text = decode_utf8(content, name)
    read_job_source(text, name, None)
    return FormattedJob(content, format_text(text).encode())
