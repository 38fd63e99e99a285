"""What netpart raises: every error names who, what was expected, what came and the next step."""

from __future__ import annotations

import errno
from dataclasses import dataclass

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a disk, or somebody's share of it, that has no room left."""
FieldPath = tuple[str | int, ...]
"""Where in a JobProto an error sits, e.g. ``("neuralnet", "layer", 3, "partition_dim")``."""


@dataclass(frozen=True)
class Position:
    """A place in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class NetpartError(Exception):
    """Base of everything netpart raises on purpose; the command line prints it without a traceback."""


class ConfigError(NetpartError):
    """A job that cannot be built as it is written.

    ``who`` is the layer, field or file at fault; ``expected`` and ``got`` say what was wanted and what
    came; ``hint`` is the next step to take; ``at`` is the field's path in the JobProto, from which the
    reader finds ``position`` (file:line:column) when the error leaves the builder.
    """

    def __init__(
        self,
        who: str,
        expected: str,
        got: str,
        hint: str = "",
        *,
        at: FieldPath | None = None,
        position: Position | None = None,
    ) -> None:
        super().__init__(who, expected, got, hint)
        self.who, self.expected, self.got, self.hint = who, expected, got, hint
        self.at, self.position = at, position

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.who}: expected {self.expected}, got {self.got}{hint}"


class DataError(NetpartError):
    """A data file that is missing, truncated or holds something else than its layer expects.

    ``at`` is the path of the field that names the file, from which the reader finds ``position``, as of ConfigError.
    """

    at: FieldPath | None = None
    position: Position | None = None

    def of_layer(self, name: str, at: FieldPath) -> DataError:
        """The same error told by the layer that reads the file; ``at`` is where the job names it."""
        told = DataError(f"{name}: {self}")
        told.at, told.position = at, self.position
        return told

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        return place + super().__str__()


class MemoryRefused(NetpartError):
    """A worker that would need more memory than it may have; raised before anything is allocated."""


class ProgramRefused(NetpartError):
    """Programs that cannot be played together: a message without its other end, or workers that would wait for each
    other for ever; raised before the first step."""


class TransportError(NetpartError):
    """A frame that is not what its edge promised, or a peer that cannot be reached."""


class WorkerFailed(NetpartError):
    """A worker that died, hung or raised; names worker, layer and step and quotes the end of its log."""
