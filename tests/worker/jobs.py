"""Jobs for the tests of a worker: LeNet in small, and ways to play a job in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from netpart.errors import NetpartError
from netpart.graph.partition import Partition, partition_job
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job_text
from netpart.transport.transport import Transport
from netpart.updaters import build_updater
from netpart.worker.player import Player
from netpart.worker.wait_reasons import WaitReason

LENET = """
name: "lenet" train_steps: 30 seed: 1
train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 weight_decay: 0.0005 learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf { shape: 1 shape: 20 shape: 20 batchsize: 24 } synthetic_conf { classes: 10 }
  }
  layer {
    name: "conv1" type: kCConvolution srclayers: "data" partition_dim: 0
    convolution_conf { num_filters: 8 kernel: 5 }
    param { name: "w1" init { type: kUniformSqrtFanIn } } param { name: "b1" init { type: kConstant } }
  }
  layer {
    name: "pool1" type: kCPooling srclayers: "conv1" partition_dim: 0
    pooling_conf { pool: MAX kernel: 2 stride: 2 }
  }
  layer {
    name: "conv2" type: kCConvolution srclayers: "pool1" partition_dim: 0
    convolution_conf { num_filters: 12 kernel: 5 }
    param { name: "w2" init { type: kUniformSqrtFanIn } } param { name: "b2" init { type: kConstant } }
  }
  layer {
    name: "pool2" type: kCPooling srclayers: "conv2" partition_dim: 0
    pooling_conf { pool: AVG kernel: 2 stride: 2 }
  }
  layer {
    name: "ip1" type: kInnerProduct srclayers: "pool2" partition_dim: 1 innerproduct_conf { num_output: 60 }
    param { name: "w3" init { type: kUniformSqrtFanIn } } param { name: "b3" init { type: kConstant } }
  }
  layer { name: "relu1" type: kReLU srclayers: "ip1" partition_dim: 1 }
  layer { name: "drop1" type: kDropout srclayers: "relu1" partition_dim: 1 dropout_conf { dropout_ratio: 0.5 } }
  layer {
    name: "ip2" type: kInnerProduct srclayers: "drop1" partition_dim: 0 innerproduct_conf { num_output: 10 }
    param { name: "w4" init { type: kUniformSqrtFanIn } } param { name: "b4" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip2" srclayers: "data" partition_dim: 0 }
}
"""


def partition(text: str, workers: int, *overrides: str) -> Partition:
    """The job in ``text``, cut."""
    job = read_job_text(text, overrides=overrides)
    return partition_job(job.proto, workers)


def players(cut: Partition, transports: list[Transport]) -> list[Player]:
    """One player per worker, initialised."""
    found = []
    for worker, transport in enumerate(transports):
        rule = build_updater(cut.job.updater)
        player = Player(compile_worker(cut, worker, len(rule.states)), transport, np, rule)
        player.parameters.initialise()
        found.append(player)
    return found


def wait(transport: Transport, waiting: WaitReason) -> None:
    """Blocks a player; raises NetpartError where nothing comes."""
    if not transport.wait(30.0):
        raise NetpartError(f"nothing came while waiting for {waiting}")


def in_threads(team: list[Player], play: Callable[[Player], Any]) -> None:
    """Runs ``play`` for every player at once; raises the first error."""
    errors: list[BaseException] = []

    def run(player: Player) -> None:
        try:
            play(player)
        except BaseException as error:
            errors.append(error)
            for each in team:
                assert each.transport is not None
                each.transport.mailbox.fail(f"another worker failed: {error}")

    threads = [threading.Thread(target=run, args=(player,)) for player in team]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def step(player: Player, phase: str, number: int) -> None:
    """Plays one step, blocking where it must."""
    assert player.transport is not None
    for waiting in player.play(phase, number):
        wait(player.transport, waiting)


def steps(player: Player, count: int) -> None:
    """Plays ``count`` training steps."""
    for number in range(count):
        step(player, "train", number)
