"""Laws of layer types: shape, needs, cost, gradient and cut, compared with what the parts really compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.kernels.counting import CountingKernels
from netpart.kernels.reference import Kernels
from netpart.layers.layer import Layer
from netpart.spec import INT, whole_region
from netpart.testing.cuts import RandomCut
from netpart.testing.play_part import (
    KERNELS,
    LayerData,
    PlayedPart,
    all_finite,
    is_close,
    make_layer_data,
    play_part,
    scatter_add,
    take_region,
)

TOLERANCE = {"float64": 1e-11, "float32": 2e-5}
"""Largest difference between the sum of the parts and the whole, relative to the largest element, by compute dtype."""
STEP = 1e-6
"""Step of the central differences: near the cube root of float64's eps, where truncation and rounding balance."""
SLOPE = {"float64": 1e-6, "float32": 1e-4}
"""Largest difference between a slope and the gradient of backward, relative to 1 + |slope|, by compute dtype."""


class LawBroken(AssertionError):
    """A layer type breaks a law. The message names the layer, the part, and the methods to check."""


def _require_law(truth: object, layer: Layer, trouble: str, hint: str) -> None:
    """Raise LawBroken unless ``truth`` is true."""
    if not truth:
        raise LawBroken(f"{layer!r} on {[spec.shape for spec in layer.inputs]}: {trouble}; {hint}")


def has_backward(layer: Layer) -> bool:
    """True if the type has a backward of its own."""
    return type(layer).backward is not Layer.backward


def shape_law(layer: Layer, data: LayerData, kernels: Kernels = KERNELS) -> None:
    """Law 1: forward and backward write every element of their outputs, and the whole output needs all inputs."""
    needs_law(layer)
    played = play_part(layer, data, backward=has_backward(layer), kernels=kernels)
    _require_law(
        played.y.shape == layer.output.shape, layer, f"y is {played.y.shape}", f"infer returns {layer.output.shape}"
    )
    # The poison of an int array is the largest int32, which no layer outputs; of a float array it is NaN.
    unwritten = layer.output.dtype == INT and played.y.max(initial=0) == np.iinfo("int32").max
    _require_law(
        all_finite([played.y]) and not unwritten,
        layer,
        "forward leaves elements of y unwritten, or makes them NaN",
        "see infer and forward",
    )
    for name, gradients in (("dx", played.dx), ("dw", played.dw)):
        for k, gradient in enumerate(gradients):
            _require_law(
                all_finite([gradient]),
                layer,
                f"backward leaves elements of {name}[{k}] unwritten",
                "it overwrites them all",
            )


def needs_law(layer: Layer) -> None:
    """Law 1, in part: the whole output needs all of every input and parameter."""
    needs = layer.needs(layer.output.whole)
    inputs = tuple(spec.whole for spec in layer.inputs)
    _require_law(
        needs.inputs == inputs, layer, f"the whole output needs {needs.inputs} of its inputs", f"expected {inputs}"
    )
    params = tuple(whole_region(param.shape) for param in layer.params)
    _require_law(
        needs.params == params, layer, f"the whole output needs {needs.params} of its parameters", f"expected {params}"
    )


def cost_law(layer: Layer, data: LayerData, cut: RandomCut) -> None:
    """Law 2: the cost of every part equals the FLOPs that the counting kernels count."""
    for region, _, term in cut.parts():
        cost = layer.cost(region, term)
        forward = CountingKernels(np, "float64")
        both = CountingKernels(np, "float64")
        play_part(layer, data, region, term, backward=False, kernels=forward)
        play_part(layer, data, region, term, backward=has_backward(layer), kernels=both)
        stated = (cost.forward, cost.backward)
        counted = (forward.flops, both.flops - forward.flops)
        hint = "correct cost(); what an Op of your own computes is not counted"
        _require_law(stated == counted, layer, f"{region} costs {stated} FLOPs and {counted} were counted", hint)


def gradient_law(layer: Layer, data: LayerData, seed: int, objective: float = 1.0, kernels: Kernels = KERNELS) -> None:
    """Law 3: backward, with ``kernels``, is the derivative of forward, by central differences in a random direction.

    ``objective`` is the ratio of a loss's objective to its first metric, per row of the global mini-batch. The
    differences are computed by the reference kernels in float64: float32 has too few digits for them.
    """
    if not has_backward(layer):
        return
    played = play_part(layer, data, kernels=kernels)
    rng = np.random.default_rng(seed)
    tolerance = SLOPE[str(kernels.dtype)]
    names = [f"dx[{k}]" for k in range(len(played.dx))] + [f"dw[{k}]" for k in range(len(played.dw))]
    trained = [None if spec.running else dw for spec, dw in zip(layer.params, played.dw, strict=True)]
    for name, array, gradient in zip(names, data.x + data.w, played.dx + trained, strict=True):
        if gradient is None:
            continue
        direction = rng.uniform(-1, 1, array.shape)
        expected, found = (
            _directional_slope(layer, data, array, direction, objective),
            float((gradient * direction).sum()),
        )
        trouble = f"{name} gives {found:.9g} along a direction in which forward changes by {expected:.9g}"
        _require_law(abs(found - expected) <= tolerance * (1 + abs(expected)), layer, trouble, "see backward")


def _directional_slope(layer: Layer, data: LayerData, array: Any, direction: Any, objective: float) -> float:
    """The derivative of the objective as ``array``, one of ``data``, moves along ``direction``."""
    array += STEP * direction  # in place, as ``data`` holds this array; restored below, up to rounding
    above = _objective_value(layer, data, objective)
    array -= 2 * STEP * direction
    below = _objective_value(layer, data, objective)
    array += STEP * direction
    return (above - below) / (2 * STEP)


def _objective_value(layer: Layer, data: LayerData, objective: float) -> float:
    """The function that backward differentiates: the loss, or for other layers the sum of y · ``data.dy``."""
    played = play_part(layer, data, backward=False)
    if layer.is_loss:
        return objective * float(played.metrics[0]) / layer.output.shape[0]
    return float((played.y * data.dy).sum())


def cut_law(layer: Layer, data: LayerData, cut: RandomCut, kernels: Kernels = KERNELS) -> None:
    """Law 4: the parts of a legal cut, each computed from its ``needs``, give the whole, forward and backward.

    ``kernels`` compute the parts; the reference kernels, in float64, compute the whole.
    """
    tolerance = TOLERANCE[str(kernels.dtype)]
    expected = play_part(layer, data, backward=has_backward(layer))
    played: list[PlayedPart] = []
    for region, own in cut.cells:
        terms = [
            play_part(layer, data, region, term, own=own, backward=has_backward(layer), kernels=kernels)
            for term in cut.terms
        ]
        read = all(all_finite([part.y, *part.dx, *part.dw]) for part in terms)  # outside of the needs all is NaN
        _require_law(read, layer, f"the part {region} reads more than needs() names", "name it in needs()")
        same = is_close(sum(part.y for part in terms), take_region(expected.y, region), tolerance)
        _require_law(same, layer, f"the part {region} is not that of the whole, in {cut}", "see needs and forward")
        _statistics_law(layer, terms, expected, tolerance)
        played += terms
    same = is_close(sum(part.metrics for part in played), expected.metrics, tolerance)
    _require_law(same, layer, f"the metrics of {cut} do not add up", "report those of the owned rows")
    for k, gradient in enumerate(expected.dx):
        pieces = [(p.dx[k], p.needs.inputs[k]) for p in played]
        _require_law(_gradients_add_up(gradient, pieces, tolerance), layer, *_gradient_trouble(f"dx[{k}]", cut))
    trained = [None if spec.running else dw for spec, dw in zip(layer.params, expected.dw, strict=True)]
    for k, gradient in enumerate(trained):
        pieces = [(p.dw[k], p.needs.params[k]) for p in played]
        _require_law(_gradients_add_up(gradient, pieces, tolerance), layer, *_gradient_trouble(f"dw[{k}]", cut))


def _statistics_law(layer: Layer, terms: list[PlayedPart], expected: PlayedPart, tolerance: float) -> None:
    """Law 4, in part: the terms of each cell compute all of a batch's share of running statistics."""
    for k, share in enumerate(expected.dw):
        if layer.params[k].running and share is not None:
            found = sum(part.dw[k] for part in terms)
            wanted = take_region(share, terms[0].needs.params[k])
            _require_law(
                is_close(found, wanted, tolerance), layer, f"the terms of a cell do not make dw[{k}]", "see backward"
            )


def _gradient_trouble(name: str, cut: RandomCut) -> tuple[str, str]:
    """The error and the hint if gradients do not add up."""
    return f"{name} of {cut} do not add up to that of the whole", "see needs and backward"


def _gradients_add_up(gradient: Any, pieces: list[tuple[Any, Any]], tolerance: float) -> bool:
    """True if the gradients of all parts, added at the regions that they came from, equal ``gradient``."""
    if gradient is None:
        return True
    total = np.zeros(gradient.shape)
    for piece, region in pieces:
        scatter_add(total, piece, region)
    return is_close(total, gradient, tolerance)


__all__ = ["LawBroken", "cost_law", "cut_law", "gradient_law", "make_layer_data", "needs_law", "shape_law"]
