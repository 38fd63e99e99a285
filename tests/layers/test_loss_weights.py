"""Class weights, ignored labels and the mean by weights of kSoftmaxLoss: formulas, every cut, files."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import netpart
from netpart.errors import ConfigError, NetpartError
from netpart.graph.partition import partition_job
from netpart.graph.ready import check_ready
from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.spec import INT, Spec
from netpart.testing.play_part import LayerData, play_part
from netpart.worker.ensemble import Ensemble
from tests.laws.cases import layer_proto
from tests.thorough import sampled

WEIGHTS = (0.5, 2.0, 0.0, 1.25, 3.0)
CLASSES = len(WEIGHTS)
ROWS = 6
PLACES = 4
WEIGHED = " ".join(f"class_weight: {weight}" for weight in WEIGHTS)
MEAN = "normalisation: WEIGHTS"
SMOOTH = "label_smoothing: 0.25"
CONFS = {
    "weights": WEIGHED,
    "ignored": "ignore_index: 255",
    "ignored class": f"{WEIGHED} {SMOOTH} ignore_index: 1 topk: 2",
    "mean": f"{WEIGHED} ignore_index: -1 {MEAN}",
    "smooth mean": f"{WEIGHED} {SMOOTH} ignore_index: 255 {MEAN} scale: 0.5",
    "mean of the counted": f"ignore_index: 3 {MEAN} bits: true",
}


def label_array(conf: str, shape: tuple[int, ...], seed: int = 3) -> NDArray[Any]:
    """Labels of which some are the ignored one of ``conf``."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, shape).astype(np.int32)
    if "ignore_index" in conf:
        labels[random.random(shape) < 0.4] = int(conf.split("ignore_index: ")[1].split()[0])
    return labels


def expected_loss(x: NDArray[Any], labels: NDArray[Any], conf: str) -> tuple[float, float, NDArray[Any]]:
    """The objective, the accuracy and the gradient of the scores, row by row as in a textbook."""
    proto = layer_proto("kSoftmaxLoss", f"softmaxloss_conf {{ {conf} }}").softmaxloss_conf
    weights = np.array(proto.class_weight or [1.0] * CLASSES)
    log_p = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    total = weight = hits = counted = 0.0
    slope = np.zeros_like(x)
    for at, label in np.ndenumerate(labels):
        if proto.HasField("ignore_index") and label == proto.ignore_index:
            continue
        target = (1 - proto.label_smoothing) * np.eye(CLASSES)[label] + proto.label_smoothing / CLASSES
        target = target * weights
        total -= proto.scale * float(target @ log_p[at])
        slope[at] = proto.scale * (np.exp(log_p[at]) * target.sum() - target)
        weight += weights[label]
        counted += 1
        hits += int(label) in np.argsort(-x[at], kind="stable")[: proto.topk]
    divisor = weight if MEAN in conf else labels.size
    return total / divisor, hits / counted, slope / divisor


@pytest.mark.parametrize("conf", CONFS.values(), ids=CONFS)
def test_a_loss_is_that_of_the_textbook(conf: str) -> None:
    layer = SoftmaxLoss(
        layer_proto("kSoftmaxLoss", f"softmaxloss_conf {{ {conf} }}"),
        (Spec((ROWS, PLACES, CLASSES)), Spec((ROWS, PLACES), INT)),
    )
    x, labels = np.random.default_rng(1).normal(size=(ROWS, PLACES, CLASSES)), label_array(conf, (ROWS, PLACES))
    played = play_part(layer, LayerData([x, labels], [], np.zeros(x.shape)))
    loss, accuracy, slope = expected_loss(x, labels, conf)
    found = layer.figures(played.metrics, ROWS)
    assert found["loss"] == pytest.approx(loss, rel=1e-13)
    assert found["accuracy"] == pytest.approx(accuracy, rel=1e-13)
    assert np.allclose(played.dx[0], slope, rtol=1e-12, atol=1e-15)
    assert set(found) == {"loss", "accuracy", *(["bits"] if "bits" in conf else [])}


def classifier(conf: str, folder: Path, more: str = "", net: str = "", places: int = 0) -> JobProto:
    """A job on files in ``folder``: an inner product and a loss, cut by ``more``; ``net`` are fields of the net."""
    shape = (ROWS, places) if places else (ROWS,)
    np.save(folder / "x.npy", np.random.default_rng(5).normal(size=(ROWS, 3)))
    np.save(folder / "y.npy", label_array(conf, shape))
    outputs = max(1, places) * CLASSES
    fold = f"reshape_conf {{ shape: {places} shape: {CLASSES} }}" if places else f"reshape_conf {{ shape: {CLASSES} }}"
    ignored = " ".join(conf.split("ignore_index: ")[1:])[:3] if "ignore_index" in conf else ""
    argsort = f"argsort_conf {{ ignore_index: {ignored.split()[0]} }}" if ignored else ""
    text = f"""
    dtype: FLOAT64 seed: 2 train_steps: 2 disp_freq: 1
    updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 1 }} }}
    neuralnet {{ {net}
      layer {{ name: "data" type: kArrayInput array_conf {{ path: "{folder}/x.npy" label_path: "{folder}/y.npy"
        batchsize: {ROWS} shape: 3 {f"labels: {places}" if places else ""} }} }}
      layer {{ name: "fc" type: kInnerProduct srclayers: "data" innerproduct_conf {{ num_output: {outputs} }}
        param {{ init {{ type: kGaussian }} }} param {{ init {{ type: kGaussian }} }} }}
      layer {{ name: "fold" type: kReshape srclayers: "fc" {fold} }}
      layer {{ name: "loss" type: kSoftmaxLoss srclayers: "fold" srclayers: "data"
        softmaxloss_conf {{ {conf} }} {more} }}
      layer {{ name: "hits" type: kAccuracy srclayers: "fold" srclayers: "data" {argsort} partition_dim: 0 }}
      {"" if places else f'layer {{ name: "table" type: kConfusion srclayers: "fold" srclayers: "data" {argsort} }}'}
    }}
    cluster {{ workspace: "{folder}/ws" }}
    """
    return read_job_text(text).proto


def first_step(job: JobProto, workers: int) -> tuple[dict[str, float], NDArray[Any], NDArray[Any]]:
    """The figures of a step, the scores, and the gradient of the weight below the loss."""
    ensemble = Ensemble(partition_job(job, workers), keep=True, poison=True)
    ensemble.initialise()
    figures = ensemble.step("train", 0)
    return figures, ensemble.activation("train", "fold"), ensemble.parameter("fc/weight", gradient=True)


CUTS = {
    "rows": (3, "partition_dim: 0", ""),
    "classes": (3, "partition_dim: LAST", ""),
    "both": (4, "cut { axis: 0 parts: 2 } cut { axis: LAST parts: 2 }", ""),
    "copies": (3, "location: 0 location: 1 location: 2", ""),
    "micro-batches": (2, "partition_dim: 0", "micro_batches: 3"),
    "recompute": (2, "partition_dim: LAST", "recompute: true"),
    "a pipeline": (2, "location: 1", "micro_batches: 2"),
}


@pytest.mark.parametrize(
    ("name", "cut", "places"),
    sampled(product(("ignored class", "smooth mean", "mean of the counted"), CUTS, (0, PLACES)), 5),
)
def test_every_cut_has_the_figures_and_gradients_of_one_worker(
    name: str, cut: str, places: int, tmp_path: Path
) -> None:
    conf = CONFS[name]
    workers, more, net = CUTS[cut]
    more = more.replace("LAST", "2" if places else "1")
    if MEAN in conf and "micro" in net:
        with pytest.raises(ConfigError, match="before the first backward, got"):
            partition_job(classifier(conf, tmp_path, more, net, places), workers)
        return
    figures, scores, slope = first_step(classifier(conf, tmp_path, more, net, places), workers)
    whole, _, slope_of_one = first_step(classifier(conf, tmp_path, "", "", places), 1)
    assert figures == pytest.approx(whole, rel=1e-12)
    assert np.allclose(slope, slope_of_one, rtol=1e-11, atol=1e-14)
    labels = label_array(conf, (ROWS, places) if places else (ROWS,))
    loss, accuracy, _ = expected_loss(scores, labels, conf)
    assert figures["loss/loss"] == pytest.approx(loss, rel=1e-12)
    assert figures["loss/accuracy"] == pytest.approx(accuracy, rel=1e-12)
    if not places:
        assert figures["table/accuracy"] == pytest.approx(figures["hits/accuracy"], rel=1e-12)
    if "topk" not in conf:
        assert figures["hits/accuracy"] == pytest.approx(accuracy, rel=1e-12)


def test_a_mini_batch_without_weight_has_loss_and_gradient_0(tmp_path: Path) -> None:
    conf = f"{WEIGHED} ignore_index: 255 {SMOOTH} {MEAN}"
    for label in (2, 255):  # a class of weight 0, and none
        for workers, more in ((1, ""), (3, "partition_dim: 0"), (2, "partition_dim: 1")):
            job = classifier(conf, tmp_path, more)
            np.save(tmp_path / "y.npy", np.full(ROWS, label, np.int32))
            figures, _, slope = first_step(job, workers)
            assert figures["loss/loss"] == 0
            assert not slope.any()
            assert ("loss/accuracy" in figures) == ("table/accuracy" in figures) == (label == 2)


def test_processes_train_a_loss_that_becomes_three_layers_as_one_worker_does(tmp_path: Path) -> None:
    conf = CONFS["smooth mean"]
    cut = classifier(conf, tmp_path, "partition_dim: 1")
    assert [n.name for n in partition_job(cut, 2).graph.net.nodes][3:6] == ["weights-loss", "blocks-loss", "loss"]
    many = netpart.run(read_job_text(str(cut)), 2, workspace=tmp_path / "many")
    whole = read_job_text(str(classifier(conf, tmp_path)))
    one = netpart.run(whole, 1, launcher="threads", workspace=tmp_path / "one")
    assert many.loss == pytest.approx(one.loss, rel=1e-12)
    assert many.accuracy == pytest.approx(one.accuracy, rel=1e-12)


def test_labels_of_files_may_be_the_ignored_one_and_no_other(tmp_path: Path) -> None:
    check_ready(partition_job(classifier(CONFS["mean"], tmp_path), 1))
    job = classifier(CONFS["mean"], tmp_path)
    np.save(tmp_path / "y.npy", np.array([0, 1, -1, 2, 7, -1], np.int32))
    with pytest.raises(NetpartError, match=r"y\.npy: row 4: expected a label from 0 to 4, got 7"):
        check_ready(partition_job(job, 1))
    with pytest.raises(NetpartError, match="expected classes 0 to 4 or -1, which is ignored, got 7"):
        first_step(job, 1)


def test_a_layer_that_does_not_ignore_a_label_refuses_it(tmp_path: Path) -> None:
    job = classifier(CONFS["ignored"], tmp_path)
    job.neuralnet.layer[4].ClearField("argsort_conf")
    with pytest.raises(NetpartError, match="expected a label from 0 to 4, got 255"):
        check_ready(partition_job(job, 1))


REFUSED = {
    "4 weights for 5 classes": ("class_weight: 1 " * 4, "expected 5 class weights, as there are classes, got 4"),
    "below 0": (WEIGHED.replace("2.0", "-2"), "expected a class weight of at least 0, got -2"),
    "no number": (WEIGHED.replace("2.0", "inf"), "expected a finite number, got inf"),
    "nothing counts": ("class_weight: 0 " * 5, "expected a class weight above 0, got only 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_weights_that_do_not_fit_are_refused_at_their_place(case: str, tmp_path: Path) -> None:
    conf, message = REFUSED[case]
    with pytest.raises(NetpartError, match=message) as caught:
        partition_job(classifier(conf, tmp_path), 1)
    assert caught.value.at[:5] == ("neuralnet", "layer", 3, "softmaxloss_conf", "class_weight")  # type: ignore[attr-defined]


def test_a_confusion_has_no_topk(tmp_path: Path) -> None:
    job = classifier("", tmp_path)
    job.neuralnet.layer[5].argsort_conf.topk = 2
    with pytest.raises(ConfigError, match="expected no topk"):
        partition_job(job, 1)
