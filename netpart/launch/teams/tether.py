"""Tether: runs a command that dies with the process that started it, even if that is killed by SIGKILL.

python -m netpart.launch.teams.tether PARENT COMMAND …      PARENT: id of that process
"""

from __future__ import annotations

import os
import sys

from netpart.launch.teams.worker_entry import die_with_parent


def _run_tethered() -> None:
    """Become the command. The kernel keeps the parent-death signal across exec."""
    parent, *command = sys.argv[1:]
    die_with_parent(int(parent))
    os.execvp(command[0], command)


if __name__ == "__main__":
    _run_tethered()
