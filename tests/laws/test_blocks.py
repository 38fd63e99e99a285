"""A random net written flat and with blocks is one net, and is written with its blocks again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.proto.blocks.flat_text import write_flat_job
from netpart.proto.blocks.folded_text import write_expanded_job
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType, NetProto
from netpart.proto.reader import read_job_text
from tests.laws.nets import nets
from tests.thorough import example_count

FIRST = 900_001
"""The first of the numbers that stand for placeholders until the text is written: no random net has them."""


def provided_names(layer: LayerProto, net: NetProto) -> list[str]:
    """The names by which others read ``layer``: its own, or the outputs of the block that it uses."""
    outputs = [name for block in net.block if block.name == layer.block_conf.of for name in block.output]
    return [f"{layer.name}-{name}" for name in outputs] if layer.HasField("block_conf") else [layer.name]


def enclose(net: NetProto, layers: Sequence[LayerProto], lo: int, hi: int, name: str) -> list[LayerProto]:
    """``layers`` with a layer kBlock in place of those from ``lo`` to ``hi``, which become its block in ``net``."""
    inside = {each for layer in layers[lo:hi] for each in provided_names(layer, net)}
    others = [*layers[:lo], *layers[hi:]]
    read = {source for layer in others for source in layer.srclayers}
    inputs = list(dict.fromkeys(s for layer in layers[lo:hi] for s in layer.srclayers if s not in inside))
    block = net.block.add(name=f"block {name}", output=sorted(inside & read))
    block.input.extend(f"in{k}" for k in range(len(inputs)))
    use = LayerProto(name=name, type=LayerType.kBlock, srclayers=inputs)
    use.block_conf.of = block.name
    for layer in layers[lo:hi]:
        layer.srclayers[:] = [f"in{inputs.index(s)}" if s in inputs else s for s in layer.srclayers]
        block.layer.add().CopyFrom(layer)
    for layer in others:
        layer.srclayers[:] = [f"{name}-{s}" if s in inside else s for s in layer.srclayers]
    return [*layers[:lo], use, *layers[hi:]]


def rename_instance(job: JobProto, lo: int, hi: int, name: str) -> None:
    """Give the layers from ``lo`` to ``hi`` of a flat job, and their parameters, their names in the instance."""
    inside = job.neuralnet.layer[lo:hi]
    names = {layer.name for layer in inside}
    parameters = {param.name for layer in inside for param in layer.param if param.name}
    for layer in job.neuralnet.layer:
        layer.srclayers[:] = [f"{name}-{source}" if source in names else source for source in layer.srclayers]
        for param in layer.param:
            if param.share_from in parameters or param.share_from.partition("/")[0] in names:
                param.share_from = f"{name}-{param.share_from}"
    for layer in inside:
        layer.name = f"{name}-{layer.name}"
        for param in layer.param:
            if param.name:
                param.name = f"{name}-{param.name}"


def whole_numbers(layer: LayerProto) -> Iterator[tuple[Any, str]]:
    """The numbers in the confs of ``layer`` in whose place a placeholder may stand: the block and the field of each."""
    for known, conf in layer.ListFields():
        if known.name.endswith("_conf") and known.name != "block_conf":
            yield from (
                (conf, each.name) for each, value in conf.ListFields() if type(value) is int and not each.enum_type
            )


@st.composite
def jobs_with_blocks(draw: st.DrawFn) -> tuple[JobProto, str]:
    """A flat job, and the text of the same with a block, perhaps another within it, and values with names."""
    flat = draw(nets()).job
    for param in (param for layer in flat.neuralnet.layer for param in layer.param):
        param.ClearField("share_from")
    job = JobProto()
    job.CopyFrom(flat)
    layers = list(job.neuralnet.layer)
    lo = draw(st.integers(0, len(layers) - 1))
    hi = draw(st.integers(lo + 1, len(layers)))
    middle = draw(st.integers(lo, hi - 1))
    if middle > lo:
        layers = enclose(job.neuralnet, layers, lo, middle, "in")
        rename_instance(flat, lo, middle, "in")
    rename_instance(flat, lo, hi, "b")
    layers = enclose(job.neuralnet, layers, lo, hi - max(middle - lo - 1, 0), "b")
    kept = [LayerProto.FromString(layer.SerializeToString()) for layer in layers]
    del job.neuralnet.layer[:]
    job.neuralnet.layer.extend(kept)
    return flat, text_with_values(job, draw)


def text_with_values(job: JobProto, draw: st.DrawFn) -> str:
    """The text of ``job`` with placeholders in place of some numbers."""
    net = job.neuralnet
    values: list[int] = []
    for layer in (*net.layer, *(layer for block in net.block for layer in block.layer)):
        for conf, name in whole_numbers(layer):
            if draw(st.booleans()):
                values.append(getattr(conf, name))
                setattr(conf, name, FIRST + len(values) - 1)
                net.let.add(name=f"v{len(values)}", value=str(values[-1]))
    text = text_format.MessageToString(job)
    for k in range(len(values)):
        text = text.replace(str(FIRST + k), f"${{v{k + 1}}}")
    return text


@settings(max_examples=example_count(100))
@given(drawn=jobs_with_blocks())
def test_a_net_with_blocks_is_the_net_without_them(drawn: tuple[JobProto, str]) -> None:
    flat, text = drawn
    job = read_job_text(text)
    assert job.proto == flat
    assert job.expansion is not None
    assert read_job_text(write_flat_job(job.expansion, job.proto)).proto == flat
    again = write_expanded_job(job.expansion, job.proto)
    assert "kBlock" in again
    assert read_job_text(again).proto == flat
