"""FileRoom: whether the coordinator can open files and take connections."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable


class FileRoom:
    """Reports to ``say`` when this process cannot open any more files or connections, and when it can again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.full = False

    def look(self) -> None:
        """Look whether that has changed."""
        full = not _can_open_files()
        if full != self.full:
            hint = "new workers have to wait; raise `ulimit -n`, or check what connects to it"
            self.say(
                f"the coordinator has as many open files and connections as it may: {hint}"
                if full
                else "the coordinator can take connections again"
            )
        self.full = full


def _can_open_files() -> bool:
    """True if this process can open one more file or connection."""
    try:
        os.close(os.open(os.sep, os.O_RDONLY))
    except OSError as error:
        return error.errno not in (errno.EMFILE, errno.ENFILE)
    return True
