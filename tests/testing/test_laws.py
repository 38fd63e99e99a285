"""A layer type that breaks a law is told which, and where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netpart.kernels.op import Op
from netpart.layers.layer import Layer
from netpart.layers.lrn import LRN
from netpart.layers.multiply import Multiply
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.positions import Positions
from netpart.layers.relu import ReLU
from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.spec import INT, Region, Spec
from netpart.testing import LAWS, check_layer
from netpart.testing.laws import LawBroken

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

SHAPE = (3, 4, 5)


class NoHalo(LRN):  # type: ignore[misc]
    """Forgets that a channel needs its neighbours."""

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,))


class HalfPrice(ReLU):  # type: ignore[misc]
    """Says that backward costs nothing."""

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(super().cost(region, term).forward)


class WrongSlope(ReLU):  # type: ignore[misc]
    """Returns the gradient of its output as that of its input."""

    def backward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(call.dx[0], call.dy[0])


class Lazy(ReLU):  # type: ignore[misc]
    """Writes no gradient at all."""

    def backward(self, kernels: Kernels, call: Call) -> Op:
        return Op(lambda: None)


class Greedy(Positions):  # type: ignore[misc]
    """Names too little of its parameter, even for the whole."""

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region,), (region[1:-1] + ((0, 1),),))


@pytest.mark.parametrize(
    ("kind", "conf", "law", "words"),
    [
        (NoHalo, "lrn_conf { local_size: 3 }", "cut", r"the part .* see needs and forward"),
        (HalfPrice, "", "cost", r"costs \(.*\) FLOPs and \(.*\) were counted; correct cost"),
        (WrongSlope, "", "gradient", r"dx\[0\] gives .* see backward"),
        (Lazy, "", "shape", r"backward leaves elements of dx\[0\] unwritten"),
        (Greedy, "param { }", "shape", r"the whole output needs .* of its parameters; expected"),
    ],
)
def test_a_broken_law_is_named(kind: type[Layer], conf: str, law: str, words: str) -> None:
    with pytest.raises(LawBroken, match=words):
        check_layer(kind, f"type: kUserLayer {conf}", SHAPE, laws=[law])


@pytest.mark.parametrize(
    ("kind", "conf", "sources"),
    [
        (ReLU, "", (SHAPE,)),
        (Multiply, "", (SHAPE, (3, 1, 5))),
        (SoftmaxLoss, "softmaxloss_conf { scale: 2 }", (Spec((4, 3)), Spec((4,), INT))),
    ],
)
def test_types_of_netpart_obey(kind: type[Layer], conf: str, sources: tuple[Spec, ...]) -> None:
    check_layer(kind, conf, *sources, examples=10)


def test_the_laws_have_names() -> None:
    with pytest.raises(ValueError, match=r"speed: expected a law out of shape, cost, gradient, cut"):
        check_layer(ReLU, "", SHAPE, laws=["speed"])
    assert LAWS == ("shape", "cost", "gradient", "cut")
