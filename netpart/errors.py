"""What netpart raises: every error names who, what was expected, what came and the next step."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a disk, or somebody's share of it, that has no room left."""
SHOWN = 10
"""Faults of one job that its error lists; it says how many more there are."""
LAYER = "LAYER"
"""What a hint of --set says for the name of the layer that reads a file, until it is known."""
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


LONGEST = 300
"""Characters of what a user wrote that an error quotes."""


THERE = {
    errno.ENOENT: "nothing there",
    errno.EISDIR: "a folder",
    errno.EEXIST: "a file",
    errno.ENOTDIR: "a file in place of a folder",
}
"""What came, by what the operating system calls it."""
_ROOM, _FILES = "free some where it writes, and start it again", "raise the limit with `ulimit -n`"
NEXT = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENAMETOOLONG: "choose a shorter one: a name may have 255 bytes, a path 4095",
    errno.EACCES: "allow it with chmod, or name another path",
}
"""The next step, by what the operating system answered."""


def os_error_text(error: OSError) -> str:
    """What the operating system answered, as the words after "got"."""
    said = str(error.strerror or error)
    return THERE.get(error.errno or 0) or said[:1].lower() + said[1:]


def os_error_message(error: OSError) -> str:
    """What the operating system refused, as a whole message; "" where nobody can say of which file."""
    if error.filename is None and error.errno not in NEXT:
        return ""
    hint = NEXT.get(error.errno or 0, "name another path, or change what is there")
    who = clip_text(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else "output"
    return f"{who}: expected a file or folder that can be used, got {os_error_text(error)}; {hint}"


def clip_text(text: str, longest: int = LONGEST) -> str:
    """``text`` as an error quotes it: of one that is longer than ``longest`` characters the beginning."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


class NetpartError(Exception):
    """Base of everything netpart raises on purpose; the command line prints it without a traceback."""


class JobError(NetpartError):
    """A fault of a job or of its data, and ``also`` the other faults of that job that were found with it.

    ``at`` is the path of the field at fault in the JobProto, from which the reader finds ``position``
    (file:line:column) when the error leaves the builder.
    """

    at: FieldPath | None = None
    position: Position | None = None
    also: tuple[JobError, ...] = ()

    @property
    def faults(self) -> tuple[JobError, ...]:
        """Every fault of the job that is known, this one first."""
        return (self, *self.also)

    def line(self) -> str:
        """This fault alone, with its place."""
        return f"{self.position}: {self.describe()}" if self.position else self.describe()

    def describe(self) -> str:
        """This fault alone, without its place."""
        return super().__str__()

    def lines(self) -> list[str]:
        """A line for each fault, up to SHOWN, and one for the number of the others."""
        more = len(self.faults) - SHOWN
        rest = [f"and {more} more, which are listed once some of these are corrected"] if more > 0 else []
        return [*(fault.line() for fault in self.faults[:SHOWN]), *rest]

    def __str__(self) -> str:
        return "\n".join(self.lines())


class ConfigError(JobError):
    """A job that cannot be built as it is written.

    ``who`` is the layer, field or file at fault; ``expected`` and ``got`` say what was wanted and what
    came; ``hint`` is the next step to take; ``at`` and ``position`` are those of JobError.
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
        self.who = who
        self.expected = expected
        self.got = got
        self.hint = hint
        self.at = at
        self.position = position

    def describe(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{clip_text(self.who)}: expected {self.expected}, got {clip_text(self.got)}{hint}"


class DataError(JobError):
    """A data file that is missing, truncated or holds something else than its layer expects; ``at`` names the file."""

    def of_layer(self, name: str, at: FieldPath) -> DataError:
        """The same error told by the layer that reads the file; ``at`` is where the job names it."""
        told = type(self)(f"{name}: {self.describe().replace(f'--set {LAYER}.', f'--set {name}.')}")
        told.at = at
        told.position = self.position
        return told


class MissingData(DataError):
    """A data file that is not there: what needs no data, such as planning, can go on without it."""


class FaultList:
    """Gathers the faults of a job, so that all of them are reported and not the first alone."""

    def __init__(self) -> None:
        self.found: list[JobError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keeps a fault that the block raises, and goes on after the block."""
        try:
            yield
        except JobError as error:
            self.found += error.faults

    def raise_found(self) -> None:
        """Raises what was found, if anything was."""
        if self.found:
            raise combine_faults(self.found)


def combine_faults(faults: Iterable[JobError]) -> JobError:
    """One error of at least one fault: each is listed once, those of the job before those of its data."""
    found: dict[tuple[object, ...], JobError] = {}
    for each in faults:
        for fault in each.faults:
            found.setdefault(_fault_subject(fault), fault)
    once = list(found.values())
    first, *rest = sorted(once, key=lambda fault: not isinstance(fault, ConfigError))
    for fault in once:
        fault.also = ()
    first.also = tuple(rest)
    return first


class MemoryRefused(NetpartError):
    """A worker that would need more memory than it may have; raised before anything is allocated."""


class ProgramRefused(NetpartError):
    """Programs that cannot be played together: a message without its other end, or workers that would wait for each
    other for ever; raised before the first step."""


class TransportError(NetpartError):
    """A frame that is not what its edge promised, or a peer that cannot be reached."""


class TrainingDiverged(NetpartError):
    """Training whose loss, parameters or updater's state are no longer finite: nothing after that is worth keeping."""

    def __init__(self, where: str, expected: str, got: str) -> None:
        hint = "lower updater.learning_rate.base_lr, or clip gradients with updater.clip_norm"
        super().__init__(f"{where}: expected {expected}, got {got}: it diverged; {hint}")


class WorkerFailed(NetpartError):
    """A worker that died, hung or raised; names worker, layer and step and quotes the end of its log."""


def _fault_subject(fault: JobError) -> tuple[object, ...]:
    """What tells a fault from others: its field, and what was expected of it; what came may differ between phases."""
    if isinstance(fault, ConfigError) and fault.at:
        return fault.at, fault.who, fault.expected
    return fault.at, fault.line()


class SignalInterrupt(KeyboardInterrupt):
    """A signal that ends what this process does: ``number`` is the signal's, SIGINT after Ctrl-C."""

    def __init__(self, number: int, text: str = "") -> None:
        super().__init__(text or f"interrupted{signal_suffix(number)}")
        self.number = number


def signal_suffix(number: int) -> str:
    """Which signal it was, as " by SIGTERM"; "" for Ctrl-C, which a person has pressed."""
    if number == signal.SIGINT:
        return ""
    known = {member.value: member.name for member in signal.Signals}
    return f" by {known.get(number, f'signal {number}')}"
