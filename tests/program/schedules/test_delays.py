"""Delayed pipelines: equations 1 and 2 to the digit, what they hold, and when a step of theirs is over."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.data.synthetic import SyntheticRows
from netpart.graph.partition import Partition, partition_job
from netpart.kernels.op import Clock
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.compile import compile_worker
from netpart.program.schedules.delayed_pipeline import simulate_delayed as delayed_run
from netpart.program.schedules.delayed_pipeline import simulate_schedule
from netpart.program.schedules.delays import align_delays, parameter_delays
from netpart.program.schedules.stages import StageGraph
from netpart.proto.job_pb2 import JobProto, Schedule
from netpart.updaters import ParameterScale, build_updater
from netpart.worker.ensemble import Ensemble
from tests.graph.jobs import data, job, layer, product
from tests.program.schedules.test_schedule import SHAPES, text

Values = np.ndarray[Any, Any]
ROWS = 8
WIDTH = 6
CLASSES = 4
STEPS = 12
RATE = 0.5
DIGITS = 1e-12
GENTLE = 0.01
"""A learning rate at which nets without activations stay near where they began."""


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


def equations(weights: list[tuple[Values, Values]], rows: SyntheticRows) -> list[tuple[Values, Values]]:
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
    rows = SyntheticRows((WIDTH,), CLASSES, batch=ROWS, seed=conf.seed)
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
    whole = Ensemble(partition_job(plain, 1, uncut=True), keep=True)
    rule = build_updater(plain.updater)
    clock = Clock()
    whole.initialise()
    delays, (player,) = parameter_delays(cut), whole.players
    arrays = [player.parameters.values(h) for h in range(len(player.program.holdings))]
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
            op = rule.bind(np, held[-1], gradient, state, ParameterScale(), clock, norm)
            op.run(*(np.empty(shape, dtype) for shape, dtype in op.scratch))
    return {name: held[-1] for name, held in zip(names, versions, strict=True)}


def check(cut: Partition, drains: frozenset[int] = frozenset()) -> None:
    """Plays ``cut`` in two interleavings: the same bits, and what the uncut net computes with delayed weights."""
    found = played(cut)
    again = played(cut, order=4)
    expected = one_after_another(cut)
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
      param { share_from: "a/weight" } param { init { type: kGaussian } }"""),
    layer("loss", "kSoftmaxLoss", "top", "data", more="location: 2"),
]  # fmt: skip
NETS = {**SHAPES, "replicas": REPLICAS, "tied": TIED}
UPDATERS = {
    "momentum": "type: kSGD momentum: 0.9 weight_decay: 0.01",
    "nesterov": "type: kNesterov momentum: 0.9",
    "adam": "type: kAdam",
    "averaged": "type: kAdaGrad ema_decay: 0.9",
    "clipped": "type: kSGD clip_norm: 0.1",
}


@pytest.mark.parametrize("micros", [1, 3])
@pytest.mark.parametrize("net", NETS)
def test_any_net_computes_the_equations(net: str, micros: int) -> None:
    conf = delayed(*NETS[net], micros=micros)
    conf.updater.learning_rate.base_lr = GENTLE
    check(partition_job(conf, 4 if net == "replicas" else 3))


@pytest.mark.parametrize("rule", UPDATERS)
@pytest.mark.parametrize("net", ["skip", "replicas"])
def test_any_updater_updates_with_delayed_gradients(net: str, rule: str) -> None:
    conf = delayed(*NETS[net])
    conf.updater.Clear()
    text_format.Merge(
        UPDATERS[rule]
        + f" learning_rate {{ type: kStep base_lr: {GENTLE} step_conf {{ gamma: 0.5 change_freq: 5 }} }}",
        conf.updater,
    )
    check(partition_job(conf, 4 if net == "replicas" else 3))


def test_activations_may_be_computed_again() -> None:
    conf = chain(3)
    conf.neuralnet.recompute = True
    check(partition_job(conf, 3))


def test_parameters_that_are_updated_together_wait_for_the_slowest() -> None:
    assert parameter_delays(partition_job(delayed(*TIED), 3)) == {
        "a/weight": 2,
        "a/bias": 2,
        "b/weight": 1,
        "b/bias": 1,
        "top/bias": 0,
    }
    assert align_delays({"a": 2, "b": 1, "c": 0, "d": 0}, [("b", "c"), ("a", "b")]) == {"a": 2, "b": 2, "c": 2, "d": 0}


def test_a_drained_step_is_a_step_without_delay() -> None:
    """With a pause behind each step nothing is delayed: plain SGD."""
    drained, plain = (
        played(partition_job(chain(3), 3), frozenset(range(STEPS))),
        Ensemble(partition_job(chain(3), 1, uncut=True)),
    )
    plain.initialise()
    for step in range(STEPS):
        plain.step("train", step)
    for parameter in drained.partition.parameters:
        assert np.abs(drained.parameter(parameter.name) - plain.parameter(parameter.name)).max() < DIGITS


def test_a_pause_empties_the_pipeline_and_fills_it_with_the_newest_weights() -> None:
    """What is trained after a pause depends on the parameters alone, as after a restart from a checkpoint."""
    cut = partition_job(chain(3), 3)
    paused, first = played(cut, frozenset({4})), Ensemble(cut)
    first.initialise()
    for step in range(5):
        first.step("train", step, drain=step == 4)
    again = Ensemble(cut)
    for fresh, old in zip(again.players, first.players, strict=True):
        for h in range(len(fresh.program.holdings)):
            fresh.parameters.values(h)[...] = old.parameters.values(h)
    for step in range(5, STEPS):
        again.step("train", step, drain=step == STEPS - 1)
    for parameter in cut.parameters:
        assert np.array_equal(paused.parameter(parameter.name), again.parameter(parameter.name))


def test_a_stage_holds_a_version_for_each_mini_batch_under_way() -> None:
    cut = partition_job(chain(4), 4)
    programs = [compile_worker(cut, worker) for worker in range(4)]
    assert [program.versions for program in programs] == [4, 3, 2, 1]
    held = [(WIDTH + 1) * WIDTH * 8 * more for more in (3, 2, 1, 0)]
    assert [program.version_bytes for program in programs] == held
    plain = chain(4)
    plain.neuralnet.schedule = Schedule.ONE_F_ONE_B
    alone = [compile_worker(partition_job(plain, 4), worker) for worker in range(4)]
    assert [p.fixed_bytes - a.fixed_bytes for p, a in zip(programs, alone, strict=True)] == held
    assert all(p.arena_bytes >= a.arena_bytes for p, a in zip(programs, alone, strict=True))


def test_delays_are_counted_from_the_loss() -> None:
    stages = StageGraph(partition_job(delayed(*SHAPES["skip"]), 3).graph, delayed=True)
    assert {stage.team: stages.delay(stage) for stage in stages.before} == {0: 2, 1: 1, 2: 0}
    assert stages.depth == 2
    assert StageGraph(stages.graph).depth == 0


@pytest.mark.parametrize(("workers", "stages"), [(4, 2), (3, 3)])
def test_a_scheme_of_stages_can_be_delayed(workers: int, stages: int) -> None:
    conf = chain(3)
    for each in conf.neuralnet.layer:
        each.ClearField("location")
    conf.neuralnet.stages = stages
    check(partition_by_scheme(conf, workers, scheme="PIPELINE"))


def test_turns_follow_each_other_without_a_pause() -> None:
    """But for the ends, where the pipeline is filled and drained, no stage waits."""
    cut = partition_job(chain(3), 3)
    played = delayed_run([StageGraph(micro.graph, delayed=True) for micro in cut.phases["train"]], 5)
    assert [text(played, team) for team in range(3)] == [
        "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4",
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4",
    ]
    for team in range(3):
        own = [each for each in played if each.turn.stage.team == team]
        first = next(i for i, each in enumerate(own) if each.turn.backward)
        last = max(i for i, each in enumerate(own) if not each.turn.backward)
        assert all(a.end == b.start for a, b in pairwise(own[first : last + 1]))
    assert max(each.end for each in played) == 5 * 3 + 2 * 3
    assert len(simulate_schedule(cut)) == 2 * 3 * 6


def test_what_is_under_way_can_be_rehearsed() -> None:
    for conf, workers in ((chain(4), 4), (delayed(*SHAPES["skip"]), 3), (delayed(*TIED), 3)):
        tabulate_partition(partition_job(conf, workers))
