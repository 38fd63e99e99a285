"""Groups and servers keep their laws: what waits is what one worker computes, what does not is delayed SGD."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.layers.inputs.synthetic import TRAIN, SyntheticInput
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble
from tests.laws.turns import Groups, Values

ROWS = 6
FEATURES = 5
CLASSES = 3
RATE = 0.25
MOMENTUM = 0.75
SOFTMAX = """
seed: 5 dtype: FLOAT64 train_steps: %d
updater { type: kSGD momentum: 0.75 learning_rate { type: kFixed base_lr: 0.25 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput store_conf { shape: 5 batchsize: 6 } synthetic_conf { classes: 3 }
  }
  layer {
    name: "fc" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 }
    param { name: "w" init { type: kUniformSqrtFanIn } } param { name: "b" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
cluster { %s }
"""
NET = """
seed: 3 dtype: FLOAT64 train_steps: 7
updater { %s }
neuralnet {
  partition_dim: 0
  layer {
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf { shape: 2 shape: 5 shape: 5 batchsize: 6 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "conv" type: kConvolution srclayers: "data" convolution_conf { num_filters: 4 kernel: 3 pad: 1 }
    param { name: "cw" init { type: kGaussian std: 0.1 } } param { name: "cb" init { type: kConstant } }
  }
  layer { name: "bn" type: kBM srclayers: "conv" }
  layer { name: "relu" type: kReLU srclayers: "bn" }
  layer { name: "drop" type: kDropout srclayers: "relu" dropout_conf { dropout_ratio: 0.3 } }
  layer {
    name: "fc" type: kInnerProduct srclayers: "drop" partition_dim: 1 innerproduct_conf { num_output: 4 }
    param { name: "fw" init { type: kUniformSqrtFanIn } } param { name: "fb" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
cluster { %s }
"""
RULES = [
    "type: kSGD momentum: 0.9 weight_decay: 0.01 learning_rate { type: kStep base_lr: 0.1 "
    "step_conf { gamma: 0.5 change_freq: 3 } }",
    "type: kAdam adam_conf { beta1: 0.9 beta2: 0.99 } learning_rate { type: kFixed base_lr: 0.01 }",
    "type: kSGD clip_norm: 0.05 ema_decay: 0.9 learning_rate { type: kFixed base_lr: 0.2 }",
]


def job(text: str) -> JobProto:
    return read_job_text(text).proto


@pytest.mark.parametrize("rule", RULES, ids=["sgd", "adam", "clipped"])
@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (1, 3), (2, 1), (3, 2)])
def test_one_group_with_servers_trains_as_without_bit_for_bit(rule: str, workers: int, servers: int) -> None:
    proto = job(NET % (rule, f"server_worker_separate: true nservers_per_group: {servers}"))
    groups = Groups(proto, workers, order=workers + servers)
    groups.run()
    ensemble = Ensemble(partition_job(proto, workers))
    ensemble.initialise()
    for step in range(proto.train_steps):
        ensemble.step("train", step)
    for name in groups.names:
        np.testing.assert_array_equal(groups.parameter(name), ensemble.parameter(name), err_msg=name)
        np.testing.assert_array_equal(groups.parameter(name, range(workers)), ensemble.parameter(name), err_msg=name)
    assert {update.staleness for found in groups.applied.values() for update in found} == {0}


class Model:
    """Softmax regression with momentum in NumPy: the gradient of a mini-batch, and one update."""

    def __init__(self, proto: JobProto) -> None:
        groups = partition_job(proto, 1)
        layer = groups.graph.net.by_name["data"].layer
        assert isinstance(layer, SyntheticInput)
        self.rows = layer.open(ROWS, proto.seed, TRAIN)
        first = Ensemble(groups)
        first.initialise()
        self.w, self.b = first.parameter("fc/w"), first.parameter("fc/b")
        self.h = [np.zeros_like(self.w), np.zeros_like(self.b)]

    @property
    def arrays(self) -> tuple[Values, Values]:
        return self.w, self.b

    @property
    def values(self) -> tuple[Values, Values]:
        return self.w.copy(), self.b.copy()

    def gradient(self, step: int, values: tuple[Values, Values]) -> list[Values]:
        x, label = np.empty((ROWS, FEATURES)), np.empty(ROWS, np.int32)
        self.rows.read(step, 0, ROWS, x, label)
        scores = x @ self.weight(values[0]) + values[1]
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(ROWS), label] -= 1
        dw = x.T @ p / ROWS
        return [dw if values[0].shape == (FEATURES, CLASSES) else dw.T, p.mean(axis=0)]

    def weight(self, w: Values) -> Values:
        return w if w.shape == (FEATURES, CLASSES) else w.T

    def update(self, gradient: list[Values]) -> None:
        for value, h, g in zip((self.w, self.b), self.h, gradient, strict=True):
            h *= MOMENTUM
            h -= RATE * g
            value += h


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("meetings", [(), (4, 8)])
@pytest.mark.parametrize("order", [1, 2])
def test_groups_in_turns_are_delayed_sgd(count: int, meetings: tuple[int, ...], order: int) -> None:
    """Update s takes the gradient that its group computed on what the update of its last step, s - G, had made."""
    proto = job(SOFTMAX % (14, f"nworker_groups: {count} nservers_per_group: 2 in_turns: true"))
    groups = Groups(proto, 1, order, meetings)
    groups.run()
    model = Model(proto)
    versions = [model.values]
    for step in range(proto.train_steps):
        met = max((m for m in meetings if m <= step), default=0)
        read = max(step - count + 1, met)
        model.update(model.gradient(step, versions[read]))
        versions.append(model.values)
        for rank in groups.cluster.checkpoint_ranks:
            assert groups.applied[rank][step][1:] == (step, read, step)
    np.testing.assert_allclose(groups.parameter("fc/w"), model.w, rtol=0, atol=1e-13)
    np.testing.assert_allclose(groups.parameter("fc/b"), model.b, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("sync", "staleness"), [(1, 0), (1, 1), (3, 0), (3, 2), (3, 3)])
@pytest.mark.parametrize(("count", "meetings"), [(2, ()), (3, ()), (3, (7, 8, 15))])
def test_groups_that_average_are_replicas_with_a_late_mean(
    sync: int, staleness: int, count: int, meetings: tuple[int, ...]
) -> None:
    bound = f"sync_freq: {sync} staleness: {staleness}"
    proto = job(SOFTMAX % (20, f"nworker_groups: {count} nserver_groups: 0 {bound}"))
    groups = Groups(proto, 1, 1, meetings)
    groups.run()
    replicas = [Model(proto) for _ in range(count)]
    play_replicas(proto, replicas, sync, staleness, [*meetings, proto.train_steps])
    for rank, model in enumerate(replicas):
        np.testing.assert_allclose(groups.parameter("fc/w", [rank]), model.w, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(groups.parameter("fc/w", [rank]), groups.parameter("fc/w", [0]))


def play_replicas(proto: JobProto, replicas: list[Model], sync: int, staleness: int, meetings: list[int]) -> None:
    """Local SGD, round by round, in one thread: (when an average began, its values) wait until they are due."""
    count = len(replicas)
    open_since = -1
    begun = list[tuple[Values, Values]]()

    def bring_in() -> None:
        for k in range(2):
            mean = sum(start[k] for start in begun) / count
            for model, start in zip(replicas, begun, strict=True):
                model.arrays[k][...] += mean - start[k]

    for step in range(proto.train_steps + 1):
        round_, group = divmod(step, count)
        if step in meetings:
            if open_since >= 0:
                bring_in()
                open_since = -1
            for arrays in zip(*((*m.arrays, *m.h) for m in replicas), strict=True):
                mean = sum(arrays) / count
                for array in arrays:
                    array[...] = mean
        if step == proto.train_steps:
            break
        replicas[group].update(replicas[group].gradient(step, replicas[group].values))
        if group == count - 1:
            if open_since >= 0 and round_ + 1 - open_since >= staleness:
                bring_in()
                open_since = -1
            if (round_ + 1) % sync == 0 and not any(round_ * count < m <= step + 1 for m in meetings):
                open_since, begun = round_ + 1, [m.values for m in replicas]
                if staleness == 0:
                    bring_in()
                    open_since = -1


def test_a_ring_that_waits_is_equation_12() -> None:
    """The mean of the groups' gradients over b rows each is the gradient over all their rows: as one group trains on
    mini-batches of as many rows."""
    groups = Groups(job(SOFTMAX % (12, "nworker_groups: 3 nserver_groups: 0 staleness: 0")), 1)
    groups.run()
    whole = job((SOFTMAX % (4, "")).replace("batchsize: 6", "batchsize: 18"))
    ensemble = Ensemble(partition_job(whole, 1))
    ensemble.initialise()
    for step in range(whole.train_steps):
        ensemble.step("train", step)
    for name in groups.names:
        np.testing.assert_allclose(groups.parameter(name), ensemble.parameter(name), rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("bound", [0, 1, 3])
def test_no_group_runs_further_ahead_than_it_may(order: int, bound: int) -> None:
    proto = job(SOFTMAX % (30, f"nworker_groups: 3 nservers_per_group: 2 staleness: {bound}"))
    groups = Groups(proto, 1, order, (6, 13, 21))
    groups.run()
    for rank in groups.cluster.checkpoint_ranks:
        done = [0, 0, 0]
        assert sorted(update.step for update in groups.applied[rank]) == list(range(30))
        assert groups.reached[rank] == list(range(31))
        for update in groups.applied[rank]:
            assert done[update.group] - min(done) <= bound
            done[update.group] += 1


@pytest.mark.parametrize("order", range(6))
def test_groups_meet_where_something_is_saved(order: int) -> None:
    """Version c has the updates of the steps below c, in whatever order, and who reads behind c reads no older one."""
    meetings = (5, 6, 14)
    groups = Groups(job(SOFTMAX % (20, "nworker_groups: 3")), 1, order, meetings)
    groups.run()
    found = groups.applied[groups.cluster.checkpoint_ranks[0]]
    for low, high in pairwise((0, *meetings, 20)):
        assert sorted(update.step for update in found[low:high]) == list(range(low, high))
        assert all(update.read >= low for update in found[low:high])


def test_workers_of_a_group_keep_equal_copies_when_groups_average() -> None:
    for count in (2, 3, 5):
        proto = job(NET % (RULES[0], f"nworker_groups: {count} nserver_groups: 0 sync_freq: 2"))
        proto.train_steps = 4 * count
        groups = Groups(proto, 2)
        groups.run()
        for name in ("conv/cw", "conv/cb"):
            copies = [groups.parameter(name, [rank]) for rank in range(groups.cluster.size)]
            for copy in copies:
                np.testing.assert_array_equal(copy, copies[0])
