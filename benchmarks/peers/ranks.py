"""Processes of PyTorch that do together what comes on stdin: what its peers of several processes share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from queue import Empty
from typing import Any

LOOK_SECONDS = 1.0
"""How often a waiting process looks whether the others live."""


def command(lines: Iterable[str], commands: Iterable[Any], answers: Any, processes: Any) -> None:
    """Puts each line of JSON into the queues ``commands`` of all processes, prints the answer; ends them at the end."""
    for line in lines:
        for queue in commands:
            queue.put(json.loads(line))
        print(json.dumps(answer(answers, processes)), flush=True)
    for queue in commands:
        queue.put(None)
    while not processes.join(timeout=LOOK_SECONDS):
        pass


def answer(answers: Any, processes: Any) -> dict[str, Any]:
    """The next answer; raises what a process raised instead."""
    while True:
        try:
            found: dict[str, Any] = answers.get(timeout=LOOK_SECONDS)
            return found
        except Empty:
            processes.join(timeout=0)
