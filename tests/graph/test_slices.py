"""kSlice and kConcate written by hand: who reads which part and what it holds; N workers compute what one does."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.write_plan import write_plan
from netpart.proto.job_pb2 import JobProto, Phase
from netpart.proto.reader import Job, read_job_text
from netpart.trained.session import upstream_job
from netpart.worker.ensemble import Ensemble

FULL = """innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } }"""
ROWS = f"""
name: "halves of a batch" train_one_batch {{ alg: kBP }} seed: 3 dtype: FLOAT64
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
neuralnet {{
  layer {{
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf {{ shape: 6 batchsize: 8 }} synthetic_conf {{ classes: 4 }}
  }}
  layer {{ name: "halves" type: kSlice srclayers: "data" slice_conf {{ slice_dim: 0 num_slices: 2 }} }}
  layer {{ name: "second" type: kInnerProduct srclayers: "halves" {FULL} }}
  layer {{ name: "first" type: kInnerProduct srclayers: "halves" {FULL} }}
  layer {{ name: "loss of second" type: kSoftmaxLoss srclayers: "second" srclayers: "halves" }}
  layer {{ name: "loss of first" type: kSoftmaxLoss srclayers: "first" srclayers: "halves" }}
  layer {{ name: "both" type: kConcate srclayers: "second" srclayers: "first" concate_conf {{ concate_dim: 0 }} }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "both" srclayers: "data" }}
}}
"""
"""The first reader, "second", reads the first half."""

FEATURES = ROWS.replace("slice_dim: 0", "slice_dim: 1").replace("concate_dim: 0", "concate_dim: 1")
"""Each half of the features has a net of its own; the labels are those of all rows."""


def played(job: JobProto, workers: int) -> Ensemble:
    found = Ensemble(partition_by_scheme(job, workers), poison=True)
    found.initialise()
    for step in range(3):
        found.step("train", step)
    return found


def proto(text: str, *replaced: tuple[str, str]) -> JobProto:
    for old, new in replaced:
        text = text.replace(old, new)
    return read_job_text(text).proto


def value(found: Ensemble, layer: str, output: int = 0) -> np.ndarray:
    return np.asarray(found.activation("train", layer, output))


def softmax_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-logs[np.arange(len(labels)), labels].mean())


def test_readers_get_parts_in_the_order_of_the_job() -> None:
    found = Ensemble(partition_by_scheme(proto(ROWS), 1), keep=True)
    found.initialise()
    metrics = found.step("train", 0)
    x, labels = value(found, "data"), value(found, "data", 1)
    for part, (name, net, rows) in enumerate([("halves", "second", slice(0, 4)), ("halves[1]", "first", slice(4, 8))]):
        assert np.array_equal(value(found, name), x[rows]), part
        assert np.array_equal(value(found, name, 1), labels[rows])
        expected = softmax_loss(value(found, net), labels[rows].astype(int))
        assert metrics[f"loss of {net}/loss"] == pytest.approx(expected, rel=1e-12)
    assert np.array_equal(value(found, "both"), np.concatenate([value(found, "second"), value(found, "first")]))


def test_of_features_each_part_has_all_labels() -> None:
    job = proto(FEATURES, ('layer { name: "loss" type: kSoftmaxLoss srclayers: "both" srclayers: "data" }', ""))
    found = Ensemble(partition_by_scheme(job, 1), keep=True)
    found.initialise()
    found.step("train", 0)
    assert np.array_equal(np.hstack([value(found, "halves"), value(found, "halves[1]")]), value(found, "data"))
    assert np.array_equal(value(found, "halves[1]", 1), value(found, "data", 1))
    assert value(found, "both").shape == (8, 8)


@pytest.mark.parametrize("text", [ROWS, FEATURES], ids=["rows", "features"])
@pytest.mark.parametrize(
    "cut",
    [
        "partition_dim: 0",
        "partition_dim: 1",
        "scheme: DATA",
        "scheme: COLUMN_ROW",
        "partition_dim: 0 remainder: SPREAD",
    ],
)
@pytest.mark.parametrize("workers", [2, 3])
def test_several_workers_compute_what_one_does(text: str, cut: str, workers: int) -> None:
    job = proto(text, ("neuralnet {", f"neuralnet {{ {cut}"))
    whole, parts = played(proto(text), 1), played(job, workers)
    for parameter in whole.partition.parameters:
        expected, got = whole.parameter(parameter.name), parts.parameter(parameter.name)
        assert np.allclose(got, expected, rtol=1e-11, atol=1e-14), parameter.name


def test_a_slice_on_a_worker_of_its_own_and_a_split_of_it() -> None:
    """A kSplit reads a part for several layers, with its labels."""
    split = 'layer { name: "part" type: kSplit srclayers: "halves" location: 1 }\n  layer { name: "second"'
    replaced = (
        ('layer { name: "second"', split),
        (
            'name: "second" type: kInnerProduct srclayers: "halves"',
            'name: "second" type: kInnerProduct srclayers: "part"',
        ),
        ('srclayers: "second" srclayers: "halves"', 'srclayers: "second" srclayers: "part"'),
        ('srclayers: "first" srclayers: "halves"', 'srclayers: "first" srclayers: "other"'),
        ('layer { name: "first"', 'layer { name: "other" type: kSplit srclayers: "halves" }\n  layer { name: "first"'),
        (
            'name: "first" type: kInnerProduct srclayers: "halves"',
            'name: "first" type: kInnerProduct srclayers: "other"',
        ),
    )
    whole, parts = played(proto(ROWS), 1), played(proto(ROWS, *replaced), 2)
    for parameter in whole.partition.parameters:
        assert np.allclose(parts.parameter(parameter.name), whole.parameter(parameter.name), rtol=1e-11, atol=1e-14)


def test_a_part_that_nobody_reads_has_no_gradient() -> None:
    """Of three slices of a layer's neurons two are read; on two workers the second holds the third."""
    hidden = f'layer {{ name: "hidden" type: kInnerProduct srclayers: "data" {FULL.replace("4 }", "9 }")} }}'
    replaced = (
        ('  layer { name: "halves"', f'  {hidden}\n  layer {{ name: "halves"'),
        (
            'srclayers: "data" slice_conf { slice_dim: 1 num_slices: 2',
            'srclayers: "hidden" slice_conf { slice_dim: 1 num_slices: 3',
        ),
        ('srclayers: "second" srclayers: "halves"', 'srclayers: "second" srclayers: "data"'),
        ('srclayers: "first" srclayers: "halves"', 'srclayers: "first" srclayers: "data"'),
        ('layer { name: "loss" type: kSoftmaxLoss srclayers: "both" srclayers: "data" }', ""),
    )
    job = partial(proto, FEATURES, *replaced)
    whole, parts = played(job(), 1), played(job(("neuralnet {", "neuralnet { partition_dim: 1")), 2)
    assert not whole.parameter("hidden/weight", True)[6:].any()
    for parameter in whole.partition.parameters:
        assert np.allclose(parts.parameter(parameter.name), whole.parameter(parameter.name), rtol=1e-11, atol=1e-14)


def test_a_plan_places_all_parts_alike_and_is_read_again() -> None:
    job = read_job_text(ROWS)
    cut = partition_by_scheme(job.proto, 2, scheme="DATA")
    net = cut.graph.net
    halves = [cut.graph.placements[net.by_name[name].index] for name in ("halves", "halves[1]")]
    assert halves[0] == halves[1]
    again = partition_by_scheme(
        read_job_text(write_plan(Job(job.proto, None, "job", ""), cut, "a test", Path())).proto, 2
    )
    assert again.graph.placements == cut.graph.placements


def test_who_reads_what_does_not_depend_on_the_phase_or_on_what_else_is_built() -> None:
    tested = proto(ROWS, ('name: "second" type', 'name: "second" include: kTrain type'))
    for layer in tested.neuralnet.layer:
        if layer.name in ("both", "loss", "loss of second"):
            layer.include.append(Phase.kTrain)
    net = build_net(tested, "test")
    read = net.nodes[net.by_name["first"].sources[0].node]
    assert read.name == "halves[1]"
    found = build_net(upstream_job(tested, ["first"]), "test")
    assert found.nodes[found.by_name["first"].sources[0].node].name == "halves[1]"


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        (("num_slices: 2", "num_slices: 1"), r"halves: expected a reader for each of 1 slices, got 2 readers; write"),
        (("num_slices: 2", "num_slices: 3"), r"halves: expected slices of equal extent, got 3 of 8; the shape of its"),
        (("neuralnet {", "neuralnet { micro_batches: 2"), r"halves: expected the rows of a whole mini-batch, to slice"),
        (("concate_dim: 0", "concate_dim: 2"), r"both: expected concate_dim from 0 to 1, got 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(replaced: tuple[str, str], told: str) -> None:
    job = read_job_text(ROWS.replace(*replaced))
    with pytest.raises(ConfigError, match=told), job.explaining():
        partition_by_scheme(job.proto, 2)


def test_sizes_are_those_of_the_rows_that_a_layer_has() -> None:
    """Half of 8 rows, cut 1 and 3; not in proportion to the rows of the batch."""
    sizes = 'name: "first" type: kInnerProduct cut { axis: 0 sizes: 1 sizes: 3 }'
    cut = partition_by_scheme(proto(ROWS, ('name: "first" type: kInnerProduct', sizes)), 2)
    placement = cut.graph.placements[cut.graph.net.by_name["first"].index]
    assert [shard.region[0] for shard in placement.shards] == [(0, 1), (1, 4)]


LABELLED = f"""
name: "labels" train_one_batch {{ alg: kBP }} test_steps: 1 seed: 3 dtype: FLOAT64
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
neuralnet {{
  layer {{ name: "data" type: kSyntheticInput store_conf {{ shape: 6 batchsize: 8 }} synthetic_conf {{ classes: 4 }} }}
  layer {{ name: "halves" type: kSlice srclayers: "data" slice_conf {{ slice_dim: 0 num_slices: 2 }} }}
  layer {{ name: "ip" type: kInnerProduct srclayers: "halves" {FULL} }}
  layer {{ name: "accuracy" type: kAccuracy srclayers: "ip" srclayers: "halves" }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "halves" }}
}}
"""
SECOND = f'layer {{ name: "second" type: kInnerProduct srclayers: "halves" {FULL} }}'
BOTH = 'layer { name: "both" type: kConcate srclayers: "ip" srclayers: "second" concate_conf { concate_dim: 0 } }'


def sources_of(job: JobProto, layer: str, phase: str = "train") -> list[str]:
    net = build_net(job, phase)
    return [net.nodes[source.node].name for source in net.by_name[layer].sources]


def test_labels_are_those_of_the_part_that_the_scores_come_from() -> None:
    """An accuracy before the loss takes nothing from it; the loss of the second half has the labels of that."""
    more = f'{SECOND} layer {{ name: "late" type: kSoftmaxLoss srclayers: "second" srclayers: "halves" }}'
    job = proto(LABELLED, ('layer { name: "accuracy"', f'{more}\n  layer {{ name: "accuracy"'))
    assert sources_of(job, "accuracy") == sources_of(job, "loss") == ["ip", "halves"]
    assert sources_of(job, "late") == ["second", "halves[1]"]
    accuracy = 'layer { name: "accuracy" type: kAccuracy srclayers: "ip" srclayers: "halves" }'
    with_accuracy, without = played(proto(LABELLED), 1), played(proto(LABELLED, (accuracy, "")), 1)
    for parameter in without.partition.parameters:
        assert np.array_equal(with_accuracy.parameter(parameter.name), without.parameter(parameter.name))
    assert [node.name for node in build_net(proto(LABELLED)).nodes] == ["data", "halves", "ip", "accuracy", "loss"]


def test_of_features_labels_are_read_of_any_scores() -> None:
    """All parts have the labels of all rows."""
    job = proto(FEATURES, ('srclayers: "both" srclayers: "data"', 'srclayers: "both" srclayers: "halves"'))
    assert sources_of(job, "loss") == ["both", "halves"]


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        (
            ('layer { name: "loss" type: kSoftmaxLoss srclayers: "ip"',
             f'{SECOND} {BOTH} layer {{ name: "loss" type: kSoftmaxLoss srclayers: "both"'),
            r":\d+:\d+: loss: expected scores from one part of halves, to judge by its labels, got scores from "
            r"halves and halves\[1\]; read the labels of all rows from data, or those of one part from a kSplit",
        ),
        (
            ('name: "ip" type: kInnerProduct srclayers: "halves"', 'name: "ip" type: kInnerProduct srclayers: "data"'),
            r"loss: expected scores from one part of halves, .* got scores from none of its parts; read the labels",
        ),
        (
            ('layer { name: "accuracy"', f'{SECOND.replace("second", "halves[1]")} layer {{ name: "accuracy"'),
            r":\d+:\d+: halves\[1\]: expected a name of its own, got that of a part of kSlice halves; rename one",
        ),
    ],
    ids=["several", "none", "name"],
)  # fmt: skip
def test_ambiguous_labels_and_names_are_refused(replaced: tuple[str, str], told: str) -> None:
    job = read_job_text(LABELLED.replace(*replaced))
    with pytest.raises(ConfigError, match=told), job.explaining():
        build_net(job.proto)


def test_parts_are_counted_in_each_phase() -> None:
    """A reader of the test net alone reads what that of the training net does, and adds nothing to it."""
    tested = 'name: "ip" include: kTrain type: kInnerProduct'
    second = SECOND.replace('"second"', '"second" include: kTest')
    trained = [(f'name: "{name}" type', f'name: "{name}" include: kTrain type') for name in ("accuracy", "loss")]
    more = ('layer { name: "accuracy"', f'{second} layer {{ name: "accuracy"')
    job = proto(LABELLED, more, ('name: "ip" type: kInnerProduct', tested), *trained)
    assert sources_of(job, "ip") == ["halves"]
    assert sources_of(job, "second", "test") == ["halves"]
    assert not any("[1]" in node.name for phase in ("train", "test") for node in build_net(job, phase).nodes)


def test_a_layer_that_is_written_for_each_phase_reads_one_part_in_all() -> None:
    """Of three readers, the first of training only: the layer behind it reads the second part in both phases."""
    again = [SECOND.replace('"second"', f'"second" include: {phase}') for phase in ("kTrain", "kTest")]
    trained = [(f'name: "{n}" type', f'name: "{n}" include: kTrain type') for n in ("ip", "accuracy", "loss")]
    job = proto(LABELLED, ('layer { name: "accuracy"', f'{" ".join(again)} layer {{ name: "accuracy"'), *trained)
    assert sources_of(job, "second") == sources_of(job, "second", "test") == ["halves[1]"]


def test_a_part_is_built_in_the_phases_that_read_it() -> None:
    tested = SECOND.replace('"second"', '"second" include: kTest')
    job = proto(LABELLED, ('layer { name: "accuracy"', f'{tested} layer {{ name: "accuracy"'))
    assert sources_of(job, "second", "test") == ["halves[1]"]
    assert "halves[1]" not in build_net(job).by_name
