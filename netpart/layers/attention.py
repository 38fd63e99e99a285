"""kAttention: for each query the mean of the values, weighted by how well their keys match the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.arguments import AttentionArguments, AttentionDropout
from netpart.kernels.op import Op, chain_ops
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.layers.checks import check_sources, fault, float_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import FLOAT, INT, TENSOR, Region, Shape, Spec, extent, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Attention(Layer):
    """y = softmax(scale * q k') v of q (batch, ..., T, D), k (batch, ..., S, D) and v (batch, ..., S, E).

    A part of the queries needs all keys and values. With ``causal`` it needs only those up to its last query. A fourth
    source is a mask (batch, S): keys with pad_value there are not read, and a query without a key left gives 0. Which
    weights dropout sets to 0 depends on (seed, name, step, global pair of query and key) only, not on the cut.
    """

    types: ClassVar[tuple[str, ...]] = ("kAttention",)
    narrow_verbs: ClassVar[tuple[str, ...]] = ("attention",)
    exact_inputs: ClassVar[tuple[int, ...]] = (3,)
    confs: ClassVar[tuple[str, ...]] = ("attention_conf",)

    def infer(self) -> tuple[Spec, ...]:
        self._check_source_count()
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
        self._check_mask((k[0], k[-2]))
        self.drops = self._check_ratio() > 0 and self.training
        self.scale = conf.scale or q[-1] ** -0.5
        self.keys, self.width = k[-2], q[-1]
        return (Spec((*q[:-1], v[-1])),)

    def _check_source_count(self) -> None:
        wanted = "the queries", "the keys", "the values", "perhaps a mask of the keys"
        if len(self.inputs) not in (3, 4):
            check_sources(self, *wanted)

    def _check_mask(self, shape: Shape) -> None:
        """Raise ConfigError unless the mask, if there is one, has ``shape``: a number for each key."""
        mask = self.inputs[3:]
        if mask and (mask[0].dtype not in (INT, FLOAT) or mask[0].shape != shape):
            got = f"{mask[0].dtype} {mask[0].shape}"
            hint = "name the layer with the tokens, or with 0 for each key that is padding"
            raise fault(self, f"a mask (batch, keys) = {shape}", got, hint, "srclayers", 3)
        if not mask and self.conf.attention_conf.HasField("pad_value"):
            hint = "name the layer with the tokens as the fourth of srclayers, or omit pad_value"
            raise fault(self, "a mask for pad_value", "none", hint, "attention_conf", "pad_value")

    def _check_ratio(self) -> float:
        ratio = float(self.conf.attention_conf.dropout_ratio)
        if not 0 <= ratio < 1:
            hint = "write the probability that a weight becomes 0"
            raise fault(self, "0 <= dropout_ratio < 1", f"{ratio:g}", hint, "attention_conf", "dropout_ratio")
        return ratio

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        *lead, rows, columns = region
        seen = self._seen(region)
        width = (0, self.width)
        mask = (region[0], seen)
        return Needs(((*lead, rows, width), (*lead, seen, width), (*lead, seen, columns), mask)[: len(self.inputs)])

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        pairs = size(self._pairs(region))
        scores, values = (flops.matmul_flops(pairs, n) for n in (self.width, extent(region)[-1]))
        backward = values + pairs + scores, scores, values, 0
        drops = flops.elementwise_flops(pairs) * self.drops
        forward = scores + pairs + drops + values
        return Cost(forward, backward[: len(self.inputs)], 0, (scores + values) // 2)

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        pairs = extent(self._pairs(region))
        kept = kernels.attention_keeps(pairs, self.width, extent(region)[-1], self.drops)
        return ((kept, TENSOR), (pairs, TENSOR))[: 1 + self.drops]

    def keeps_order(self, kernels: type[Kernels], order: tuple[int, ...]) -> bool:
        # Kernels that keep less than all scores read rows; products of all scores may want matrices in even steps.
        rows = not order or order[-1] == self.output.rank - 1
        return kernels.any_order and rows and (kernels.scores_any_order or self._keeps_no_scores(kernels))

    def turns_inputs(self, kernels: type[Kernels]) -> bool:
        """True if ``kernels`` can rotate queries and keys while they compute the layer."""
        return kernels.turns_rows and self._keeps_no_scores(kernels)

    def _keeps_no_scores(self, kernels: type[Kernels]) -> bool:
        pairs = (*self.output.shape[:-1], self.keys)
        return kernels.attention_keeps(pairs, self.width, self.output.shape[-1], self.drops) != pairs

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.attention(self._arguments(kernels, call))

    def backward(self, kernels: Kernels, call: Call) -> Op:
        (dq, dk, dv, mask) = (wanted_gradient(call.dx, i) for i in range(4))
        ops = [] if mask is None else [kernels.zero(mask)]
        if dq is not None or dk is not None or dv is not None:
            ops.append(kernels.attention_gradient(self._arguments(kernels, call), call.dy[0], dq, dk, dv))
        return chain_ops(*ops)

    def _arguments(self, kernels: Kernels, call: Call) -> AttentionArguments:
        (q, k, v, mask) = (*call.x, None)[:4]
        return AttentionArguments(
            q, k, v, call.y[0], call.aux[0], self.scale, self._first(call.region), call.turns, mask,
            self.conf.attention_conf.pad_value, self._dropout(kernels, call) if self.drops else None,
        )  # fmt: skip

    def _dropout(self, kernels: Kernels, call: Call) -> AttentionDropout:
        (lo, hi), *box = self._pairs(call.region)
        # Global rows, not those of the micro-batch: the draws must not change with the number of micro-batches.
        rows = call.first_row + lo, call.first_row + hi
        shape = (*self.output.shape[1:-1], self.keys)
        stream = stream_key(call.seed, self.name, "attention")
        draw = UniformDraws(kernels.xp, stream, rows, tuple(box), shape, call.phase)
        return AttentionDropout(call.aux[1], draw, self._check_ratio(), call.clock)

    def _first(self, region: Region) -> int | None:
        """The position of the first query of ``region`` in the whole; None without ``causal``, which alone uses it."""
        return region[-2][0] if self.conf.attention_conf.causal else None

    def _seen(self, region: Region) -> tuple[int, int]:
        """The range of keys that the queries of ``region`` see."""
        return 0, region[-2][1] if self.conf.attention_conf.causal else self.keys

    def _pairs(self, region: Region) -> Region:
        """The box of the scores of ``region``: (batch, ..., queries, keys)."""
        return (*region[:-1], self._seen(region))
