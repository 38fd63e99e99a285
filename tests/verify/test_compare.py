"""The comparison finds what is wrong, names where it began, and finds nothing where nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netpart.errors import ConfigError, DataError
from netpart.graph.partition import Partition, partition_job
from netpart.graph.uncut import partition_uncut
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder
from netpart.verify.bench import ComparisonBench
from netpart.verify.compare import compare_nets, verify_job, verify_schemes
from netpart.verify.report import ACTIVATION, BITWISE, METRIC, REORDERED, SEMANTIC, TensorComparison
from netpart.worker.ensemble import Ensemble

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

SYNTHETIC = "kSyntheticInput store_conf { batchsize: 7 shape: 6 } synthetic_conf { classes: 3 }"
RECORDS = 'kRecordInput store_conf { path: "absent.bin" batchsize: 7 shape: 6 }'


def job_of(*overrides: str) -> JobProto:
    return read_job_text(JOB, overrides=overrides).proto


def bench_of(job: JobProto, cut: Partition | None = None) -> ComparisonBench:
    cut = cut or partition_job(job, 3)
    return ComparisonBench(Ensemble(cut, keep=True), Ensemble(partition_uncut(job), keep=True))


def first_of(bench: ComparisonBench) -> TensorComparison:
    return next(c for c in bench.play(2) if c.category == SEMANTIC)


@pytest.mark.parametrize("micro_batches", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_right_cut_agrees(workers: int, micro_batches: int) -> None:
    report = verify_job(job_of(f"neuralnet.micro_batches={micro_batches}"), workers, steps=2)
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
        player.parameters.values(h)[0] += 1e-6

    monkeypatch.setattr(bench.cut, "initialise", wrong)
    first = first_of(bench)
    assert (first.step, first.kind, first.layer) == (0, "activation", "fc2")


def test_gradients_that_are_not_summed_are_found_in_backward() -> None:
    job = job_of()
    cut = replace(partition_job(job, 3), buckets=[])
    first = first_of(bench_of(job, cut))
    assert (first.step, first.kind, first.layer, first.name) == (0, "parameter gradient", "fc2", "w")


def test_a_wrong_update_is_found_in_the_parameter() -> None:
    first = first_of(bench_of(job_of(), partition_job(job_of("updater.learning_rate.base_lr=0.2"), 3)))
    assert (first.step, first.kind, first.layer, first.name) == (0, "parameter", "fc1", "w")
    assert str(first).startswith("fc1: parameter w in train step 0: error ")


def test_other_randomness_is_found_where_it_is_drawn() -> None:
    job = job_of()
    bench = ComparisonBench(
        Ensemble(partition_job(job, 3), keep=True), Ensemble(partition_uncut(job), seed=2, keep=True)
    )
    first = first_of(bench)
    assert (first.step, first.kind, first.layer) == (0, "activation", "data")


def test_a_copy_that_drifts_is_found_among_right_ones() -> None:
    """Only one of three workers holds a wrong copy of the bias; the others, before and behind it, are right."""
    for wrong in range(3):
        bench = bench_of(job_of("fc1.partition_dim=-1", "neuralnet.partition_dim=0"))
        for ensemble in (bench.cut, bench.whole):
            ensemble.initialise()
        player = bench.cut.players[wrong]
        (h,) = (h for h, held in enumerate(player.program.holdings) if held.parameter.name == "fc2/b")
        player.parameters.values(h)[1] -= 1e-6
        drifted = [c for c in bench.step("train", 0) if (c.kind, c.name) == ("parameter", "b")][-1]
        assert (drifted.layer, drifted.category) == ("fc2", SEMANTIC)


def test_the_layers_in_front_of_every_cut_are_bitwise() -> None:
    report = verify_job(job_of("fc1.partition_dim=-1"), 3, steps=1)
    assert report.kinds["data", "activation"].worst.category == BITWISE
    assert report.kinds["fc1", "activation"].worst.terms == 0
    assert report.kinds["fc1", "parameter gradient"].worst.terms > 0
    assert report.first is None


def test_a_net_in_one_piece_is_bitwise_throughout() -> None:
    report = verify_job(job_of(), 1)
    assert {c.category for c in report.comparisons} == {BITWISE}
    assert {c.terms for c in report.comparisons if c.kind != "metric"} == {0}


def test_sums_in_another_order_are_reordered_sums() -> None:
    """16 workers add up two products each: no order of theirs is that of the uncut product."""
    cut, wide = (
        "cut { over: INPUT parts: 16 } innerproduct_conf { num_output: 3 }",
        "innerproduct_conf { num_output: 32 }",
    )
    job = JOB.replace("innerproduct_conf { num_output: 3 }", cut).replace("innerproduct_conf { num_output: 5 }", wide)
    report = verify_job(
        read_job_text(job, overrides=["neuralnet.partition_dim=-1", "fc1.partition_dim=-1"]).proto, 16, steps=1
    )
    found = next(c for c in report.comparisons if (c.layer, c.kind) == ("fc2", "activation"))
    assert (found.category, found.terms) == (REORDERED, 33)
    assert 0 < found.difference.relative <= found.bound
    assert report.holds
    assert report.first is None


def test_schemes_are_verified_one_by_one() -> None:
    job = read_job_text(JOB.replace("partition_dim: 1", "")).proto
    found = list(verify_schemes(job, 2, ["SEQUENTIAL", "DATA"], steps=1))
    assert [(s.scheme, s.report.holds) for s in found] == [("SEQUENTIAL", True), ("DATA", True)]
    assert found[0].nbytes == 0 < found[1].nbytes
    assert found[0].report.whole.worst.category == BITWISE
    assert found[1].to_json()["bytes"] == found[1].nbytes


def test_two_partitions_are_compared_as_they_are() -> None:
    """The second is trained faster: its parameters differ, and what the next step makes of them."""
    fast = job_of("updater.learning_rate.base_lr=0.2")
    report = compare_nets(partition_job(fast, 3), partition_uncut(job_of()), steps=2)
    assert not report.holds
    assert report.first is not None
    assert (report.first.step, report.first.kind, report.first.layer) == (0, "parameter", "fc1")


def test_what_cannot_run_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a way to fill the parameter"):
        verify_job(read_job_text(JOB.replace("init { type: kUniform }", "", 1)).proto, 2)
    with pytest.raises(DataError, match=r"^data: .*absent\.bin: expected a data file"):
        verify_job(read_job_text(JOB.replace(SYNTHETIC, RECORDS)).proto, 2)


@pytest.mark.parametrize("name", ["mlp/column-row", "halo/conv-rows"])
def test_jobs_of_the_zoo_without_data_agree(name: str) -> None:
    job = read_job(zoo_folder() / f"{name}.conf", ["dtype=FLOAT64"])
    assert verify_job(job.proto, 2, 1, job.folder).holds


@pytest.mark.parametrize(("dtype", "errs"), [("FLOAT32", True), ("FLOAT64", False)])
def test_float32_is_held_against_what_the_uncut_net_errs(dtype: str, errs: bool) -> None:
    report = verify_job(job_of(f"dtype={dtype}"), 2, steps=1)
    errors = {c.name: c.error for c in report.comparisons if c.kind in (ACTIVATION, METRIC)}
    assert (0 < errors["fc1"] < 1e-6, 0 < errors["loss"] < 1e-6) == (errs, errs)
    assert report.holds
