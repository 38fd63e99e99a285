"""Plays three workers of a net in one process, over ZeroMQ, and tells how the memory it took compares with the plan.

Run as a program: the peak of a process can be measured once. Prints two numbers of bytes: planned, measured.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from netpart.transport.zeromq import ZeroMQTransport
from tests.worker.jobs import LENET, in_threads, partition, players, steps

WORKERS, STEPS = 3, 4

WIDE = """
name: "wide" train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.001 } }
neuralnet {
  partition_dim: 0
  layer {
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf { shape: 3 shape: 48 shape: 48 batchsize: 24 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "conv" type: kCConvolution srclayers: "data" convolution_conf { num_filters: 16 kernel: 5 pad: 2 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer {
    name: "pool" type: kCPooling srclayers: "conv" pooling_conf { pool: MAX kernel: 4 stride: 4 }
  }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "pool" innerproduct_conf { num_output: 1500 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "relu" type: kReLU srclayers: "fc1" }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "relu" partition_dim: 1 innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" }
}
"""


def peak() -> int:
    """Bytes of the largest resident size so far. (getrusage would remember that of the process before its exec.)"""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def play(text: str) -> tuple[int, int]:
    """(planned, measured) bytes of a few steps of a net on three workers."""
    before = peak()
    with ExitStack() as stack:
        transports = [stack.enter_context(ZeroMQTransport(rank, b"measures")) for rank in range(WORKERS)]
        team = players(partition(text, WORKERS), [*transports])
        addresses = {t.rank: t.bind() for t in transports}
        for t in transports:
            t.connect({rank: address for rank, address in addresses.items() if rank != t.rank})
        in_threads(team, lambda player: steps(player, STEPS))
        return sum(player.machine.memory_bytes for player in team), peak() - before


def main() -> None:
    play(LENET)  # imports, BLAS and ZeroMQ take what they take
    np.ones((512, 512)) @ np.ones((512, 512))
    sys.stdout.write("{} {}\n".format(*play(WIDE)))


if __name__ == "__main__":
    main()
