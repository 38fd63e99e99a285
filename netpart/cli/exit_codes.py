"""The exit codes of every verb.

0         success
1         failure of a run, of what it reads, or of who does not answer; or the answer "no" of verify and diff
2         a job or command line that this host cannot run as it is written
75        a run to be run again with --resume: it was asked to save a checkpoint and end (SIGUSR1), or, within Slurm and
          with --restarts, it failed through no fault of its own
128 + N   ended by signal N: 130 after Ctrl-C, 143 after SIGTERM
"""

from __future__ import annotations

SUCCESS = 0
WRONG = 1
REFUSED = 2
HALTED = 75
"""EX_TEMPFAIL of sysexits.h."""
SIGNALLED = 128
