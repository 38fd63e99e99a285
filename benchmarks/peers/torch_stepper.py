"""Steps of a translated net on one device, in every way of PyTorch: eager, compiled, as a captured CUDA graph.

A stretch of steps is timed from one synchronisation of the device to the next. The mini-batches are in pinned memory
and every step uploads its own: a small one in its turn, a large one on a stream of its own while the step before it
computes.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from safetensors.torch import load_file

from benchmarks.peers.torch_net import TorchNet
from benchmarks.peers.torch_trainer import arranged, part

EAGER = "eager"
COMPILED = "compiled"
GRAPH = "CUDA graph"
WARM_UP = 3
"""Steps before a capture: in them libraries choose their algorithms, and the optimiser creates its state."""
AHEAD_BYTES = 4 << 20
"""Bytes from which a mini-batch is uploaded ahead of its step: below, a copy takes less time than synchronising."""
FLOAT32 = "float32"
TF32 = "tf32"
BFLOAT16 = "bfloat16"


def set_precision(precision: str) -> None:
    """Set the precision of float32 products and convolutions; bfloat16 uses autocast."""
    torch.backends.cuda.matmul.allow_tf32 = precision != FLOAT32
    torch.backends.cudnn.allow_tf32 = precision != FLOAT32
    torch.backends.cudnn.benchmark = True


def synchronise(device: str) -> None:
    """Wait until ``device`` has finished all its work."""
    if device != "cpu":
        torch.cuda.synchronize()


class Inputs:
    """The inputs of a net, always in the same memory, and the mini-batches that are copied there."""

    def __init__(self, batches: list[list[Any]], device: str) -> None:
        pin = device != "cpu"
        self.batches = [[rows.pin_memory() if pin else rows for rows in batch] for batch in batches]
        self.static = [torch.empty_like(rows, device=device) for rows in self.batches[0]]

    def copy(self, targets: list[Any], step: int) -> None:
        """Upload the mini-batch of ``step``."""
        for target, rows in zip(targets, self.batches[step % len(self.batches)], strict=True):
            target.copy_(rows, non_blocking=True)

    def take(self, step: int) -> None:
        """Copy the mini-batch of ``step`` to the inputs of the net."""
        self.copy(self.static, step)


class Ahead(Inputs):
    """Uploads the next mini-batch on a stream of its own, into memory other than that which the net reads."""

    def __init__(self, batches: list[list[Any]], device: str) -> None:
        super().__init__(batches, device)
        self.staged = [torch.empty_like(rows) for rows in self.static]
        self.stream = torch.cuda.Stream()
        self.there = torch.cuda.Event()
        self.taken = torch.cuda.Event()
        torch.cuda.synchronize()
        self.upload(0)

    def upload(self, step: int) -> None:
        with torch.cuda.stream(self.stream):
            self.copy(self.staged, step)
            self.there.record()

    def take(self, step: int) -> None:
        """Copy the mini-batch of ``step`` to the inputs of the net, and upload the one after it."""
        torch.cuda.current_stream().wait_event(self.there)
        for target, rows in zip(self.static, self.staged, strict=True):
            target.copy_(rows)
        self.taken.record()
        self.stream.wait_event(self.taken)
        self.upload(step + 1)


class Stepper:
    """A net from ``folder`` (net.json and start.safetensors, as benchmarks.prepare writes them), trained in one way."""

    def __init__(self, folder: Path, device: str, precision: str, way: str, layout: str) -> None:
        description = json.loads((folder / "net.json").read_text(encoding="utf-8"))
        start = load_file(folder / "start.safetensors")
        weights = {name: start[name].to(device) for name in description["weights"]}
        with torch.device(device):
            own = TorchNet(description, weights)
        for tensor in own.parameters():
            tensor.data = arranged(tensor.data, layout)
        batches = [[arranged(part(start[name], 0, 1), layout) for name in names] for names in description["batches"]]
        large = device != "cpu" and sum(rows.nbytes for rows in batches[0]) >= AHEAD_BYTES
        self.inputs = (Ahead if large else Inputs)(batches, device)
        self.device = device
        self.precision = precision
        self.step = 0
        self.rule = optimiser(description["updater"], own, description, way == GRAPH)
        self.net = torch.compile(own, mode="reduce-overhead") if way == COMPILED else own
        self.total = torch.zeros((), device=device)
        self.stream = torch.cuda.Stream() if way == GRAPH else None
        self.graph: Any = None

    def play(self, steps: int) -> tuple[float, float]:
        """Play the next ``steps`` steps; return the seconds of one, and the mean of the losses before each."""
        self.total.zero_()
        synchronise(self.device)
        began = perf_counter()
        with torch.cuda.stream(self.stream) if self.stream else nullcontext():
            for _ in range(steps):
                self.train()
        synchronise(self.device)
        return (perf_counter() - began) / steps, self.total.item() / steps

    def train(self) -> None:
        """Train one step. If a graph is used, the first steps are eager, on the stream that is then captured."""
        if self.stream and self.step == WARM_UP:
            self.graph = self.captured()
        self.inputs.take(self.step)
        if self.graph is None:
            self.learn()
        else:
            self.graph.replay()
        self.step += 1

    def captured(self) -> Any:
        """The graph of a step. Gradients are dropped before, so that backward allocates them in the graph's memory and
        overwrites them in each replay."""
        self.rule.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            self.learn()
        return graph

    def learn(self) -> None:
        """Forward, backward and update, on the current inputs."""
        self.rule.zero_grad(set_to_none=True)
        kind, reduced = torch.device(self.device).type, self.precision == BFLOAT16
        with torch.autocast(kind, torch.bfloat16, enabled=reduced, cache_enabled=False):
            loss = self.net(*self.inputs.static)
        loss.backward()
        self.rule.step()
        self.total.add_(loss.detach())


def optimiser(conf: dict[str, Any], net: Any, description: dict[str, Any], captured: bool) -> Any:
    """The optimiser, fused. AdamW counts steps on the device if it is captured; SGD counts none."""
    rule = {k: v for k, v in conf.items() if k not in ("name", "lr", "weight_decay")}
    if captured and conf["name"] == "AdamW":
        rule["capturable"] = True
    return getattr(torch.optim, conf["name"])(net.groups(description), fused=True, **rule)
