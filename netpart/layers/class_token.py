"""kClassToken: a learned vector before the first position."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import one_source
from netpart.layers.layer import Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient, weight_and_bias
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class ClassToken(Layer):
    """y = [w x]; input (batch, positions, ...), output one position longer (Devlin et al., BERT, 2018)."""

    types: ClassVar[tuple[str, ...]] = ("kClassToken",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self, least=3)
        rows, positions, *features = source.shape
        return (Spec((rows, positions + 1, *features)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        shape = self.output.shape[2:]
        return weight_and_bias(self, shape, (1, size(self.output.whole[2:])), shape, blocks=(1,))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        rows, (lo, hi), *features = region
        # Output position p is input position p - 1; output position 0 is the token. A part that is position 0 alone
        # needs no input, a part that begins later needs no token.
        rest = (rows, (max(lo - 1, 0), hi - 1), *features)
        return Needs((rest if hi > 1 else None,), (tuple(features) if lo == 0 else None,))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        owns = region[1][0] == 0
        return Cost(0, (0,), flops.fold_flops(size(region[2:]), size((region[0], *region[2:]))) if owns else 0)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (token, rest) = self._split(call, call.y[0])
        ops = []
        if call.needs.params[0] is not None:
            ops.append(kernels.total(token, [call.w[0]]))
        if call.needs.inputs[0] is not None:
            ops.append(kernels.copy(rest, call.x[0]))
        return chain_ops(*ops)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        (token, rest) = self._split(call, call.dy[0])
        ops = []
        dx = wanted_gradient(call.dx, 0)
        dw = wanted_gradient(call.dw, 0)
        if dw is not None and call.needs.params[0] is not None:
            ops.append(kernels.fold(dw[None, None], token))
        if dx is not None and call.needs.inputs[0] is not None:
            ops.append(kernels.copy(dx, rest))
        return chain_ops(*ops)

    def _split(self, call: Call, array: Array) -> tuple[Array, Array]:
        """Split ``array``, which holds the part's region, into views of the learned position and of the others.

        The first view is empty if the part does not begin at position 0.
        """
        own = int(call.region[1][0] == 0)
        return array[:, :own], array[:, own:]
