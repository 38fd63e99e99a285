"""Errors that netpart raises: each names who is at fault, what was expected, what was found and the next step."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of a user's exhausted disk quota."""
SHOWN = 10
"""Number of faults of one job that its error lists. The number of the others follows."""
LAYER = "LAYER"
"""Placeholder for the layer's name in hints with --set: the reader of a file does not know which layer it serves."""
FieldPath = tuple[str | int, ...]
"""The path of a field in a JobProto, e.g. ``("neuralnet", "layer", 3, "partition_dim")``."""


@dataclass(frozen=True)
class Position:
    """A place in a text file; line and column count from 1.

    ``instance`` is the instance of a block, if what is written there is repeated: "b7".
    """

    file: str
    line: int
    column: int
    instance: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" + (f" ({clip_text(self.instance)})" if self.instance else "")


LONGEST = 300
"""Maximum number of characters that an error quotes of what a user wrote."""
LONGEST_HINT = 1000
"""Likewise of a hint, which may have several names that a user wrote."""


THERE = {
    errno.ENOENT: "nothing there",
    errno.EISDIR: "a folder",
    errno.EEXIST: "a file",
    errno.ENOTDIR: "a file in place of a folder",
}
"""The words after "got", by error number; other numbers use the operating system's text."""
_ROOM, _FILES = "free some where it writes, and start it again", "raise the limit with `ulimit -n`"
NEXT = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENAMETOOLONG: "choose a shorter one: a name may have 255 bytes, a path 4095",
    errno.EACCES: "allow it with chmod, or name another path",
}
"""The next step, by error number."""


def os_error_text(error: OSError) -> str:
    """The text of ``error`` as the words after "got" in a message."""
    text = str(error.strerror or error)
    if error.errno in THERE and text == os.strerror(error.errno):  # other words are netpart's own
        return THERE[error.errno]
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def os_error_message(error: OSError) -> str:
    """The whole message for ``error``; "" if neither its file nor the next step is known."""
    if error.filename is None and error.errno not in NEXT:
        return ""
    hint = NEXT.get(error.errno or 0, "name another path, or change what is there")
    who = clip_text(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else "output"
    return f"{who}: expected a file or folder that can be used, got {os_error_text(error)}; {hint}"


def clip_text(text: str, longest: int = LONGEST) -> str:
    """``text`` as an error quotes it: whole, or its first ``longest`` characters and its length."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


class NetpartError(Exception):
    """Base class of all errors that netpart raises on purpose; the command line prints them without a traceback.

    ``rank`` is the worker at fault, if one worker of a run is.
    """

    rank: int | None = None


class JobError(NetpartError):
    """A fault of a job or of its data. ``also`` holds the other faults of that job that were found with it.

    ``at`` is the path of the faulty field in the JobProto. When the error leaves the builder, ``Job.explain`` fills in
    ``position`` (file:line:column) from it.
    """

    at: FieldPath | None = None
    position: Position | None = None
    also: tuple[JobError, ...] = ()

    @property
    def faults(self) -> tuple[JobError, ...]:
        """All known faults of the job, this one first."""
        return (self, *self.also)

    def line(self) -> str:
        """This fault alone, with its position."""
        return f"{self.position}: {self.describe()}" if self.position else self.describe()

    def describe(self) -> str:
        """This fault alone, without its position."""
        return super().__str__()

    def lines(self) -> list[str]:
        """One line per fault, up to SHOWN, and a line with the number of the others."""
        more = len(self.faults) - SHOWN
        rest = [f"and {more} more, which are listed once some of these are corrected"] if more > 0 else []
        return [*(fault.line() for fault in self.faults[:SHOWN]), *rest]

    def __str__(self) -> str:
        return "\n".join(self.lines())


class ConfigError(JobError):
    """A job, option or file that cannot be used as it is written; the command line exits with code 2.

    ``who`` is the layer, field, option or file at fault. ``expected`` and ``got`` are what was required and what was
    found. ``hint`` is the next step. ``at`` and ``position`` are those of JobError.
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
        # Exception keeps these as ``args``: repr shows them, and copy builds the error again from them.
        super().__init__(who, expected, got, hint)
        self.who = who
        self.expected = expected
        self.got = got
        self.hint = hint
        self.at = at
        self.position = position

    def describe(self) -> str:
        hint = f"; {clip_text(self.hint, LONGEST_HINT)}" if self.hint else ""
        return f"{clip_text(self.who)}: expected {self.expected}, got {clip_text(self.got)}{hint}"


class DataError(JobError):
    """A data file that is missing, truncated or not what its layer expects; ``at`` is the field that names the file.

    ``server`` is the server that could not be reached, if that is the cause: all its files have the same fault.
    """

    server: str = ""

    def of_layer(self, name: str, at: FieldPath, target: str = "") -> DataError:
        """The same error with the name of the layer that reads the file; ``at`` is the field that names the file.

        ``target`` is the layer as --set names it, by default ``name``: of several layers of that name only this one.
        """
        named = type(self)(f"{name}: {self.describe().replace(f'--set {LAYER}.', f'--set {target or name}.')}")
        named.at = at
        named.position = self.position
        named.server = self.server
        return named


class StorageFailed(DataError):
    """A checkpoint, or a file that reports on the run, that could not be written: a full disk, or one that is gone."""


class MissingData(DataError):
    """A data file that does not exist. Commands that need no data, such as planning, continue without it."""


class FaultList:
    """Collector of the faults of a job, so that all of them are reported and not only the first."""

    def __init__(self) -> None:
        self.found: list[JobError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Catch and keep a JobError that the block raises; execution continues after the block."""
        try:
            yield
        except JobError as error:
            self.found += error.faults

    def raise_found(self) -> None:
        """Raise all faults as one error, if there are any."""
        if self.found:
            raise combine_faults(self.found)


def combine_faults(faults: Iterable[JobError]) -> JobError:
    """Combine ``faults``, at least one, into one error. Each is listed once; faults of the job precede data faults."""
    found: dict[tuple[object, ...], JobError] = {}
    for each in faults:
        for fault in each.faults:
            found.setdefault(_fault_subject(fault), fault)
    once = list(found.values())
    # False sorts before True, and the sort is stable: each of the two groups keeps the order of discovery.
    first, *rest = sorted(once, key=lambda fault: not isinstance(fault, ConfigError))
    # Faults that came combined still list the others. Clear that first, or ``faults`` would name some of them twice.
    for fault in once:
        fault.also = ()
    first.also = tuple(rest)
    return first


class MemoryRefused(NetpartError):
    """A worker that would need more memory than its limit; raised before anything is allocated."""


class ProgramRefused(NetpartError):
    """Worker programs that do not fit together: a message without a sender or receiver, or a deadlock.

    Raised before the first step.
    """


class TransportError(NetpartError):
    """A frame that differs from what its edge announced, or a peer that cannot be reached."""


class TrainingDiverged(NetpartError):
    """Training whose loss, parameters or updater state are no longer finite; its later results are useless."""

    def __init__(self, where: str, expected: str, got: str) -> None:
        hint = "lower updater.learning_rate.base_lr, or clip gradients with updater.clip_norm"
        super().__init__(f"{where}: expected {expected}, got {got}: it diverged; {hint}")


class ThreadLeft(NetpartError):
    """A library that did not answer in time: a thread that waits in it is left, and may keep the process from ending.

    The command line ends its process at once.
    """


class WorkerFailed(NetpartError):
    """A worker that died, hung or raised; names the worker, layer and step and quotes the end of its log."""


class RunBroken(WorkerFailed):
    """A worker, link or host that failed, through no fault of the job: another attempt may succeed.

    ``lost`` are the ranks that are known to be gone.
    """

    lost: tuple[int, ...] = ()


class WorkersAbsent(WorkerFailed):
    """Workers that did not come; ``absent`` is how many of those that the run needs."""

    absent: int = 1


def _fault_subject(fault: JobError) -> tuple[object, ...]:
    """The key by which two faults are the same.

    For a ConfigError with a field it is the field and what was expected of it. ``got`` is not part of it: the same
    fault may show another value in each phase. For a server that cannot be reached it is the server.
    """
    if isinstance(fault, ConfigError) and fault.at:
        return fault.at, fault.who, fault.expected
    if isinstance(fault, DataError) and fault.server:
        return ("server", fault.server)
    return fault.at, fault.line()


class SignalInterrupt(KeyboardInterrupt):
    """A signal that ends the current command; ``number`` is the signal's number, SIGINT after Ctrl-C.

    As a KeyboardInterrupt, and not an Exception, it passes every ``except Exception`` on its way up.
    """

    def __init__(self, number: int, text: str = "") -> None:
        super().__init__(text or f"interrupted{signal_suffix(number)}")
        self.number = number


def signal_suffix(number: int) -> str:
    """The signal's name as a suffix, e.g. " by SIGTERM"; "" for SIGINT, which the user sent with Ctrl-C."""
    if number == signal.SIGINT:
        return ""
    known = {member.value: member.name for member in signal.Signals}
    return f" by {known.get(number, f'signal {number}')}"
