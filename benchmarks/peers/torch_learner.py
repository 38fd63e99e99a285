"""PyTorch trains and tests a net of netpart on scans. netpart reads the scans, so that both see the same ones.

    python -m benchmarks.peers.torch_learner JOB SUMMARY THREADS

Writes a summary as netpart run does: accuracies of all tests, steps of an epoch, the file of learned parameters. A job
with micro_batches trains like that many processes of DistributedDataParallel: each normalises its own share of the
rows, and the running statistics are those of the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from benchmarks.peers.torch_net import TorchNet, safe
from benchmarks.translate import describe, weights
from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.program.instructions import PHASE_CODES
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job
from netpart.updaters.schedule import learning_rate_schedule


class Learner:
    """Trains and tests the net of ``proto``."""

    def __init__(self, proto: JobProto, folder: Path) -> None:
        self.proto = proto
        train, test = (build_net(proto, phase, folder) for phase in ("train", "test"))
        self.train, self.test = Rows(train, proto.seed, "train"), Rows(test, proto.seed, "test")
        described = describe(proto, train)
        start = {name: torch.from_numpy(value) for name, value in weights(train, proto.seed).items()}
        for path in proto.checkpoint_path:
            start |= {name: value for name, value in load_file(path).items() if name in start}
        self.names = list(start)
        self.net, self.judge = TorchNet(described, start), TorchNet(judging(described), start)
        rule = {k: v for k, v in described["updater"].items() if k not in ("name", "lr", "weight_decay")}
        self.pieces = max(1, proto.neuralnet.micro_batches)
        self.rule = getattr(torch.optim, described["updater"]["name"])(self.net.groups(described), **rule)
        rate, first = learning_rate_schedule(proto.updater.learning_rate), proto.updater.learning_rate.base_lr
        self.falls = torch.optim.lr_scheduler.LambdaLR(self.rule, lambda step: rate(step) / first)

    def learn(self) -> list[tuple[int, float]]:
        """Train for the steps of the job; return the accuracies of its tests, each with the step that follows it."""
        found = list[tuple[int, float]]()
        freq = self.proto.test_freq
        steps = self.proto.train_steps
        for step, rows in enumerate(self.train.batches(steps), start=1):
            self.rule.zero_grad(set_to_none=True)
            gradients(self.net, rows, self.pieces)
            self.rule.step()
            self.falls.step()
            if step % freq == 0 or step == steps:
                found.append((step, self.accuracy()))
        return found

    def accuracy(self) -> float:
        """The fraction of test scans that are classified correctly."""
        self.judge.load_state_dict(self.net.state_dict())
        right = rows = 0
        with torch.no_grad():
            for data, label in self.test.batches(self.proto.test_steps):
                right += int((self.judge(data, label).argmax(1) == label).sum())
                rows += len(label)
        return right / rows

    def learned(self) -> dict[str, Any]:
        """Parameters and running statistics by netpart's names."""
        return {name: getattr(self.net, safe(name)).detach().contiguous() for name in self.names}


def gradients(net: Any, rows: Sequence[Any], pieces: int) -> None:
    """Add to ``net`` those of the mean loss of ``rows``, of which each portion is normalised separately."""
    kept = dict[str, Any]()
    for piece in zip(*(each.chunk(pieces) for each in rows), strict=True):
        (net(*piece) * (len(piece[0]) / len(rows[0]))).backward()
        kept = kept or {name: buffer.clone() for name, buffer in net.named_buffers()}
    net.load_state_dict(kept, strict=False)


def judging(described: dict[str, Any]) -> dict[str, Any]:
    """The net up to the scores, which normalises by its running statistics."""
    fixed = [layer | {"args": layer["args"] | {"fixed": True}} for layer in described["layers"][:-1]]
    return described | {"layers": fixed}


class Rows:
    """The scans of a phase."""

    def __init__(self, net: Net, seed: int, phase: str) -> None:
        layer: Any = next(node.layer for node in net.nodes if node.layer.is_input)
        self.shape = layer.output.shape
        self.source = layer.open(self.shape[0], seed, PHASE_CODES[phase])

    def batches(self, steps: int) -> Iterator[list[Any]]:
        """Scans and labels of each step."""
        for step in range(steps):
            data, label = np.empty(self.shape, np.float32), np.empty(self.shape[0], np.int32)
            self.source.read(step, 0, self.shape[0], data, label)
            yield [torch.from_numpy(data), torch.from_numpy(label).long()]


def main() -> None:
    """Train; write the summary and the learned parameters."""
    job = Path(sys.argv[1])
    summary = Path(sys.argv[2])
    threads = int(sys.argv[3])
    torch.set_num_threads(threads)
    proto = read_job(job).proto
    learner = Learner(proto, job.parent)
    accuracies = learner.learn()
    checkpoint = summary.with_suffix(".safetensors")
    save_file(learner.learned(), checkpoint)
    found = {
        "name": proto.name, "workers": 1, "steps": proto.train_steps, "accuracies": accuracies,
        "steps_per_epoch": proto.test_freq, "checkpoint": str(checkpoint),
    }  # fmt: skip
    summary.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
