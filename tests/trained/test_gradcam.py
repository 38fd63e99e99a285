"""Grad-CAM: gradients are those of the score, maps those of the paper, and a net that looks at a place is shown to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.trained.gradcam import METHODS, SampleExplainer, class_activation_map, explain_sample
from netpart.trained.session import Session
from tests.datasets.samples import image_store, pixels, scans
from tests.house.tree import ROOT

GRAPHS = ROOT / "graphs"
FAMILIES = ["resattnet/resattnet18-small", "resnet/resnet18-small", "unet/unet3d-small", "vgg/vgg16-small"]

TINY = """
name: "tiny" train_steps: 1 train_one_batch {{ alg: kBP }}
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
neuralnet {{
  layer {{ name: "data" {input} }}
  layer {{ name: "conv" type: kConvolution srclayers: "data"
    convolution_conf {{ num_filters: 2 kernel: 1 spatial_axes: {axes} }}
    param {{ init {{ type: kConstant value: 1 }} }} }}
  layer {{ name: "norm" type: kBM srclayers: "conv" param {{ init {{ type: kConstant value: 2 }} }} }}
  layer {{ name: "relu" type: kReLU srclayers: "norm" }}
  layer {{ name: "drop" type: kDropout srclayers: "relu" }}
  layer {{ name: "mean" type: kGlobalPooling srclayers: "drop" }}
  layer {{ name: "fc" type: kInnerProduct srclayers: "mean" innerproduct_conf {{ num_output: 2 }}
    param {{ init {{ type: kGaussian std: 0.5 }} }} param {{ init {{ type: kConstant value: 0 }} }} }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: ["fc", "data"] }}
}}
"""
FLAT = "type: kSyntheticInput store_conf { batchsize: 2 shape: [1, 6, 5] } synthetic_conf { classes: 2 }"
DEEP = 'type: kNiftiInput nifti_conf { path: "ad-nc-test.csv" batchsize: 1 shape: [3, 4, 3] }'
STORED = 'type: kRecordInput store_conf { path: "images.bin" batchsize: 2 shape: [1, 6, 5] }'


def tiny(given: str = FLAT, axes: int = 2) -> Job:
    return read_job_text(TINY.format(input=given, axes=axes))


def session(job: Job, scores: str = "fc") -> Session:
    job.proto.dtype = JobProto.FLOAT64
    found = Session(job, [scores], score=scores)
    sample = np.random.default_rng(2).normal(size=found.input("data").outputs[0].shape)
    found.run({"data": sample})
    return found


def score_beyond(job: Job, layer: str, step: Any, target: int) -> float:
    """The score of a net whose layer ``layer`` gives ``step`` more than it does, by its bias."""
    moved = session(job)
    moved.player.parameters.values(bias_of(moved, layer))[...] += step
    moved.run({})
    return float(moved.value("fc")[0, target])


def bias_of(found: Session, layer: str) -> int:
    names = [holding.parameter.name for holding in found.player.program.holdings]
    return next(h for h, name in enumerate(names) if name.startswith(f"{layer}/") and name.endswith(("bias", "b", "2")))


@pytest.mark.parametrize("target", [0, 1])
def test_the_gradient_towards_a_layer_is_that_of_the_class(target: int) -> None:
    job = read_job(GRAPHS / "resattnet" / "resattnet18-small.conf")
    job.proto.dtype = JobProto.FLOAT64
    found = session(job)
    found.score_of(target)
    found.run({})
    gradient = found.gradient("s3b1-2-norm").copy()
    step = 1e-6
    for channel in (0, 7):
        change = np.zeros(gradient.shape[1])
        change[channel] = step
        slope = (
            score_beyond(job, "s3b1-2-norm", change, target) - score_beyond(job, "s3b1-2-norm", -change, target)
        ) / (2 * step)
        assert gradient[0, channel].sum() == pytest.approx(slope, rel=1e-4, abs=1e-9)


def test_a_map_weighs_channels_by_their_mean_gradient() -> None:
    values, gradient = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    expected = sum(gradient[k].mean() * values[k] for k in range(3)).clip(0)
    assert np.allclose(class_activation_map(values, gradient), expected)
    assert not class_activation_map(values, np.zeros_like(values)).any()


def test_hirescam_weighs_each_place_by_its_own_gradient() -> None:
    values, gradient = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    expected = sum(gradient[k] * values[k] for k in range(3)).clip(0)
    assert np.allclose(class_activation_map(values, gradient, METHODS["hirescam"]), expected)


@pytest.mark.parametrize("name", ["resattnet/resattnet18-small", "resnet/resnet18-small"])
def test_before_a_mean_and_an_inner_product_both_are_the_same(name: str) -> None:
    job = read_job(GRAPHS / f"{name}.conf")
    confs = {conf.name: conf for conf in job.proto.neuralnet.layer}
    last = confs[confs["fc"].srclayers[0]].srclayers[0]
    grad, hires = (SampleExplainer(job, None, last, method).explain(3, 1).map for method in METHODS)
    assert grad.any()
    assert np.allclose(grad, hires, atol=1e-5)


@pytest.mark.parametrize(("method", "layer"), [("gradcam", "s2-join"), ("hirescam", "relu1")])
def test_a_method_takes_the_last_layer_with_room_for_it(method: str, layer: str) -> None:
    assert (
        SampleExplainer(read_job(GRAPHS / "resattnet" / "resattnet18-small.conf"), None, method=method).layer == layer
    )


def test_before_a_mean_and_an_inner_product_places_share_the_score_out_among_them() -> None:
    found = session(tiny())
    found.score_of(1)
    found.run({})
    shares = (found.value("drop")[0] * found.gradient("drop")[0]).sum(axis=0)
    assert shares.sum() == pytest.approx(float(found.value("fc")[0, 1]))


@pytest.mark.parametrize("name", FAMILIES)
def test_nets_of_the_zoo_that_classify_can_be_explained(name: str) -> None:
    job = read_job(GRAPHS / f"{name}.conf")
    if name.startswith("unet"):
        with pytest.raises(ConfigError, match="scores"):
            explain_sample(job, None, 0)
        return
    found = explain_sample(job, None, 3, target=1)
    assert found.map.shape == found.sample.shape[1:] == found.in_scan.shape
    assert 0 <= found.map.min() <= found.map.max() <= 1
    assert sum(found.probabilities) == pytest.approx(1)


def test_nothing_is_dropped_and_statistics_are_those_of_training() -> None:
    first, again = (session(tiny()).gradient("conv").copy() for _ in range(2))
    assert np.array_equal(first, again)
    assert first.any()


def test_a_scan_is_explained_in_its_own_space(tmp_path: Path) -> None:
    scans(tmp_path, "ad-nc")
    (tmp_path / "tiny.conf").write_text(TINY.format(input=DEEP, axes=3))
    job = read_job(tmp_path / "tiny.conf")
    found = explain_sample(job, None, 1, "conv")
    assert found.scan is not None
    assert found.in_scan.shape == found.scan.shape == (5, 4, 6)
    assert (found.layer, found.label) == ("conv", 1)
    with pytest.raises(ConfigError, match="--sample: expected one of 2 samples, 0 to 1, got"):
        explain_sample(job, None, 2)


def test_a_store_is_not_read_beyond_its_end(tmp_path: Path) -> None:
    image_store(tmp_path / "images.bin", pixels(3, (1, 6, 5)))
    (tmp_path / "tiny.conf").write_text(TINY.format(input=STORED, axes=2))
    job = read_job(tmp_path / "tiny.conf")
    assert explain_sample(job, None, 2).label == 2
    with pytest.raises(ConfigError, match="--sample: expected one of 3 samples, 0 to 2, got 3"):
        explain_sample(job, None, 3)


@pytest.mark.parametrize(
    ("layer", "target", "message"),
    [
        ("nonsense", None, "'nonsense'"),
        ("fc", None, "'fc'"),
        ("data", None, "parameters"),
        ("", 2, "a class from 0 to 1"),
    ],
)
def test_what_cannot_be_explained_is_told(layer: str, target: int | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        explain_sample(tiny(), None, 0, layer, target)
