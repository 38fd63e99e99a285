"""Training of a translated net with PyTorch's fastest settings, shared by peers of one and of several processes.

Both memory layouts are available, eager or compiled; the optimiser is fused; the mini-batches are in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from safetensors.torch import load_file

from benchmarks.peers.torch_net import TorchNet

PLAIN, LAST = "plain", "channels last"
LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}
"""By rank: the memory format in which the channels of a position are contiguous."""
Wrap = Callable[[Any], Any]


class Trainer:
    """A net from ``folder`` (net.json and start.safetensors, as benchmarks.prepare writes them), and its steps.

    It uses part ``rank`` of ``ranks`` of each mini-batch; ``wrap`` is applied to the net before it is compiled.
    ``autocast``: the forward pass runs under PyTorch's autocast to bfloat16.
    """

    def __init__(
        self, folder: Path, layout: str = PLAIN, compiled: bool = False, rank: int = 0, ranks: int = 1,
        wrap: Wrap | None = None, autocast: bool = False,
    ) -> None:  # fmt: skip
        description = json.loads((folder / "net.json").read_text(encoding="utf-8"))
        start = load_file(folder / "start.safetensors")
        own = TorchNet(description, {name: start[name] for name in description["weights"]})
        if layout == LAST:
            for tensor in own.parameters():
                tensor.data = arranged(tensor.data, layout)
        self.batches = [
            [arranged(part(start[name], rank, ranks), layout) for name in names] for names in description["batches"]
        ]
        rule = {k: v for k, v in description["updater"].items() if k not in ("name", "lr", "weight_decay")}
        self.rule = getattr(torch.optim, description["updater"]["name"])(own.groups(description), fused=True, **rule)
        net = wrap(own) if wrap else own
        self.net = torch.compile(net) if compiled else net
        self.step = 0
        self.autocast = autocast

    def play(self, steps: int) -> dict[str, list[float]]:
        """Seconds and losses of the next ``steps`` steps."""
        seconds, losses = [], []
        for _ in range(steps):
            began = perf_counter()
            losses.append(self.train(self.batches[self.step % len(self.batches)]))
            seconds.append(perf_counter() - began)
            self.step += 1
        return {"seconds": seconds, "losses": [float(loss) for loss in losses]}

    def train(self, batch: list[Any]) -> Any:
        """One step; the loss before it."""
        self.rule.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            loss = self.net(*batch)
        loss.backward()
        self.rule.step()
        return loss.detach()


def part(rows: Any, rank: int, ranks: int) -> Any:
    """The rows of a process; integers as int64, which PyTorch requires."""
    count = len(rows) // ranks
    rows = rows[rank * count : (rank + 1) * count].clone()
    return rows if rows.is_floating_point() else rows.long()


def arranged(tensor: Any, layout: str) -> Any:
    """``tensor`` with its elements in the order of ``layout``."""
    if layout == PLAIN or tensor.dim() not in LAYOUTS:
        return tensor
    return tensor.contiguous(memory_format=LAYOUTS[tensor.dim()])


def resident(field: str) -> int:
    """Bytes of this process that are in memory: VmRSS now, VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
