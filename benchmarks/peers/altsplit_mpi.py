"""The seed's Algorithm 2, naive model parallelism, in its simplest form with mpi4py and NumPy.

    mpiexec -n 2 python -m benchmarks.peers.altsplit_mpi WORK

WORK is the JSON of benchmarks.mlp.Work. Every process holds its neurons of every layer: rows of W. Activations are
(neurons, batch), so that the neurons of one process are contiguous: the whole batch is gathered in one call, into its
final place. Everything is allocated once. The output is one line of JSON: the seconds of each step (of the slowest
process), the loss of each step, the calls of one step and the bytes that a ring sends for them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from safetensors.numpy import load_file

Array = NDArray[Any]


@dataclass
class Layer:
    """This process's neurons ``lo`` to ``hi`` of a layer, and the buffers of its results."""

    lo: int
    hi: int
    counts: list[int]
    w: Array
    b: Array
    own: Array
    whole: Array
    dw: Array
    db: Array
    dx: Array
    positive: Array


def make_layer(w: Array, b: Array, batch: int, comm: Any) -> Layer:
    """The layer of which ``w`` (outputs, inputs) and ``b`` (outputs,) are all parameters."""
    ends = [len(w) * p // comm.size for p in range(comm.size + 1)]
    lo, hi = ends[comm.rank], ends[comm.rank + 1]
    return Layer(
        lo, hi,
        counts=[(b - a) * batch for a, b in pairwise(ends)],
        w=w[lo:hi].copy(), b=b[lo:hi, None].copy(),
        own=np.empty((hi - lo, batch), np.float32), whole=np.empty((len(w), batch), np.float32),
        dw=np.empty((hi - lo, w.shape[1]), np.float32), db=np.empty((hi - lo, 1), np.float32),
        dx=np.empty((w.shape[1], batch), np.float32), positive=np.empty((hi - lo, batch), np.bool_),
    )  # fmt: skip


def forward(layers: list[Layer], x: Array, comm: Any) -> Array:
    """Compute every layer; return all outputs of the last one."""
    for layer in layers:
        np.matmul(layer.w, x, out=layer.own)
        layer.own += layer.b
        if layer is not layers[-1]:
            np.maximum(layer.own, 0, out=layer.own)
        comm.Allgatherv(layer.own, [layer.whole, layer.counts])
        x = layer.whole
    return x


def softmax_loss(z: Array, label: Array) -> float:
    """The mean loss of outputs ``z`` (classes, batch), which become its gradient."""
    rows = np.arange(len(label))
    z -= z.max(axis=0)
    np.exp(z, out=z)
    z /= z.sum(axis=0)
    loss = -float(np.log(z[label, rows]).mean())
    z[label, rows] -= 1
    z /= len(label)
    return loss


def backward(layers: list[Layer], x: Array, rate: float, comm: Any) -> None:
    """From the gradient of the last layer's outputs to that of every parameter, and a step of SGD."""
    gradient = layers[-1].whole
    for n in reversed(range(len(layers))):
        layer, below = layers[n], layers[n - 1] if n else None
        dy = gradient[layer.lo : layer.hi]
        if below:
            np.matmul(layer.w.T, dy, out=layer.dx)
            comm.Allreduce(MPI.IN_PLACE, layer.dx)
            gradient = layer.dx
            np.greater(below.own, 0, out=below.positive)
            gradient[below.lo : below.hi] *= below.positive
        np.matmul(dy, (below.whole if below else x).T, out=layer.dw)
        np.sum(dy, axis=1, keepdims=True, out=layer.db)
        layer.dw *= rate
        layer.db *= rate
        layer.w -= layer.dw
        layer.b -= layer.db


def train(work: dict[str, Any], comm: Any) -> dict[str, Any]:
    """Train; return seconds and losses of the steps, and call and bytes of one."""
    start = load_file(work["start"])
    batch = work["batch"]
    depth = len(work["widths"]) - 1
    layers = [make_layer(start[f"fc{n}/w"], start[f"fc{n}/b"], batch, comm) for n in range(1, depth + 1)]
    batches = [np.ascontiguousarray(rows.T) for rows in np.split(start["data"], len(start["data"]) // batch)]
    labels = np.split(start["label"], len(batches))
    seconds, losses = np.empty(work["steps"]), []
    comm.Barrier()
    for step in range(work["steps"]):
        began = perf_counter()
        x = batches[step % len(batches)]
        losses.append(softmax_loss(forward(layers, x, comm), labels[step % len(batches)]))
        backward(layers, x, work["rate"], comm)
        seconds[step] = perf_counter() - began
    comm.Allreduce(MPI.IN_PLACE, seconds, op=MPI.MAX)
    outputs = work["widths"][1:]
    sent = 4 * (comm.size - 1) * batch * (sum(outputs) + 2 * sum(outputs[:-1]))
    return {"seconds": seconds.tolist(), "losses": losses, "calls": 2 * depth - 1, "bytes": sent}


def main() -> None:
    """Train the work of the command line; the first process prints."""
    found = train(json.loads(sys.argv[1]), MPI.COMM_WORLD)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
