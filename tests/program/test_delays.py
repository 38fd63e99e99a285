"""Delayed pipelines: equations 1 and 2 to the digit, what they hold, and when a step of theirs is over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.data.synthetic import Synthetic
from netpart.graph.partition import Partition, partition_job
from netpart.kernels.op import Clock
from netpart.launch.ensemble import Ensemble
from netpart.plan.partition import partition
from netpart.program.compile import compile_worker
from netpart.program.delays import agreed, parameter_delays
from netpart.program.schedule import DELAYED, Stages
from netpart.proto.job_pb2 import JobProto, Schedule
from netpart.updaters import Scale, updater
from tests.graph.jobs import data, job, layer, product
from tests.program.test_schedule import LOSS, SHAPES

Values = np.ndarray[Any, Any]
ROWS, WIDTH, CLASSES, STEPS, RATE = 8, 6, 4, 12, 0.5
DIGITS = 1e-12


def delayed(*layers: str, micros: int = 1) -> JobProto:
    conf = job(*layers)
    conf.neuralnet.schedule, conf.neuralnet.micro_batches = Schedule.DELAYED, micros
    return conf


def chain(teams: int) -> JobProto:
    """Inner products and sigmoids, one pair on each worker; the last has the loss."""
    layers = [data(rows=ROWS, shape=f"shape: {WIDTH}", classes=CLASSES, more="location: 0")]
    for k in range(teams):
        width = CLASSES if k == teams - 1 else WIDTH
        layers.append(product(f"fc{k}", f"act{k - 1}" if k else "data", width, f"location: {k}"))
        layers.append(layer(f"act{k}", "kSigmoid", f"fc{k}", more=f"location: {k}"))
    return delayed(*layers, layer("loss", "kSoftmaxLoss", f"act{teams - 1}", "data", more=f"location: {teams - 1}"))


def played(cut: Partition, drains: frozenset[int] = frozenset(), order: int = 3) -> Ensemble:
    """``cut`` after STEPS steps, drained behind the last and behind those of ``drains``."""
    ensemble = Ensemble(cut, order=order, poison=True)
    ensemble.initialise()
    for step in range(STEPS):
        ensemble.step("train", step, drain=step in drains or step == STEPS - 1)
    return ensemble


def sigmoid(x: Values) -> Values:
    return 1 / (1 + np.exp(-x))


def equations(weights: list[tuple[Values, Values]], rows: Synthetic) -> list[tuple[Values, Values]]:
    """Equations 1 and 2, one mini-batch after another: w[s + 1] = w[s] - γ · the gradient of s at w[s - d]."""
    teams = len(weights)
    versions = [[pair] for pair in weights]
    for s in range(STEPS):
        x, labels = np.empty((ROWS, WIDTH)), np.empty(ROWS, np.int32)
        rows.read(s, 0, ROWS, x, labels)
        stashed = [versions[k][max(0, s - (teams - 1 - k))] for k in range(teams)]
        values = [x]
        for w, b in stashed:
            values.append(sigmoid(values[-1] @ w.T + b))
        exp = np.exp(values[-1])
        g = (exp / exp.sum(1, keepdims=True) - np.eye(CLASSES)[labels]) / ROWS
        for k in reversed(range(teams)):
            dz = g * values[k + 1] * (1 - values[k + 1])
            g = dz @ stashed[k][0]
            w, b = versions[k][s]
            versions[k].append((w - RATE * dz.T @ values[k], b - RATE * dz.sum(0)))
    return [held[-1] for held in versions]


@pytest.mark.parametrize("teams", [1, 2, 3, 4])
def test_a_chain_computes_the_equations(teams: int) -> None:
    conf = chain(teams)
    cut = partition_job(conf, teams)
    begin = Ensemble(cut)
    begin.initialise()
    names = [(f"fc{k}/weight", f"fc{k}/bias") for k in range(teams)]
    known = {p.name for p in cut.parameters}
    assert known == {name for pair in names for name in pair}
    rows = Synthetic((WIDTH,), CLASSES, batch=ROWS, seed=conf.seed)
    expected = equations([(begin.parameter(w).copy(), begin.parameter(b).copy()) for w, b in names], rows)
    found = played(cut)
    for pair, values in zip(names, expected, strict=True):
        for name, value in zip(pair, values, strict=True):
            assert np.abs(found.parameter(name) - value).max() < DIGITS
            assert np.abs(value - begin.parameter(name)).max() > 1e-3


def one_after_another(cut: Partition) -> dict[str, Values]:
    """The parameters after STEPS steps of the uncut net, which for each mini-batch is given the weights of
    ``parameter_delays`` steps before, and whose gradients update the newest ones, by the job's updater."""
    plain = JobProto()
    plain.CopyFrom(cut.job)
    plain.neuralnet.schedule, plain.neuralnet.micro_batches = Schedule.ONE_F_ONE_B, 1
    whole, rule, clock = Ensemble(partition_job(plain, 1, uncut=True), keep=True), updater(plain.updater), Clock()
    whole.initialise()
    delays, (player,) = parameter_delays(cut), whole.players
    arrays = [player.parameter(h) for h in range(len(player.program.holdings))]
    names = [holding.parameter.name for holding in player.program.holdings]
    versions = [[array.copy()] for array in arrays]
    states = [[np.zeros_like(array) for _ in rule.states] for array in arrays]
    for array, state in zip(arrays, states, strict=True):
        rule.begin(array, state)
    for clock.step in range(STEPS):
        for name, array, held in zip(names, arrays, versions, strict=True):
            array[...] = held[max(0, clock.step - delays[name])]
        whole.step("train", clock.step)
        gradients = [whole.parameter(name, gradient=True) for name in names]
        norm = np.array([sum((g**2).sum() for g in gradients)]) if plain.updater.clip_norm else None
        for held, gradient, state in zip(versions, gradients, states, strict=True):
            held.append(held[-1].copy())
            op = rule.bind(np, held[-1], gradient, state, Scale(), clock, norm)
            op.run(*(np.empty(shape, dtype) for shape, dtype in op.scratch))
    return {name: held[-1] for name, held in zip(names, versions, strict=True)}


def check(cut: Partition, drains: frozenset[int] = frozenset()) -> None:
    """Plays ``cut`` in two interleavings: the same bits, and what the uncut net computes with delayed weights."""
    found, again, expected = played(cut), played(cut, order=4), one_after_another(cut)
    for name, value in expected.items():
        assert np.array_equal(found.parameter(name), again.parameter(name)), name
        assert np.abs(found.parameter(name) - value).max() < DIGITS, name


REPLICAS = [
    data(rows=12, more="location: 0 location: 1"), product("a", "data", 6, "partition_dim: 0 location: 0 location: 1"),
    product("b", "a", 6, "partition_dim: 1 location: 0 location: 1"),
    product("c", "b", 6, "partition_dim: 0 location: 2 location: 3"),
    product("top", "c", 4, "partition_dim: 0 location: 2 location: 3"),
    layer("loss", "kSoftmaxLoss", "top", "data", more="partition_dim: 0 location: 2 location: 3"),
]  # fmt: skip
TIED = [
    data(rows=12, more="location: 0"), product("a", "data", 4, "location: 0"), product("b", "a", 4, "location: 1"),
    layer("top", "kInnerProduct", "b", more="""innerproduct_conf { num_output: 4 } location: 2
      param { name: "last" share_from: "a/weight" } param { init { type: kGaussian } }"""),
    layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
]  # fmt: skip
NETS = {**SHAPES, "replicas": REPLICAS}
UPDATERS = {
    "momentum": "type: kSGD momentum: 0.9 weight_decay: 0.01",
    "nesterov": "type: kNesterov momentum: 0.9",
    "adam": "type: kAdam",
    "averaged": "type: kAdaGrad ema_decay: 0.9",
    "clipped": "type: kSGD clip_norm: 0.1",
}
