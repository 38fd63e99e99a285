"""Initial values: the right distribution, and the same element whoever draws it."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import ConfigError
from netpart.families import INITIALISERS
from netpart.initialisers import draw_initial_values, find_initialiser
from netpart.kernels.philox import stream_key
from netpart.proto.param_pb2 import ParamGenProto
from netpart.spec import Region, Shape, relative_slices, whole_region

KEY = stream_key(7, "fc1", "weight")
SHAPE, MATRIX = (120, 10, 30), (120, 300)


def parsed(text: str) -> ParamGenProto:
    return text_format.Parse(text, ParamGenProto())


def drawn(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    values = draw_initial_values(parsed(text), KEY, whole_region(SHAPE), SHAPE, MATRIX)
    assert isinstance(values, np.ndarray)
    assert values.shape == SHAPE
    assert values.dtype == np.float64
    return values


def test_constant() -> None:
    assert np.all(drawn("type: kConstant value: 0.5") == 0.5)
    assert np.all(drawn("type: kConstant") == 1)


@pytest.mark.parametrize(
    ("text", "mean", "std"),
    [
        ("type: kGaussian", 0, 1),
        ("type: kGaussian mean: 2 std: 0.5 value: 3", 6, 1.5),
        ("type: kGaussianSqrtFanIn std: 2", 0, 2 / sqrt(300)),
        ("type: kGaussianSqrtFanIn mean: 1 value: 2", 2 / sqrt(300), 2 / sqrt(300)),
    ],
)
def test_gaussians(text: str, mean: float, std: float) -> None:
    values = drawn(text)
    assert values.mean() == pytest.approx(mean, abs=4 * std / sqrt(values.size))
    assert values.std() == pytest.approx(std, rel=0.02)
    beyond_two = np.mean(abs(values - mean) > 2 * std)
    assert beyond_two == pytest.approx(0.0455, abs=0.005)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("type: kUniform", -1, 1),
        ("type: kUniform low: 0 high: 4 value: 0.5", 0, 2),
        ("type: kUniformSqrtFanIn", -sqrt(3 / 300), sqrt(3 / 300)),
        ("type: kUniformSqrtFanIn low: 0 value: 2", 0, 2 * sqrt(3 / 300)),
        ("type: kUniformSqrtFanInOut", -1 / sqrt(420), 1 / sqrt(420)),
    ],
)
def test_uniforms(text: str, low: float, high: float) -> None:
    values, width = drawn(text), high - low
    assert low <= values.min() < low + 0.001 * width
    assert high - 0.001 * width < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.01 * width)
    assert values.std() == pytest.approx(width / sqrt(12), rel=0.02)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Shape, Region]:
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    ends = [sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
    return shape, tuple((lo, hi) for lo, hi in ends)


@given(st.sampled_from(INITIALISERS.names()), boxes(), st.integers(0, 2**31))
def test_a_region_holds_what_the_whole_holds_there(name: str, case: tuple[Shape, Region], seed: int) -> None:
    shape, box = case
    conf = parsed(f"type: {name} value: 0.7 std: 0.3")
    stream = stream_key(seed, "conv", "weight")
    matrix = (shape[0], 17)
    all_of_it = draw_initial_values(conf, stream, whole_region(shape), shape, matrix)
    part = draw_initial_values(conf, stream, box, shape, matrix)
    assert np.array_equal(part, all_of_it[relative_slices(box, whole_region(shape))])


def test_names_and_seeds_draw_different_values() -> None:
    conf, shape = parsed("type: kUniform"), (50,)
    streams = [
        stream_key(7, "fc1", "weight"),
        stream_key(8, "fc1", "weight"),
        stream_key(7, "fc2", "weight"),
        stream_key(7, "fc1", "bias"),
    ]
    first, *others = [draw_initial_values(conf, stream, whole_region(shape), shape, None) for stream in streams]
    assert all(np.mean(first == other) < 0.1 for other in others)


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("type: kUserInit", "type", "all 6: kConstant"),
        ("type: kUserInit user_type: 'kGausian'", "type", "did you mean kGaussian"),
        ("type: kGaussianSqrtFanIn", "type", "use one of kConstant, kGaussian, kUniform"),
        ("type: kUniformSqrtFanIn", "type", "1-D"),
        ("type: kUniformSqrtFanInOut", "type", "1-D"),
        ("type: kGaussian std: -1", "std", "got -1.0"),
        ("type: kUniform low: 2", "low", "swap them"),
    ],
)
def test_errors_name_the_parameter_and_the_next_step(text: str, field: str, says: str) -> None:
    at = ("neuralnet", "layer", 3, "param", 1, "init")
    with pytest.raises(ConfigError) as caught:
        find_initialiser(parsed(text), None, "fc1.param[1].init", at)
    assert caught.value.who == f"fc1.param[1].init.{field}"
    assert caught.value.at == (*at, field)
    assert says in str(caught.value)
    with pytest.raises(ConfigError):
        draw_initial_values(parsed(text), KEY, ((0, 3),), (3,), None)


@pytest.mark.parametrize(("matrix", "advice"), [((2, 3), "kUniformSqrtFanIn"), (None, "kConstant value: 0")])
def test_a_missing_method_is_answered_with_one_that_fits(matrix: tuple[int, int] | None, advice: str) -> None:
    with pytest.raises(ConfigError, match=f"^w: expected a way to fill .*, got none; add init .* type: {advice} "):
        find_initialiser(parsed("value: 1"), matrix, "w")
