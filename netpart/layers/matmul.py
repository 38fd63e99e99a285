"""kMatmul: the batched matrix product of two sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import check_sources, fault, float_source
from netpart.layers.layer import INPUT, Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Shape, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Matmul(Layer):
    """y = a b for sources (batch, ..., rows, columns), each optionally transposed. Cut on its inputs, each part
    computes an addend of y."""

    types: ClassVar[tuple[str, ...]] = ("kMatmul",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("matmul",)
    confs: ClassVar[tuple[str, ...]] = ("matmul_conf",)

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the left matrices", "the right matrices")
        a = float_source(self, 0, least=3).shape
        b = float_source(self, 1, least=3).shape
        conf = self.conf.matmul_conf
        self.flips = bool(conf.transpose_a), bool(conf.transpose_b)
        (rows, self.terms), (terms, columns) = (
            s[-2:][:: -1 if t else 1] for s, t in zip((a, b), self.flips, strict=True)
        )
        if a[:-2] != b[:-2] or terms != self.terms:
            expected = f"matrices of {self.terms} rows for each of {a[:-2]}"
            raise fault(self, expected, str(b), "make the sources match, or transpose one", "srclayers", 1)
        return (Spec((*a[:-2], rows, columns)),)

    def cuts(self) -> tuple[int | str, ...]:
        return (*range(self.output.rank), INPUT)

    def contraction(self) -> Shape | None:
        return (self.terms,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        *lead, rows, columns = region
        (seen,) = term or ((0, self.terms),)
        pairs = zip(((rows, seen), (seen, columns)), self.flips, strict=True)
        return Needs(tuple((*lead, *pair[:: -1 if flip else 1]) for pair, flip in pairs))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        price = flops.matmul_flops(size(region), size(term or ((0, self.terms),)))
        return Cost(price, (price, price), 0, price // 2)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.matmul(call.x[0], call.x[1], call.y[0], *self.flips)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        # da = dy b' and db = a' dy. If a source is stored transposed, its gradient is too: the product is then taken
        # in the other order, (dy b')' = b dy', instead of transposing the result.
        (a, b) = call.x
        (ta, tb) = self.flips
        dy = call.dy[0]
        ops = []
        da = wanted_gradient(call.dx, 0)
        db = wanted_gradient(call.dx, 1)
        if da is not None:
            ops.append(kernels.matmul(b, dy, da, tb, True) if ta else kernels.matmul(dy, b, da, False, not tb))
        if db is not None:
            ops.append(kernels.matmul(dy, a, db, True, ta) if tb else kernels.matmul(a, dy, db, not ta, False))
        return chain_ops(*ops)
