"""kAttention: for each query the mean of the values, weighted by how well their keys match the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import check_sources, fault, float_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Attention(Layer):
    """y = softmax(scale * q k') v of q (batch, ..., T, D), k (batch, ..., S, D) and v (batch, ..., S, E).

    A part of the queries needs all keys and values. With ``causal`` it needs only those up to its last query.
    """

    types: ClassVar[tuple[str, ...]] = ("kAttention",)
    confs: ClassVar[tuple[str, ...]] = ("attention_conf",)

    def infer(self) -> tuple[Spec, ...]:
        check_sources(self, "the queries", "the keys", "the values")
        q, k, v = (float_source(self, i, least=3).shape for i in range(3))
        conf = self.conf.attention_conf
        if (*k[:-2], k[-1]) != (*q[:-2], q[-1]):
            raise fault(self, f"keys like the queries {q}, of any number", str(k), "make them match", "srclayers", 1)
        if v[:-1] != k[:-1]:
            raise fault(self, f"values for the keys {k}, of any width", str(v), "make them match", "srclayers", 2)
        if conf.causal and q[-2] != k[-2]:
            got = f"{k[-2]} keys"
            hint = "omit causal"
            raise fault(self, f"a key for each of the {q[-2]} queries", got, hint, "attention_conf", "causal")
        self.scale = conf.scale or q[-1] ** -0.5
        self.keys, self.width = k[-2], q[-1]
        return (Spec((*q[:-1], v[-1])),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        *lead, rows, columns = region
        seen = self._seen(region)
        width = (0, self.width)
        return Needs(((*lead, rows, width), (*lead, seen, width), (*lead, seen, columns)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        pairs = size(self._pairs(region))
        scores, values = (flops.matmul_flops(pairs, n) for n in (self.width, extent(region)[-1]))
        return Cost(scores + pairs + values, (values + pairs + scores, scores, values), 0, (scores + values) // 2)

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        return ((kernels.attention_keeps(extent(self._pairs(region)), self.width, extent(region)[-1]), FLOAT),)

    def keeps_order(self, kernels: type[Kernels], order: tuple[int, ...]) -> bool:
        # Kernels that keep less than all scores read rows; products of all scores want matrices in even steps.
        rows = not order or order[-1] == self.output.rank - 1
        return kernels.any_order and rows and self._keeps_no_scores(kernels)

    def turns_inputs(self, kernels: type[Kernels]) -> bool:
        """True if ``kernels`` can rotate queries and keys while they compute the layer."""
        return kernels.turns_rows and self._keeps_no_scores(kernels)

    def _keeps_no_scores(self, kernels: type[Kernels]) -> bool:
        pairs = (*self.output.shape[:-1], self.keys)
        return kernels.attention_keeps(pairs, self.width, self.output.shape[-1]) != pairs

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.attention(self._arguments(call))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        (dq, dk, dv) = (wanted_gradient(call.dx, i) for i in range(3))
        if dq is None and dk is None and dv is None:
            return chain_ops()
        return kernels.attention_gradient(self._arguments(call), call.dy[0], dq, dk, dv)

    def _arguments(self, call: Call) -> AttentionArguments:
        q, k, v = call.x
        return AttentionArguments(q, k, v, call.y[0], call.aux[0], self.scale, self._first(call.region), call.turns)

    def _first(self, region: Region) -> int | None:
        """The position of the first query of ``region`` in the whole; None without ``causal``, which alone uses it."""
        return region[-2][0] if self.conf.attention_conf.causal else None

    def _seen(self, region: Region) -> tuple[int, int]:
        """The range of keys that the queries of ``region`` see."""
        return 0, region[-2][1] if self.conf.attention_conf.causal else self.keys

    def _pairs(self, region: Region) -> Region:
        """The box of the scores of ``region``: (batch, ..., queries, keys)."""
        return (*region[:-1], self._seen(region))
