"""Shortage of memory or file descriptors, recognised in the errors of any library and reported in one form."""

from __future__ import annotations

import errno

from netpart.errors import MemoryRefused, NetpartError

MEMORY = (
    "make the batch or the layers smaller, or cut them over more workers (`netpart check` shows what each takes); or"
    " raise what this process may have (`ulimit -v`, or the limit of its container)"
)
DESCRIPTORS = "raise the limit in the shell that starts this: `ulimit -n 4096`"
UNMAPPED = ("failed to map segment", "annot allocate memory", "can't start new thread", "std::bad_alloc")
"""Words in errors that report a lack of memory without errno: of the dynamic loader, of threads and of C++."""
SHOWN = 200
"""Maximum number of characters that are quoted of the original error."""


def find_shortage(error: BaseException) -> NetpartError | None:
    """The NetpartError for a shortage that caused ``error``; None if its cause is not a shortage known here."""
    if _lacks_memory(error):
        for_what = str(error)[:SHOWN] or "none left"
        return MemoryRefused(f"memory: expected some for what was asked, got {for_what}; {MEMORY}")
    if _errno_of(error) in (errno.EMFILE, errno.ENFILE):
        return NetpartError(f"file descriptors: expected another one, got {error}; {DESCRIPTORS}")
    return None


def _lacks_memory(error: BaseException) -> bool:
    """True if ``error`` reports that there was no memory."""
    named = isinstance(error, ImportError | OSError | RuntimeError) and any(word in str(error) for word in UNMAPPED)
    return isinstance(error, MemoryError) or _errno_of(error) == errno.ENOMEM or named


def _errno_of(error: BaseException) -> int | None:
    """The operating system's error number of ``error``; None without one."""
    # getattr, as not only OSError has it: zmq.ZMQError and others carry an errno of their own.
    number = getattr(error, "errno", None)
    return number if isinstance(number, int) else None
