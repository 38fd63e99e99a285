"""Instruction seconds: what a worker takes for an instruction, and for a step, besides the work of its kernels.

What a step takes is mostly the handing over of rows that a thread has read. Other data pass through the caches before
each step, as its kernels would let them.
"""

from __future__ import annotations

from statistics import median
from time import thread_time

import numpy as np

from netpart.graph.uncut import partition_uncut
from netpart.plan.timings.call_seconds import sweep_caches
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job_text
from netpart.updaters import build_updater
from netpart.worker.player import Player

SHORT, LONG = 4, 64
"""Layers of the two nets whose steps are compared."""
STEPS = 100
READING = "forward data"
"""The instruction that hands rows over."""


def measure_instructions() -> tuple[float, float]:
    """Seconds of an instruction, and of the rest of a step: both from steps of two nets that compute nothing."""
    (few, short), (many, long) = (_idle_step(layers) for layers in (SHORT, LONG))
    each = max(1e-8, (long - short) / (many - few))
    return each, max(1e-8, short - few * each)


def _idle_step(layers: int) -> tuple[int, float]:
    """The number of instructions of a chain of so many layers, and the seconds of a step in which all but the reading
    of rows do nothing."""
    job = read_job_text(_chain_text(layers)).proto
    partition = partition_uncut(job, None, ("train",))
    player = Player(compile_worker(partition, 0), None, np, build_updater(job.updater))
    actions = list(player.bound["train"].actions)
    for action in actions:
        action.run = action.run if action.name == READING else _skip_kernel
    return len(actions), median(_played_seconds(player, step) for step in range(STEPS))


def _skip_kernel() -> None:
    """Stands for a kernel."""


def _played_seconds(player: Player, step: int) -> float:
    sweep_caches()
    began = thread_time()
    for _ in player.play("train", step):
        pass
    return thread_time() - began


def _chain_text(layers: int) -> str:
    """A job of so many layers in a row, with a loss."""
    text = 'layer { name: "data" type: kSyntheticInput store_conf { batchsize: 1 shape: 2 } '
    text += "synthetic_conf { classes: 2 } }"
    last = "data"
    for i in range(layers):
        weights = "param { init { type: kConstant } }"
        text += f' layer {{ name: "l{i}" type: kInnerProduct srclayers: "{last}" innerproduct_conf {{ num_output: 2 }}'
        text += f" {weights} {weights} }}"
        last = f"l{i}"
    text += f' layer {{ name: "loss" type: kSoftmaxLoss srclayers: "{last}" srclayers: "data" }}'
    rule = "updater { type: kSGD learning_rate { type: kFixed base_lr: 0 } }"
    return f"train_one_batch {{ alg: kBP }} {rule} neuralnet {{ {text} }}"
