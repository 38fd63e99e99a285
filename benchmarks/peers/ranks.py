"""Processes of PyTorch that carry out commands from stdin together: shared by its peers of several processes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from queue import Empty
from typing import Any

LOOK_SECONDS = 1.0
"""Seconds between two checks of a waiting process that the others are alive."""


def command(lines: Iterable[str], commands: Iterable[Any], answers: Any, processes: Any) -> None:
    """Put each line of JSON into the queues ``commands`` of all processes and print the answer; finally end them."""
    for line in lines:
        for queue in commands:
            queue.put(json.loads(line))
        print(json.dumps(answer(answers, processes)), flush=True)
    for queue in commands:
        queue.put(None)
    while not processes.join(timeout=LOOK_SECONDS):
        pass


def answer(answers: Any, processes: Any) -> dict[str, Any]:
    """The next answer; raises the error of a process that failed."""
    while True:
        try:
            found: dict[str, Any] = answers.get(timeout=LOOK_SECONDS)
            return found
        except Empty:
            processes.join(timeout=0)
