"""Inner product: every output neuron reads all input features; the axes of the input are kept in the weight."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import at_least, fault, one_source, require_conf
from netpart.layers.layer import INPUT, Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import (
    added_gradient,
    bias_region,
    part_bias,
    product_cost,
    wanted_gradient,
    weight_and_bias,
)
from netpart.spec import Region, Shape, Spec, size, whole_region

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class InnerProduct(Layer):
    """y = x W' + b; W is (outputs, *features), or (*features, outputs) with ``transpose``.

    The features are the axes from ``axis`` on. Each position on the axes before it is a row of its own. W keeps the
    axes of the input, so that a cut on one of them corresponds to a box of W.
    """

    types: ClassVar[tuple[str, ...]] = ("kInnerProduct",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("inner_product",)
    confs: ClassVar[tuple[str, ...]] = ("innerproduct_conf",)
    splits_backward: ClassVar[bool] = True
    output_verb: ClassVar[str] = "inner_product"
    gradient_verb: ClassVar[str] = "inner_product_data"
    rereads = "x"
    fuses_activation: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        conf = self.conf.innerproduct_conf
        require_conf(self, "innerproduct_conf", "num_output: 10")
        self.axis = at_least(self, 1, conf.axis, "innerproduct_conf", "axis")
        self.transpose = conf.transpose
        if self.axis >= source.rank:
            expected = f"an axis below {source.rank}"
            hint = f"its source is {source.shape}"
            raise fault(self, expected, str(self.axis), hint, "innerproduct_conf", "axis")
        self.features = source.shape[self.axis :]
        self.outputs_count = at_least(self, 1, conf.num_output, "innerproduct_conf", "num_output")
        return (Spec((*source.shape[: self.axis], self.outputs_count)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        out = self.outputs_count
        size = prod(self.features)
        shape = (*self.features, out) if self.transpose else (out, *self.features)
        # A checkpoint holds W as a matrix, whatever axes the input has.
        saved = (size, out) if self.transpose else (out, size)
        return weight_and_bias(self, shape, (out, size), saved, (1 + self.conf.innerproduct_conf.bias_term,), True)

    def strips_gradients(self) -> bool:
        return not self.transpose

    def cuts(self) -> tuple[int | str, ...]:
        return (*range(self.output.rank), INPUT)

    def contraction(self) -> Shape | None:
        return self.features

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        seen = term or whole_region(self.features)
        weight = (*seen, region[-1]) if self.transpose else (region[-1], *seen)
        return Needs(((*region[:-1], *seen),), (weight, *bias_region(self, region[-1], term)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return product_cost(self.needs(region, term), size(region), size(term or whole_region(self.features)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        x = self._rows(call.x[0])
        add = call.addend is not None
        y = self._rows(call.addend if add else call.y[0])
        return kernels.inner_product(x, call.w[0], part_bias(call, call.w), y, self.transpose, call.activation, add)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        ops = []
        dx = wanted_gradient(call.dx, 0)
        dw = wanted_gradient(call.dw, 0)
        dy = self._rows(call.dy[0])
        if dx is not None:
            ops.append(kernels.inner_product_data(dy, call.w[0], self._rows(dx), self.transpose, added_gradient(call)))
        if dw is not None:
            x = self._rows(call.x[0])
            ops.append(kernels.inner_product_weights(x, dy, dw, part_bias(call, call.dw), self.transpose))
        return chain_ops(*ops)

    def _rows(self, a: Array) -> Array:
        """A view of a part's array with one axis for all rows."""
        return a.reshape(prod(a.shape[: self.axis]), *a.shape[self.axis :])
