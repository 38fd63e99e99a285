"""A random net written flat, with blocks and with the builder is one graph, and is written with its blocks again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from netpart.graph.partition_codec import encode_partition
from netpart.proto.blocks.flat_text import write_flat_job
from netpart.proto.blocks.folded_text import write_expanded_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble
from tests.laws.nets import cut
from tests.laws.sections import Section, SectionedNet, sectioned_nets
from tests.laws.sketch import Sketch
from tests.laws.workers import bits
from tests.laws.writings import built_net, flat_job, text_with_blocks
from tests.thorough import example_count

STEPS = 2


class Written(NamedTuple):
    """A net with its sections, its text with blocks, and a number of workers."""

    net: SectionedNet
    text: str
    workers: int


@st.composite
def written_nets(draw: st.DrawFn) -> Written:
    """A random net and its text with blocks."""
    net = draw(sectioned_nets())
    return Written(net, text_with_blocks(net, draw), draw(st.integers(1, 4)))


def trained_bits(job: JobProto, workers: int) -> tuple[bytes, list[bytes]]:
    """The partitioned graphs of ``job``, and all parameters and states after two training steps."""
    cut = partition_job(job, workers)
    ensemble = Ensemble(cut)
    ensemble.initialise()
    with np.errstate(all="ignore"):
        for step in range(STEPS):
            ensemble.step("train", step)
    return encode_partition(cut, 0), bits(ensemble)


@settings(max_examples=example_count(60))
@given(drawn=written_nets())
def test_a_net_written_flat_with_blocks_and_by_a_program_is_one_graph(drawn: Written) -> None:
    flat = read_job_text(text_format.MessageToString(flat_job(drawn.net))).proto
    with_blocks = read_job_text(drawn.text).proto
    built = built_net(drawn.net).job().proto
    assert with_blocks == flat
    assert built == flat
    expected = trained_bits(flat, drawn.workers)
    assert trained_bits(with_blocks, drawn.workers) == expected
    assert trained_bits(built, drawn.workers) == expected


@st.composite
def cut_nets(draw: st.DrawFn) -> tuple[Written, JobProto]:
    """A random net, and the job that it is after each layer of each instance was cut by itself."""
    written = draw(written_nets())
    s = Sketch(draw, job=flat_job(written.net))
    for layer in s.job.neuralnet.layer:
        s.add(layer)
    cut(s, written.workers)
    return written, s.job


@settings(max_examples=example_count(40))
@given(drawn=cut_nets())
def test_a_net_is_written_with_its_blocks_whatever_was_changed(drawn: tuple[Written, JobProto]) -> None:
    written, changed = drawn
    job = read_job_text(written.text)
    if job.expansion is None:  # neither a section nor a value was drawn
        return
    for proto in (job.proto, changed):
        assert read_job_text(write_flat_job(job.expansion, proto)).proto == proto
        folded = write_expanded_job(job.expansion, proto)
        assert read_job_text(folded).proto == proto
        assert ("kBlock" in folded) == any(isinstance(item, Section) for item in written.net.items)
