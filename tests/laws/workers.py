"""The harness of law 9: plays a cut job and the uncut one side by side, and compares all they can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import reject

from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition, partition_job
from netpart.graph.recomputed import clear_recomputation
from netpart.kernels.reference import Kernels
from netpart.proto.job_pb2 import JobProto, LayerType
from netpart.spec import FLOAT, relative_slices
from netpart.worker.ensemble import Ensemble

TOLERANCE = 1e-11
TINY = 1e-3
"""Norm below which a tensor counts as rounding: gradients that cancel (a bias that moves all classes alike)."""
STEPS = 3

Values = np.ndarray[Any, Any]


def reference(job: JobProto) -> Partition:
    """The uncut net on one worker, with one micro-batch; a batch norm has the statistics of its micro-batch."""
    plain = JobProto()
    plain.CopyFrom(job)
    clear_recomputation(plain.neuralnet)
    if not any(layer.type in (LayerType.kBM, LayerType.kCudnnBM) for layer in job.neuralnet.layer):
        plain.neuralnet.micro_batches = 1
    return partition_job(plain, 1, uncut=True)


class ChannelsLast(Kernels):
    """The reference kernels, given the memory orders and the fused activations that faster ones ask for."""

    channels_last = True
    fuses = ("relu", "sigmoid", "tanh", "softplus")
    fuses_back = ("relu",)
    adds = ("inner_product", "inner_product_data", "normalise_gradient")


def check_law(cut: Partition, order: int, kernels: type[Kernels] = Kernels, again: Ensemble | None = None) -> Ensemble:
    """Plays ``cut`` with ``kernels`` in the interleaving ``order`` and holds it against the uncut net at every step,
    which the reference kernels play.

    ``again`` plays it in another interleaving, or over another transport, and, unlike the two that are looked into,
    with buffers that share memory: not a bit may differ.
    """
    whole = Ensemble(reference(cut.job), keep=True, poison=True)
    parts = Ensemble(cut, order=order, keep=True, poison=True, kernels=kernels)
    again = again or Ensemble(cut, order=order + 1, poison=True, kernels=kernels)
    for ensemble in (whole, parts, again):
        ensemble.initialise()
    for step in range(STEPS):
        expected = uncut_step(whole, step)
        metrics = again.step("train", step)
        found = parts.step("train", step)
        compare_metrics(found, expected, f"step {step}")
        compare_tensors(parts, whole, "train", f"step {step}")
        compare_parameters(parts, whole, f"step {step}")
        same = found == metrics and bits(parts) == bits(again)
        assert same, f"another interleaving, other bits in step {step}"
    if "test" in cut.phases:
        compare_metrics(parts.step("test", 0), whole.step("test", 0), "test")
        compare_tensors(parts, whole, "test", "test")
    return parts


def uncut_step(whole: Ensemble, step: int) -> dict[str, float]:
    """Trains the uncut net once more. Of one that diverges beyond all numbers nothing can be said."""
    try:
        return whole.step("train", step)
    except RuntimeWarning as warning:
        if "overflow" in str(warning):
            reject()
        raise


def compare_metrics(found: dict[str, float], expected: dict[str, float], when: str) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        close(np.array(found[name]), np.array(value), f"{name} in {when}")


def compare_tensors(parts: Ensemble, whole: Ensemble, phase: str, when: str) -> None:
    """Activations on every part that holds them, and the gradients of activations."""
    for node in whole.partition.phases[phase][0].graph.net.nodes:
        for output, spec in enumerate(node.layer.outputs):
            expected = whole.activation(phase, node.name, output)
            close(parts.activation(phase, node.name, output), expected, f"{node.name} in {when}", spec.dtype)
            for box, values in held(parts, phase, node.name, output):
                close(values, expected[box], f"a part of {node.name} in {when}", spec.dtype)
        gradient = whole.gradient(phase, node.name) if phase == "train" else None
        if gradient is not None:
            found = parts.gradient(phase, node.name)
            assert found is not None
            close(found, gradient, f"the gradient of {node.name} in {when}")


def held(parts: Ensemble, phase: str, name: str, output: int) -> Iterator[tuple[tuple[slice, ...], Values]]:
    """(where in the mini-batch, values) of every part of a layer that holds values, not addends."""
    for m, micro in enumerate(parts.partition.phases[phase]):
        node = micro.graph.net.by_name[name]
        if len(micro.graph.placements[node.index].terms) > 1:
            continue
        for part in (p for p in micro.graph.parts if p.kind == LAYER and p.node == node.index):
            values = parts.value(phase, m, part, output, False)
            assert values is not None
            (lo, hi), *rest = node.layer.outputs_of(part.region)[output]
            region = ((lo + micro.rows[0], hi + micro.rows[0]), *rest)
            yield relative_slices(region, tuple((0, 0) for _ in region)), values


def compare_parameters(parts: Ensemble, whole: Ensemble, when: str) -> None:
    """Gradients and values of parameters; the copies of a value have equal bits on all its holders."""
    for parameter in whole.partition.parameters:
        name = parameter.name
        if name in whole.partition.trained:
            found, expected = parts.parameter(name, gradient=True), whole.parameter(name, gradient=True)
            close(found, expected, f"the gradient of {name} in {when}")
        value = parts.parameter(name)
        close(value, whole.parameter(name), f"{name} in {when}")
        for worker, box, copy in parts.copies(name):
            here = value[relative_slices(box, tuple((0, 0) for _ in box))]
            assert np.array_equal(copy, here), f"the copy of {name} on worker {worker} drifts in {when}"


def close(found: Values, expected: Values, what: str, dtype: str = FLOAT) -> None:
    """Raises AssertionError unless ||found - expected|| / max(||expected||, TINY) is within TOLERANCE."""
    if dtype != FLOAT:
        assert np.array_equal(found, expected), f"{what}: {found} instead of {expected}"
        return
    error = float(np.linalg.norm(found - expected)) / max(float(np.linalg.norm(expected)), TINY)
    assert error <= TOLERANCE, f"{what}: error {error:.1e}"


def bits(ensemble: Ensemble) -> list[bytes]:
    """Every copy of every parameter of every worker and the updater's state, byte by byte."""
    states = (state.values() for player in ensemble.players for state in player.machine.state)
    values = [player.parameters.values(h) for player in ensemble.players for h in range(len(player.program.holdings))]
    return [array.tobytes() for array in (*values, *chain.from_iterable(states))]
