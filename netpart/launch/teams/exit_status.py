"""Exit status: how processes end, in words, and the last lines of their logs."""

from __future__ import annotations

import signal
from pathlib import Path

ENDED_BY_RAY = "Ray ended it"
"""How a worker ended whose actor or node was lost; the reason follows."""


def was_killed(how: str) -> bool:
    """True for a worker that a signal or Ray ended: others fail because of it, see ``order_of_cause``."""
    return "signal" in how or how.startswith(ENDED_BY_RAY)


def order_of_cause(how: str) -> int:
    """Sorts workers that ended together by which end is the cause: killed from outside (0), any other signal, usually
    of a crash (1), an exit code (2).

    A worker that loses a peer usually reports it, but the library of its link may also crash.
    """
    if how.startswith((f"signal {signal.SIGKILL:d},", ENDED_BY_RAY)):
        return 0
    return 1 if was_killed(how) else 2


def read_log_tail(path: Path, lines: int) -> str:
    """The last ``lines`` lines of a log; "" if the file does not exist."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def describe_exit(code: int) -> str:
    """An exit status in words. A negative ``code`` is a signal number."""
    if code >= 0:
        return f"exit code {code}"
    hint = ": from outside, or the host was out of memory" if -code == signal.SIGKILL else ""
    try:
        return f"signal {-code}, {signal.Signals(-code).name}{hint}"
    except ValueError:
        return f"signal {-code}"
