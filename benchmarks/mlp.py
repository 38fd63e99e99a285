"""The multi-layer perceptron that netpart and its peers train: the same weights, rows and updater for all."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from netpart.data.stores.kvfile import KvWriter
from netpart.data.stores.record import Record, encode_record

BATCHES = 2
"""Mini-batches in the store, read in turn."""
CLASSES = 10


@dataclass(frozen=True)
class Work:
    """Inner products of ``widths`` d_1 to d_L on d_0 inputs, a ReLU between any two, a softmax loss; SGD, float32.

    Every process computes with ``threads`` threads. ``start``: the file of first weights and rows, see ``prepare``.
    """

    widths: tuple[int, ...]
    batch: int
    workers: int
    steps: int
    threads: int = 1
    rate: float = 1e-4
    start: str = ""

    def __str__(self) -> str:
        return f"MLP {'-'.join(map(str, self.widths))}, batch {self.batch}, {self.workers} workers"

    def to_json(self) -> str:
        """The argument of a peer."""
        return json.dumps(asdict(self))

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return sum((below + 1) * above for below, above in pairwise(self.widths))


def prepare(work: Work, folder: Path) -> None:
    """Write the first weights and the rows for all contenders (start.safetensors), netpart's store and its job.

    start.safetensors holds fc1/w (d_1, d_0), fc1/b (d_1,) and so on, data (rows, d_0) float32 and label (rows,) int32.
    """
    random = np.random.default_rng(1)
    tensors = {}
    for n, (below, above) in enumerate(pairwise(work.widths), start=1):
        bound = np.float32((6 / below) ** 0.5)
        tensors[f"fc{n}/w"] = (2 * random.random((above, below), np.float32) - 1) * bound
        tensors[f"fc{n}/b"] = np.zeros(above, np.float32)
    rows = BATCHES * work.batch
    data = random.standard_normal((rows, work.widths[0]), np.float32)
    label = random.integers(0, work.widths[-1], rows, np.int32)
    save_file(tensors | {"data": data, "label": label}, folder / "start.safetensors")
    with KvWriter(folder / "rows.bin") as store:
        for i, (row, of) in enumerate(zip(data, label.tolist(), strict=True)):
            store.put(f"{i:08d}".encode(), encode_record(Record.from_array(row, of)))
    (folder / "job.conf").write_text(job(work), encoding="utf-8")


def job(work: Work) -> str:
    """The job as a user would write it; it starts from start.safetensors and reports once, at the end."""
    layers, source = [INPUT.format(width=work.widths[0], batch=work.batch)], "data"
    for n, width in enumerate(work.widths[1:], start=1):
        layers.append(PRODUCT.format(n=n, source=source, width=width))
        source = f"fc{n}"
        if n < len(work.widths) - 1:
            layers.append(RELU.format(n=n, source=source))
            source = f"relu{n}"
    net = "".join([*layers, LOSS.format(source=source)])
    return JOB.format(steps=work.steps, rate=work.rate, start=work.start, net=net)


JOB = """name: "schemes"
train_steps: {steps}
disp_freq: {steps}
checkpoint_path: "{start}"
train_one_batch {{ alg: kBP }}
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: {rate} }} }}
neuralnet {{
{net}}}
"""
INPUT = """  layer {{
    name: "data" type: kRecordInput
    store_conf {{ backend: "kvfile" path: "rows.bin" shape: {width} batchsize: {batch} }}
  }}
"""
PRODUCT = """  layer {{
    name: "fc{n}" type: kInnerProduct srclayers: "{source}" innerproduct_conf {{ num_output: {width} }}
    param {{ name: "w" init {{ type: kConstant }} }} param {{ name: "b" init {{ type: kConstant }} }}
  }}
"""
RELU = """  layer {{ name: "relu{n}" type: kReLU srclayers: "{source}" }}
"""
LOSS = """  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "{source}" srclayers: "data" }}
"""
