"""kEmbedding: each token is replaced by its row of a learned table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.op import Op, chain_ops
from netpart.layers.checks import at_least, check_sources, fault, require_conf
from netpart.layers.layer import INPUT, Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import wanted_gradient, weight_and_bias
from netpart.spec import INT, Region, Shape, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class Embedding(Layer):
    """Input: int tokens (batch, ...); output (batch, ..., feature_dim).

    Cut on its inputs, each part holds a range of the vocabulary and outputs 0 for tokens outside of it.
    """

    types: ClassVar[tuple[str, ...]] = ("kEmbedding",)
    confs: ClassVar[tuple[str, ...]] = ("embedding_conf",)
    rereads = "x"

    def infer(self) -> tuple[Spec, ...]:
        (source,) = check_sources(self, "the tokens")
        conf = self.conf.embedding_conf
        require_conf(self, "embedding_conf", "vocab_size: 1000 feature_dim: 100")
        if source.dtype != INT or not source.shape:
            came = f"{source.dtype} {source.shape}"
            raise fault(self, "int tokens (batch, ...)", came, "name a source of tokens", "srclayers", 0)
        self.vocabulary = at_least(self, 1, conf.vocab_size, "embedding_conf", "vocab_size")
        self.classes = self.vocabulary
        width = at_least(self, 1, conf.feature_dim, "embedding_conf", "feature_dim")
        return (Spec((*source.shape, width)),)

    def parameters(self) -> tuple[ParamSpec, ...]:
        shape = self.vocabulary, self.output.shape[-1]
        return weight_and_bias(self, shape, shape, shape, blocks=(1,))

    def cuts(self) -> tuple[int | str, ...]:
        return (*range(self.output.rank), INPUT)

    def contraction(self) -> Shape | None:
        return (self.vocabulary,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs((region[:-1],), ((*(term or ((0, self.vocabulary),)), region[-1]),))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(0, (0,), flops.elementwise_flops(size(region)))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.embedding(call.x[0], call.w[0], call.y[0], self._first(call), self.vocabulary)

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dw = wanted_gradient(call.dw, 0)
        return chain_ops() if dw is None else kernels.embedding_gradient(call.x[0], call.dy[0], dw, self._first(call))

    def _first(self, call: Call) -> int:
        """The first token whose row the part holds."""
        return call.term[0][0] if call.term else 0
