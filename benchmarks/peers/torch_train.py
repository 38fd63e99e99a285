"""PyTorch in one process: trains a translated net, eager or compiled, in either memory layout, on command.

    python -m benchmarks.peers.torch_train FOLDER [PRECISION] THREADS < COMMANDS

PRECISION is float32, the default, or bfloat16 for PyTorch's autocast.

A command is a line of JSON: {"layout": "plain", "compiled": false, "steps": 10} plays the next steps of that variant,
which starts from the first weights at its first command; {"drop": true, ...} drops one. Each is answered by a line:
seconds and losses of the steps, and bytes in memory, after PyTorch was imported and at most so far.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch._dynamo

from benchmarks.peers.torch_trainer import Trainer, resident


def main() -> None:
    """Carry out the commands of stdin."""
    folder, threads, precision = Path(sys.argv[1]), int(sys.argv[-1]), sys.argv[2:-1]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    imported = resident("VmRSS")
    trainers: dict[tuple[str, bool], Trainer] = {}
    for line in sys.stdin:
        command = json.loads(line)
        key = command["layout"], command["compiled"]
        if command.get("drop"):
            trainers.pop(key, None)
            print("{}", flush=True)
            continue
        if key not in trainers:
            trainers[key] = Trainer(folder, *key, autocast=precision == ["bfloat16"])
        found = trainers[key].play(command["steps"])
        print(json.dumps(found | {"imported": imported, "peak": resident("VmHWM")}), flush=True)


if __name__ == "__main__":
    main()
