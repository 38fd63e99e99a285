"""Uneven cuts: warnings for parts far above the mean, with the option that makes the cut even (regions.md, D16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.graph.passes.uneven_cuts import cut_extent
from netpart.plan.text.cut_text import axis_name, axis_sizes, sizes_text
from netpart.proto.cut_pb2 import CutProto
from netpart.proto.phase import counts_in_phase

UNEVEN = 1.25
"""Limit of the largest part, relative to the mean."""


def uneven_warnings(partition: Partition) -> Iterator[str]:
    """One warning per uneven cut and remedy; layers with the same cut and remedy share a warning."""
    found: dict[str, list[str]] = {}
    for node, placement in zip(partition.graph.net.nodes, partition.graph.placements, strict=True):
        for axis, sizes in axis_sizes(placement).items():
            if _relative_excess(sizes) > UNEVEN:
                what = f"{axis_name(node.layer, axis)} {sizes_text(sizes)}"
                warning = f"{what}, the largest part is {_relative_excess(sizes):.2f} times the mean"
                found.setdefault(f"{warning}; {_balance_hint(partition, node, axis, sizes)}", []).append(node.name)
    for warning, names in found.items():
        yield f"{', '.join(names)}: {warning}"


def _relative_excess(sizes: Sequence[int]) -> float:
    """The largest part relative to the mean."""
    return max(sizes) * len(sizes) / sum(sizes)


def _even_sizes(sizes: Sequence[int]) -> list[int]:
    """Sizes with the same sum and number of parts, as even as possible."""
    return [hi - lo for lo, hi in cut_extent(sum(sizes), len(sizes), spread=True)]


def _balance_hint(partition: Partition, node: Node, axis: int, sizes: list[int]) -> str:
    """The option that makes a cut even, or another remedy."""
    even = _even_sizes(sizes)
    if node.conf.shard:
        return "give its shards boxes of like size"
    if max(even) == max(sizes):
        return _unbalanced_hint(partition, axis, sizes)
    return f"even it out with --set {_balance_option(partition, node, axis, sizes, even)}"


def _balance_option(partition: Partition, node: Node, axis: int, sizes: list[int], even: list[int]) -> str:
    """The field that sets the sizes of a cut, with the value that makes them ``even``."""
    listed = ",".join(map(str, even))
    for i, cut in enumerate(node.conf.cut):
        along = cut.over == CutProto.AXIS and cut.axis == axis
        if along and cut.sizes and counts_in_phase(cut, partition.graph.net.phase):
            return f"{_setting_key(partition, node)}.cut[{i}].sizes={listed}"
    # A list of batch sizes overrides ``remainder``, so that is the field to set.
    if axis == 0 and (rows := _batch_sizes(node)) is not None and rows[1] == sizes:
        return f"{_setting_key(partition, node)}.{rows[0]}.batchsize={listed}"
    owner = _setting_key(partition, node) if node.conf.HasField("remainder") else "neuralnet"
    return f"{owner}.remainder=SPREAD"


def _unbalanced_hint(partition: Partition, axis: int, sizes: list[int]) -> str:
    """The remedy if no other remainder is more even: another batch size, or fewer parts."""
    inputs = [
        (_setting_key(partition, node), found) for node in partition.graph.net.nodes if (found := _batch_sizes(node))
    ]
    if axis != 0 or len(inputs) != 1 or partition.job.neuralnet.micro_batches > 1:
        return f"cut it into fewer parts: {sum(sizes)} on {len(sizes)} cannot be even"
    name, (field, _) = inputs[0]
    rows = max(sizes) * len(sizes) * partition.graph.net.rows // sum(sizes)
    return f"{sum(sizes)} on {len(sizes)} cannot be even, but --set {name}.{field}.batchsize={rows} can"


def _batch_sizes(node: Node) -> tuple[str, list[int]] | None:
    """(conf, batchsize) of an input layer; None for another layer."""
    for name in ("store_conf", "sharddata_conf", "text_conf", "array_conf", "token_conf", "lmdbdata_conf"):
        if node.layer.is_input and node.conf.HasField(name):
            size = getattr(node.conf, name).batchsize
            return name, [size] if isinstance(size, int) else list(size)
    return None


def _setting_key(partition: Partition, node: Node) -> str:
    """The name of a layer in --set: with its phase if several layers have the name."""
    alike = [layer for layer in partition.job.neuralnet.layer if layer.name == node.name]
    return f"{node.name}@train" if len(alike) > 1 else node.name
