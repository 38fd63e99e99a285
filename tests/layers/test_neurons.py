"""What the laws cannot see: conventions of single layers, against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.kernels.op import Clock
from netpart.layers.layer import Layer
from netpart.layers.part import Call
from netpart.spec import INT, Spec
from netpart.testing.play_part import KERNELS, LayerData, play_part, poisoned_array, run_poisoned
from tests.laws.cases import Case, params


def outputs(layer: Layer, *x: Any) -> tuple[Any, list[float]]:
    arrays = [np.asarray(a, "int32" if s.dtype == INT else "float64") for a, s in zip(x, layer.inputs, strict=True)]
    played = play_part(layer, LayerData(arrays, [], None), backward=False)
    return played.y.tolist(), played.metrics.tolist()


@pytest.mark.parametrize("name", ["kPooling", "kCPooling"])
def test_a_mean_divides_by_the_whole_window_at_the_border_too(name: str) -> None:
    conf = "pooling_conf { spatial_axes: 1 pool: AVG kernel: 2 pad: 1 stride: 1 }"
    assert outputs(Case(name, conf, (Spec((1, 2)),)).layer(), [[2, 6]])[0] == [[1, 4, 3]]


@pytest.mark.parametrize("name", ["kPooling", "kCPooling"])
def test_a_mean_may_divide_by_the_elements_alone(name: str) -> None:
    conf = "pooling_conf { spatial_axes: 1 pool: AVG kernel: 2 pad: 1 stride: 1 count_include_pad: false }"
    assert outputs(Case(name, conf, (Spec((1, 2)),)).layer(), [[2, 6]])[0] == [[2, 4, 6]]


def test_a_maximum_is_never_padding() -> None:
    conf = "pooling_conf { spatial_axes: 1 kernel: 3 pad: 1 stride: 1 }"
    assert outputs(Case("kPooling", conf, (Spec((1, 3)),)).layer(), [[-5, -2, -7]])[0] == [[-2, -2, -2]]


def test_lrn_divides_alpha_by_the_window() -> None:
    layer = Case("kLRN", "lrn_conf { local_size: 3 alpha: 3 beta: 0.5 knorm: 1 }", (Spec((1, 3)),)).layer()
    assert np.allclose(outputs(layer, [[1, 2, 2]])[0], [[1 / 6**0.5, 2 / 10**0.5, 2 / 3]])


def test_weights_keep_the_inputs_axes_and_are_saved_as_a_matrix() -> None:
    for transpose, shape, saved in (("false", (5, 2, 3), (5, 6)), ("true", (2, 3, 5), (6, 5))):
        conf = f"innerproduct_conf {{ num_output: 5 transpose: {transpose} }} {params(2)}"
        weight, bias = Case("kInnerProduct", conf, (Spec((4, 2, 3)),)).layer().params
        assert (weight.shape, weight.saved, weight.matrix) == (shape, saved, (5, 6))
        assert (bias.shape, bias.saved, bias.matrix) == ((5,), (5,), None)


def test_a_convolutions_fan_in_is_channels_times_window() -> None:
    conf = f"convolution_conf {{ num_filters: 8 kernel: 2 kernel_x: 3 }} {params(1)}"
    layer = Case("kConvolution", conf, (Spec((4, 5, 9, 9)),)).layer()
    assert [(p.shape, p.matrix, p.saved) for p in layer.params] == [((8, 5, 2, 3), (8, 30), (8, 30))]
    assert layer.output == Spec((4, 8, 8, 7))


def test_softmax_loss_reports_sums_and_counts_the_topk() -> None:
    layer = Case("kSoftmaxLoss", "softmaxloss_conf { topk: 2 scale: 3 }", (Spec((2, 3)), Spec((2,), INT))).layer()
    scores = np.log([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    probabilities, (loss, hits) = outputs(layer, scores, [1, 0])
    assert np.allclose(probabilities, np.exp(scores))
    assert np.isclose(loss, -3 * (np.log(0.3) + np.log(0.1)))
    assert hits == 1


def test_label_smoothing_divides_a_share_of_the_target() -> None:
    conf = "softmaxloss_conf { label_smoothing: 0.25 }"
    layer = Case("kSoftmaxLoss", conf, (Spec((1, 2)), Spec((1,), INT))).layer()
    _, (loss, hits) = outputs(layer, np.log([[0.6, 0.4]]), [1])
    assert np.isclose(loss, -(0.125 * np.log(0.6) + 0.875 * np.log(0.4)))
    assert hits == 0


def test_an_inner_product_of_an_axis_keeps_those_before_it() -> None:
    layer = Case(
        "kInnerProduct", f"innerproduct_conf {{ num_output: 5 axis: 2 }} {params(2)}", (Spec((4, 2, 3)),)
    ).layer()
    assert [p.shape for p in layer.params] == [(5, 3), (5,)]
    assert layer.output == Spec((4, 2, 5))
    x = np.arange(24.0).reshape(4, 2, 3)
    w = np.arange(15.0).reshape(5, 3)
    b = np.arange(5.0)
    assert np.allclose(play_part(layer, LayerData([x], [w, b], None), backward=False).y, x @ w.T + b)


def test_euclidean_loss_reports_the_squared_distance() -> None:
    layer = Case("kEuclideanLoss", "", (Spec((2, 2)), Spec((2, 2)))).layer()
    assert outputs(layer, [[1, 2], [3, 4]], [[1, 0], [0, 4]]) == ([[0, 2], [3, 0]], [13])


def test_l1_loss_reports_the_mean_distance() -> None:
    layer = Case("kL1Loss", "loss_conf { scale: 3 }", (Spec((2, 2)), Spec((2, 2)))).layer()
    assert outputs(layer, [[1, 2], [3, 4]], [[1, 0], [0, 4]]) == ([[0, 2], [3, 0]], [3 * (2 + 3) / 2])


def test_huber_loss_is_linear_from_delta_on() -> None:
    layer = Case("kHuberLoss", "loss_conf { delta: 2 }", (Spec((1, 3)), Spec((1, 3)))).layer()
    assert outputs(layer, [[1, 2, -5]], [[0, 0, 0]]) == ([[1, 2, -5]], [(0.5 + 2 + 2 * (5 - 1)) / 3])


def test_binary_loss_reports_the_loss_and_the_share_of_right_labels() -> None:
    layer = Case("kBinaryLoss", "loss_conf { positive_weight: [1, 3] }", (Spec((1, 2)), Spec((1, 2), INT))).layer()
    probabilities, (loss, right) = outputs(layer, np.log([[0.25, 3.0]]), [[1, 1]])
    assert np.allclose(probabilities, [[0.2, 0.75]])
    assert np.isclose(loss, -(np.log(0.2) + 3 * np.log(0.75)) / 2)
    assert right == 0.5


def test_one_logit_may_have_one_label_per_row() -> None:
    layer = Case("kBinaryLoss", "", (Spec((2, 1)), Spec((2,), INT))).layer()
    _, (loss, right) = outputs(layer, [[0], [0]], [1, 0])
    assert np.isclose(loss, 2 * np.log(2))
    assert right == 1


@pytest.mark.parametrize(("axis", "same"), [(1, 1), (2, 2), (3, 3), (-1, 3), (-2, 2)])
def test_softmax_along_an_axis(axis: int, same: int) -> None:
    layer = Case("kSoftmax", f"softmax_conf {{ axis: {axis} }}", (Spec((2, 3, 4, 5)),)).layer()
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    found, _ = outputs(layer, x)
    assert np.allclose(found, np.exp(x) / np.exp(x).sum(axis=same, keepdims=True))
    assert layer.cuts() == tuple(k for k in range(4) if k != same)


def test_softmax_of_features_is_that_of_axis_1() -> None:
    x = np.random.default_rng(0).normal(size=(4, 6))
    conf = ["", "axis: 1", "axis: -1"]
    first, *others = [outputs(Case("kSoftmax", f"softmax_conf {{ {c} }}", (Spec((4, 6)),)).layer(), x) for c in conf]
    assert all(found == first for found in others)


def test_accuracy_outputs_the_largest_classes_first() -> None:
    layer = Case("kAccuracy", "argsort_conf { topk: 2 }", (Spec((2, 3)), Spec((2,), INT))).layer()
    assert outputs(layer, [[1, 5, 3], [2, 2, 1]], [2, 2]) == ([[1, 2], [0, 1]], [1])


@pytest.mark.parametrize(("phase", "kept"), [(1, False), (2, True), (4, True)])
def test_dropout_is_the_identity_but_in_training(phase: int, kept: bool) -> None:
    layer = Case("kDropout", "dropout_conf { dropout_ratio: 0.5 }", (Spec((20, 10)),)).layer()
    x = np.ones((20, 10))
    y = poisoned_array((20, 10))
    region = layer.output.whole
    call = Call(region, layer.needs(region), None, [x], [], [y], aux=[poisoned_array((20, 10))], phase=phase)
    run_poisoned(layer.forward(KERNELS, call))
    assert (y == 1).all() == kept
    assert set(y.ravel().tolist()) == ({1.0} if kept else {0.0, 2.0})


def test_dropout_draws_anew_each_step_and_alike_in_a_micro_batch() -> None:
    case = "kDropout", "dropout_conf { dropout_ratio: 0.5 }"

    def drawn(rows: int, first: int, step: int) -> Any:
        layer = Case(*case, (Spec((rows, 7)),)).layer()
        x = np.ones((rows, 7))
        y = poisoned_array((rows, 7))
        region = layer.output.whole
        aux, clock = [poisoned_array((rows, 7))], Clock()
        call = Call(region, layer.needs(region), None, [x], [], [y], aux=aux, first_row=first, clock=clock)
        op = layer.forward(KERNELS, call)
        clock.step = step
        run_poisoned(op)
        return y.tolist()

    assert drawn(6, 0, 1) != drawn(6, 0, 2)
    assert np.array_equal(drawn(6, 0, 1), np.concatenate([np.array(drawn(2, first, 1)) for first in (0, 2, 4)]))
