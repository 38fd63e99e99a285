"""Halves: gradients of parameters right before a wait, with what others wait for ahead of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from netpart.kernels.reference import Kernels
from netpart.layers.convolution import Convolution
from netpart.layers.layer import Layer
from netpart.layers.relu import ReLU
from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.compile import compile_worker
from netpart.program.exchange import plan_exchange
from netpart.program.instructions import (
    Accumulate,
    Backward,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Receive,
    Send,
    Way,
    Zero,
)
from netpart.program.passes.postpone_weight_gradients import postpone_weight_gradients, split_backward
from netpart.worker.ensemble import Ensemble
from tests.worker.jobs import partition

NAMES = "y", "x", "dx", "other", "bucket", "dw", "dv"
BUFFERS = [
    *(Buffer(name, (4,), "float", ARENA) for name in NAMES[:4]),
    Buffer("bucket", (8,), "float", FIXED),
    Buffer("dw", (4,), "float", ALIAS, 4, 0),
    Buffer("dv", (4,), "float", ALIAS, 4, 4),
]
DY, X, DX, OTHER, BUCKET, DW, DV = (View(b, tuple((0, n) for n in buffer.shape)) for b, buffer in enumerate(BUFFERS))
CHANNEL = Channel(1, Way.BACKWARD, 0, 0)
BOTH = Backward(0, 0, (DY,), (DX,), (DW,), (X,), ())
FIRST, SECOND = Backward(0, 0, (DY,), (DX,), (None,), (X,), ()), Backward(0, 0, (DY,), (None,), (DW,), (X,), ())
SEND, RECEIVE = Send(DX, 1, CHANNEL, "dx"), Receive(OTHER, 1, CHANNEL, "other")


def of(kind: type[Layer]) -> dict[tuple[int, int], Layer]:
    """Part 0, of one ``kind`` of layer, of which nobody asks more than what it can."""
    return {(0, 0): kind.__new__(kind)}


def changed(*instructions: Instruction, kind: type[Layer] = Convolution) -> list[Instruction]:
    return postpone_weight_gradients(BUFFERS, instructions, of(kind))


@pytest.mark.parametrize("rest", [[RECEIVE], [RECEIVE, SEND], []], ids=["wait", "more", "end"])
def test_what_is_sent_goes_before_the_gradients_of_parameters(rest: list[Instruction]) -> None:
    assert changed(BOTH, SEND, *rest) == [FIRST, SEND, SECOND, *rest]


def test_all_that_is_done_to_these_gradients_comes_behind_them() -> None:
    after: list[Instruction] = [Accumulate(BUCKET, DW), Copy(OTHER, BUCKET)]
    assert changed(BOTH, after[0], SEND, after[1], RECEIVE) == [FIRST, SEND, SECOND, *after, RECEIVE]


def test_others_of_the_same_bucket_stay() -> None:
    assert changed(BOTH, Zero(DV), SEND, RECEIVE) == [FIRST, Zero(DV), SEND, SECOND, RECEIVE]


@pytest.mark.parametrize(
    "before",
    [
        (BOTH, Zero(OTHER), RECEIVE),
        (BOTH, Zero(DY), SEND, RECEIVE),
        (BOTH, Copy(X, OTHER), SEND, RECEIVE),
        (FIRST, SEND, RECEIVE),
        (SECOND, SEND, RECEIVE),
        (BOTH, RECEIVE, SEND),
    ],
    ids=["nothing leaves", "dy is overwritten", "x is overwritten", "no dw", "no dx", "sent after the wait"],
)
def test_it_stays_whole(before: tuple[Instruction, ...]) -> None:
    assert changed(*before) == [*before]


def test_sums_of_gradients_of_parameters_wait_for_nobody() -> None:
    found = plan_exchange("all-reduce", (0, 1), ((0, 4),), (((0, 4),),), "direct", 4)
    start = CollectiveStart(found, (DV,), (DV,), None, "float", Channel(1, Way.BUCKET, 0, 0), "bucket")
    assert changed(BOTH, start) == [BOTH, start]
    moments = replace(start, channel=Channel(1, Way.REDUCE, 0, 0))
    assert changed(BOTH, moments) == [FIRST, moments, SECOND]


def test_a_layer_that_cannot_stays_whole() -> None:
    assert changed(BOTH, SEND, RECEIVE, kind=ReLU) == [BOTH, SEND, RECEIVE]


def layer(name: str, kind: str, sources: str, conf: str = "", params: int = 0) -> str:
    """One layer of a net, cut on its rows."""
    read = " ".join(f'srclayers: "{source}"' for source in sources.split())
    filled = "param { init { type: kUniform } } " * params
    return f'layer {{ name: "{name}" type: {kind} partition_dim: 0 {read} {conf} {filled} }}'


CONVOLUTION = "convolution_conf { num_filters: 4 kernel: 3 pad: 1 }"
RESIDUAL = "\n".join(
    [
        "train_steps: 3 updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.05 } }",
        "neuralnet {",
        layer(
            "data", "kSyntheticInput", "", "store_conf { batchsize: 8 shape: [4, 6, 6] } synthetic_conf { classes: 3 }"
        ),
        layer("c1", "kConvolution", "data", CONVOLUTION, 2),
        layer("n1", "kBM", "c1", params=2),
        layer("c2", "kConvolution", "n1", CONVOLUTION, 2),
        layer("n2", "kBM", "c2", params=2),
        layer("u3", "kTransposedConvolution", "n2", CONVOLUTION, 2),
        layer("n3", "kBM", "u3", params=2),
        layer("sum", "kAdd", "n1 n3"),
        layer("ip", "kInnerProduct", "sum", "innerproduct_conf { num_output: 3 }", 2),
        layer("rows", "kLayerNorm", "ip", params=2),
        layer("loss", "kSoftmaxLoss", "rows data"),
        "}",
    ]
)


def test_gradients_of_weights_are_made_while_moments_are_summed() -> None:
    program = compile_worker(partition(RESIDUAL, 2), 0, 1).phases["train"]
    names = [part.name for part in program.micros[0].graph.parts]
    found = {
        (names[before.part], after.start.name)
        for before, after in pairwise(program.instructions)
        if isinstance(before, Backward) and isinstance(after, CollectiveWait) and not any(before.dx)
    }
    before = {"n3": "ip-00", "n2": "u3-00", "n1": "c2-00"}
    assert found == {(part, f"all-reduce d(moments-{norm})") for norm, part in before.items()}


def trained(workers: int) -> dict[str, np.ndarray[Any, Any]]:
    ensemble = Ensemble(partition(RESIDUAL, workers), order=5, poison=True)
    ensemble.initialise()
    for step in range(3):
        ensemble.step("train", step)
    return {p.name: ensemble.parameter(p.name) for p in ensemble.partition.parameters}


@pytest.mark.parametrize("workers", [2, 3])
def test_the_bits_stay(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = trained(workers)
    passed = "netpart.program.compile.postpone_weight_gradients"
    monkeypatch.setattr(passed, lambda buffers, instructions, layers: list(instructions))
    for name, values in trained(workers).items():
        np.testing.assert_array_equal(apart[name], values, err_msg=name)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_bits_stay_where_all_is_made_apart(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = trained(workers)
    monkeypatch.setattr(Kernels, "branches", True)
    program = compile_worker(partition(RESIDUAL, workers), 0, 1).phases["train"]
    alone = [i.part for i in program.instructions if isinstance(i, Backward) and any(i.dw) and not any(i.dx)]
    names = {part.index: part.node for part in program.micros[0].graph.parts}
    net = program.micros[0].graph.net
    assert {net.nodes[names[part]].name for part in alone} >= {"c1", "c2", "u3", "ip", "rows"}
    for name, values in trained(workers).items():
        np.testing.assert_array_equal(together[name], values, err_msg=name)


@pytest.mark.parametrize(("kind", "found"), [(Convolution, [FIRST, SECOND]), (ReLU, [BOTH])])
def test_what_makes_both_gradients_is_two_instructions_where_kernels_run_beside_each_other(
    kind: type[Layer], found: list[Instruction]
) -> None:
    assert list(split_backward([RECEIVE, BOTH, SECOND, SEND], of(kind))) == [RECEIVE, *found, SECOND, SEND]
