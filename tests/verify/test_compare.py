"""The comparison finds what is wrong, names where it began, and finds nothing where nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.errors import ConfigError, DataError
from netpart.graph.partition import Partition, partition_job
from netpart.launch.ensemble import Ensemble
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import load, loads
from netpart.resources import zoo_folder
from netpart.verify.compare import Bench, Comparison, Report, error, uncut, verify

JOB = """
dtype: FLOAT64 train_steps: 1 test_steps: 1
updater { type: kSGD momentum: 0.5 learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 7 shape: 6 } synthetic_conf { classes: 3 } }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "data" partition_dim: 1 innerproduct_conf { num_output: 5 }
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant value: 0 } }
  }
  layer { name: "drop" type: kDropout srclayers: "fc1" }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "drop" innerproduct_conf { num_output: 3 }
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant value: 0 } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" }
}
"""

RECORDS = 'kRecordInput store_conf { path: "absent.bin"'


def job_of(*overrides: str) -> JobProto:
    return loads(JOB, overrides=overrides).proto


def bench_of(job: JobProto, cut: Partition | None = None) -> Bench:
    cut = cut or partition_job(job, 3)
    return Bench(Ensemble(cut, keep=True), Ensemble(uncut(job, None), keep=True), 1e-11)


def first_of(bench: Bench) -> Comparison:
    return next(c for c in bench.play(2) if not c.holds)


@pytest.mark.parametrize("micro_batches", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_right_cut_agrees(workers: int, micro_batches: int) -> None:
    report = verify(job_of(f"neuralnet.micro_batches={micro_batches}"), workers, steps=2)
    assert report.holds
    assert (report.workers, report.steps, report.dtype) == (workers, 2, "float64")
    assert report.micro_batches == micro_batches
    assert {c.phase for c in report.comparisons} == {"train", "test"}


def test_everything_is_compared_in_the_order_of_computation() -> None:
    compared = [(c.kind, c.layer, c.name) for c in bench_of(job_of()).play(1) if c.phase == "train"]
    assert compared == [
        *(("activation", layer, name) for layer, name in (("data", "data"), ("data", "label"))),
        *(("activation", layer, layer) for layer in ("fc1", "drop", "fc2", "loss")),
        ("metric", "loss", "loss"), ("metric", "loss", "accuracy"),
        ("gradient", "fc2", "fc2"), ("parameter gradient", "fc2", "w"), ("parameter gradient", "fc2", "b"),
        ("gradient", "drop", "drop"),
        ("gradient", "fc1", "fc1"), ("parameter gradient", "fc1", "w"), ("parameter gradient", "fc1", "b"),
        *(("parameter", layer, name) for layer in ("fc1", "fc2") for name in "wb"),
    ]  # fmt: skip


def test_a_wrong_value_is_found_where_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(job_of())
    right = bench.cut.initialise

    def wrong() -> None:
        right()
        player = bench.cut.players[2]
        (h,) = (h for h, held in enumerate(player.program.holdings) if held.parameter.name == "fc2/b")
        player.parameter(h)[0] += 1e-6

    monkeypatch.setattr(bench.cut, "initialise", wrong)
    first = first_of(bench)
    assert (first.step, first.kind, first.layer) == (0, "activation", "fc2")


def test_gradients_that_are_not_summed_are_found_in_backward() -> None:
    job = job_of()
    cut = partition_job(job, 3)
    cut.buckets = []
    first = first_of(bench_of(job, cut))
    assert (first.step, first.kind, first.layer, first.name) == (0, "parameter gradient", "fc2", "w")


def test_a_wrong_update_is_found_in_the_parameter() -> None:
    first = first_of(bench_of(job_of(), partition_job(job_of("updater.learning_rate.base_lr=0.2"), 3)))
    assert (first.step, first.kind, first.layer, first.name) == (0, "parameter", "fc1", "w")
    assert str(first).startswith("fc1: parameter w in train step 0: error ")


def test_other_randomness_is_found_where_it_is_drawn() -> None:
    job = job_of()
    bench = Bench(Ensemble(partition_job(job, 3), keep=True), Ensemble(uncut(job, None), seed=2, keep=True), 1e-11)
    first = first_of(bench)
    assert (first.step, first.kind, first.layer) == (0, "activation", "data")


@pytest.mark.parametrize(
    ("found", "expected", "is_error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([3.0, 4.0], [0.0, 0.0], 5e3),
        ([0.0, 5.5], [0.0, 5.0], 0.1),
        ([np.nan, 0.0], [0.0, 0.0], np.inf),
        ([0.0, 0.0], [np.nan, 0.0], np.inf),
        ([0.0], [0.0, 0.0], np.inf),
        (None, [0.0], np.inf),
    ],
)
def test_the_error_is_relative_and_never_hides_what_is_no_number(found: Any, expected: Any, is_error: float) -> None:
    values = None if found is None else np.array(found)
    assert error(values, np.array(expected)) == pytest.approx(is_error)


def test_a_report_is_json() -> None:
    comparisons = (
        Comparison("train", 0, "activation", "a", "a", 0.0, 1e-11),
        Comparison("train", 0, "gradient", "a", "a", float("inf"), 1e-11),
        Comparison("train", 1, "gradient", "a", "a", 1e-3, 1e-11),
    )
    report = Report("net", 3, 2, "float64", 1, comparisons)
    read = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (read["holds"], read["first"]) == (False, "a: gradient in train step 0: error inf, bound 1e-11")
    assert [(c["error"], c["holds"]) for c in read["comparisons"]] == [(0.0, True), (None, False), (1e-3, False)]
    assert report.worst == {("a", "activation"): 0.0, ("a", "gradient"): float("inf")}


def test_what_cannot_run_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a way to fill the parameter"):
        verify(loads(JOB.replace("init { type: kUniform }", "", 1)).proto, 2)
    with pytest.raises(DataError, match=r"^data: .*absent\.bin: expected a data file"):
        verify(loads(JOB.replace("kSyntheticInput store_conf {", RECORDS)).proto, 2)


@pytest.mark.parametrize("name", ["mlp/column-row", "halo/conv-rows"])
def test_jobs_of_the_zoo_without_data_agree(name: str) -> None:
    job = load(zoo_folder() / f"{name}.conf", ["dtype=FLOAT64"])
    assert verify(job.proto, 2, 1, job.folder).holds
