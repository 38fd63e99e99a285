"""PyTorch on one device: trains a translated net eager, compiled or as a CUDA graph, on command.

    python -m benchmarks.peers.torch_gpu FOLDER DEVICE PRECISION THREADS < COMMANDS

A command is a line of JSON. {"way": "eager", "layout": "plain", "steps": 100, "stretches": 3} plays the next steps of
that variant, which starts from the first weights at its first command; {"ceilings": true} measures the device. Each
is answered by a line; one with "failed" has the reason why a variant cannot be played.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.torch_ceilings import ceilings
from benchmarks.peers.torch_stepper import Stepper, set_precision

Json = dict[str, Any]


class Variants:
    """The variants that have been named, on one device."""

    def __init__(self, folder: Path, device: str, precision: str) -> None:
        self.folder = folder
        self.device = device
        self.precision = precision
        self.made: dict[tuple[str, str], Stepper] = {}

    def answer(self, command: Json) -> Json:
        """The answer to a command."""
        if command.get("ceilings"):
            return ceilings(self.device, self.precision)
        key = command["way"], command["layout"]
        if command.get("drop"):
            self.made.pop(key, None)
            return {}
        if key not in self.made:
            self.made[key] = Stepper(self.folder, self.device, self.precision, *key)
        played = [self.made[key].play(command["steps"]) for _ in range(command["stretches"])]
        return {"seconds": [seconds for seconds, _ in played], "losses": [loss for _, loss in played]}


def main() -> None:
    """Carry out the commands of stdin. The output of libraries goes to stderr: stdout is for answers."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    folder, device, precision, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    set_precision(precision)
    variants = Variants(Path(folder), device, precision)
    for line in sys.stdin:
        try:
            found = variants.answer(json.loads(line))
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
