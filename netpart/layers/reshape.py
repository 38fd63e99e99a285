"""kReshape and kFlatten: the same elements in the same order on other axes; the batch axis stays.

The axes are divided into groups that hold the same elements on both sides, such as (2, 3 | 8) -> (6 | 4, 2). On the
leading axis of a group, a range of the output is a contiguous run of the elements of the group. It needs those rows of
the leading input axis that contain the run.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod
from operator import mul
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.checks import fault, one_source, require_conf
from netpart.layers.layer import Layer, MemoryReuse
from netpart.layers.part import Call, Needs
from netpart.layers.weights import wanted_gradient
from netpart.spec import Region, Shape, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

AT = "reshape_conf", "shape"


@final
class Reshape(Layer):
    """Input (batch, ...), output (batch, *shape) or, flattened, (batch, features)."""

    types: ClassVar[tuple[str, ...]] = ("kReshape", "kFlatten")
    narrow_verbs: ClassVar[tuple[str, ...]] = ("copy",)
    confs: ClassVar[tuple[str, ...]] = ("reshape_conf",)
    rereads = ""
    reuse = (MemoryReuse.SAME, MemoryReuse.SAME)

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.job_pb2 import LayerType

        source = one_source(self)
        flat = self.conf.type == LayerType.kFlatten
        if flat and self.conf.HasField("reshape_conf"):
            hint = "remove it, or write type: kReshape"
            raise fault(self, "no conf, as kFlatten reads none", "reshape_conf", hint, "reshape_conf")
        shape = (source.shape[0], *((prod(source.shape[1:]),) if flat else self._shape(source)))
        self.groups = axis_groups(source.shape, shape)
        return (Spec(shape),)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(_leading_axis(self.output.shape, axes) for _, axes in self.groups)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        box = list(self.inputs[0].whole)
        for theirs, ours in self.groups:
            # A need is a box, a run in general is not: it is widened to whole rows of the leading input axis.
            lo, hi = _group_span(self.output.shape, ours, region)
            axis = _leading_axis(self.inputs[0].shape, theirs)
            row = prod(self.inputs[0].shape[axis + 1 : theirs.stop])
            box[axis] = lo // row, -(-hi // row)
        return Needs((tuple(box),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        return kernels.copy(self._runs(call.y[0], 1), self._runs(call.x[0], 0)[self._used(call)])

    def backward(self, kernels: Kernels, call: Call) -> Op:
        dx = wanted_gradient(call.dx, 0)
        used = self._used(call)
        if dx is None:
            return chain_ops()
        target = self._runs(dx, 0)
        # The widened input may hold elements that this part does not output: their gradient is 0 here, and another
        # part adds its own.
        unused = [kernels.zero(dx)] if dx.size > call.dy[0].size else []
        return chain_ops(*unused, kernels.copy(target[used], self._runs(call.dy[0], 1)))

    def _used(self, call: Call) -> tuple[slice, ...]:
        """The slices, one per group, of the part's input (as ``_runs`` has it) that are its output."""
        ours = [_group_span(self.output.shape, axes, call.region) for _, axes in self.groups]
        theirs = [_group_span(self.inputs[0].shape, axes, call.needs.inputs[0] or ()) for axes, _ in self.groups]
        return tuple(slice(lo - start, hi - start) for (lo, hi), (start, _) in zip(ours, theirs, strict=True))

    def _runs(self, a: Array, side: int) -> Array:
        """A view of a part's array with one axis per group."""
        return a.reshape([prod(a.shape[i] for i in group[side]) for group in self.groups])

    def _shape(self, source: Spec) -> Shape:
        """The output shape after the batch, from reshape_conf; raises ConfigError if it does not fit the source."""
        require_conf(self, "reshape_conf", "shape: 4 shape: -1")
        shape = list(self.conf.reshape_conf.shape)
        features = prod(source.shape[1:])
        known = prod(n for n in shape if n != -1)
        if shape.count(-1) == 1 and known > 0:
            shape[shape.index(-1)] = features // known
        if min(shape, default=0) < 1 or prod(shape) != features:
            got = str(list(self.conf.reshape_conf.shape))
            hint = "write the extents after the batch; one may be -1"
            raise fault(self, f"extents of {features} elements, those of one row", got, hint, *AT)
        return tuple(shape)


def axis_groups(a: Shape, b: Shape) -> list[tuple[range, range]]:
    """Pairs (axes of ``a``, axes of ``b``) that hold the same elements: the batch, then the smallest groups."""
    # A group may end wherever the products of the extents so far are equal on both sides. Of axes of extent 1, which
    # repeat a product, the last one counts.
    ends_a, ends_b = ({n: i for i, n in enumerate(accumulate(shape[1:], mul), start=2)} for shape in (a, b))
    common = [(ends_a[n], ends_b[n]) for n in sorted(ends_a.keys() & ends_b.keys())]
    return [(range(i, k), range(j, m)) for (i, j), (k, m) in pairwise([(0, 0), (1, 1), *common])]


def _leading_axis(shape: Shape, axes: range) -> int:
    """The first axis of a group that is longer than 1: a range on it is a contiguous run of the group's elements."""
    return next((a for a in axes if shape[a] > 1), axes.start)


def _group_span(shape: Shape, axes: range, region: Region) -> tuple[int, int]:
    """The range of elements of the group ``axes`` that ``region`` holds; it may be cut on the leading axis only."""
    axis = _leading_axis(shape, axes)
    row = prod(shape[axis + 1 : axes.stop])
    return region[axis][0] * row, region[axis][1] * row
