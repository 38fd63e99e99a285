"""Shortage: what a process lacks, memory or file descriptors, whoever was refused and whatever he called it."""

from __future__ import annotations

import errno

from netpart.errors import MemoryRefused, NetpartError

MEMORY = (
    "make the batch or the layers smaller, or cut them over more workers (`netpart check` shows what each takes); or"
    " raise what this process may have (`ulimit -v`, or the limit of its container)"
)
DESCRIPTORS = "raise the limit in the shell that starts this: `ulimit -n 4096`"
UNMAPPED = ("failed to map segment", "annot allocate memory", "can't start new thread", "std::bad_alloc")
"""How the loader of libraries, and threads, call what lacks memory."""
SHOWN = 200
"""Characters that are quoted of what was to be allocated."""


def find_shortage(error: BaseException) -> NetpartError | None:
    """``error`` as what this process lacks; None if it lacks nothing that is known here."""
    if _lacks_memory(error):
        for_what = str(error)[:SHOWN] or "none left"
        return MemoryRefused(f"memory: expected some for what was asked, got {for_what}; {MEMORY}")
    if _errno_of(error) in (errno.EMFILE, errno.ENFILE):
        return NetpartError(f"file descriptors: expected another one, got {error}; {DESCRIPTORS}")
    return None


def _lacks_memory(error: BaseException) -> bool:
    """True if ``error`` says that there was no memory."""
    named = isinstance(error, ImportError | OSError | RuntimeError) and any(word in str(error) for word in UNMAPPED)
    return isinstance(error, MemoryError) or _errno_of(error) == errno.ENOMEM or named


def _errno_of(error: BaseException) -> int | None:
    """The number that the operating system has for ``error``, also where a library passes it on."""
    number = getattr(error, "errno", None)
    return number if isinstance(number, int) else None
