from __future__ import annotations

from inspect import getmembers, isfunction

import numpy as np

from netpart.kernels import flops
from netpart.kernels.arguments import LrnFactors
from netpart.kernels.counting import PRICES, CountingKernels
from netpart.kernels.op import Op, Window
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, normal, play


def count(kernels: CountingKernels, op: Op) -> int:
    before = kernels.flops
    play(op)
    return kernels.flops - before


def test_every_verb_has_a_price() -> None:
    """A verb binds an Op; what takes messages is none."""
    public = {name: verb for name, verb in getmembers(Kernels, isfunction) if not name.startswith("_")}
    verbs = {name for name, verb in public.items() if verb.__annotations__["return"] == "Op"}
    assert verbs == set(PRICES)


def test_convolution_counts_each_product_and_sum() -> None:
    kernels, window = CountingKernels(np, "float64"), Window((3, 2), (1, 1), ((1, 1), (0, 0)))
    x = normal(1, 2, 4, 5, 6)
    w = normal(2, 3, 4, 3, 2)
    b = normal(3, 3)
    y = np.empty((2, 3, 5, 5))
    assert count(kernels, kernels.convolution(x, w, b, y, window)) == 2 * 150 * 24 + 150
    assert count(kernels, kernels.convolution(x, w, None, y, window)) == 2 * 150 * 24
    assert count(kernels, kernels.convolution_data(y, w, x, window)) == 2 * 150 * 24
    assert count(kernels, kernels.convolution_weights(x, y, w, b, window)) == 2 * 150 * 24 + 150


def test_inner_product_counts_each_product_and_sum() -> None:
    kernels = CountingKernels(np, "float64")
    x = normal(1, 2, 3, 4)
    w = normal(2, 3, 4, 5)
    b = normal(3, 5)
    y = np.empty((2, 5))
    assert count(kernels, kernels.inner_product(x, w, b, y, transpose=True)) == 2 * 10 * 12 + 10
    assert count(kernels, kernels.inner_product_data(y, w, x, True)) == 2 * 10 * 12
    assert count(kernels, kernels.inner_product_weights(x, y, w, None, True)) == 2 * 10 * 12


def test_the_rest_counts_elements() -> None:
    kernels, window = CountingKernels(np, "float64"), Window((2,), (2,), ((0, 0),))
    x = normal(1, 2, 3, 4)
    y = np.empty((2, 3, 2))
    z = np.ones((2, 3, 4))
    assert count(kernels, kernels.pooling(x, y, None, window, "MAX", 1)) == 12 * 2
    assert count(kernels, kernels.activation("relu", x, z)) == 24
    assert count(kernels, kernels.activation("stanh", x, z, slope=0.0)) == 4 * 24
    assert count(kernels, kernels.activation_gradient("tanh", x, z, z, x)) == 2 * 24
    assert count(kernels, kernels.lrn(x, z, z.copy(), LrnFactors(0, 3, 1.0, 0.75, 1.0))) == 24
    assert count(kernels, kernels.total(z, [x, x, x])) == 2 * 24
    assert count(kernels, kernels.add(z, x)) == 24
    assert count(kernels, kernels.add_squares(np.zeros(1), x)) == 2 * 24
    assert count(kernels, kernels.copy(z, x)) == 0


def test_counting_computes_what_the_reference_computes() -> None:
    x = normal(1, 3, 4)
    counted = np.empty((3, 4))
    wanted = np.empty((3, 4))
    play(CountingKernels(np, "float64").softmax(x, counted))
    play(K.softmax(x, wanted))
    assert np.array_equal(counted, wanted)


def test_each_run_counts_again() -> None:
    kernels = CountingKernels(np, "float64")
    op = kernels.add(np.zeros(5), np.ones(5))
    assert kernels.flops == 0
    play(op)
    play(op)
    assert kernels.flops == 10
    assert "CountingKernels" in repr(kernels)


def test_a_total_of_nothing_is_free() -> None:
    assert flops.combine_flops(7, 0) == 0
