"""Sharing: what lies in the place of another, and that nobody reads anything else for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from netpart.program.buffers import Buffer, View
from netpart.program.compile import compile_worker
from netpart.program.instructions import Accumulate, Channel, Copy, Instruction, Send, Way, Zero
from netpart.program.passes.buffer_sharing import BufferSharing
from netpart.program.program import Program
from netpart.proto.reader import read_job_text
from netpart.spec import whole_region

RESIDUAL = """
name: "net" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput
    store_conf { shape: 4 shape: 6 shape: 6 batchsize: 4 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "stem" type: kCConvolution srclayers: "data" convolution_conf { num_filters: 4 kernel: 1 }
    param { name: "w" }
  }
  layer { name: "relu" type: kReLU srclayers: "stem" }
  layer {
    name: "conv" type: kCConvolution srclayers: "relu" convolution_conf { num_filters: 4 kernel: 1 }
    param { name: "w" }
  }
  layer { name: "add" type: kAdd srclayers: "conv" srclayers: "relu" }
  layer { name: "out" type: kReLU srclayers: "add" }
  layer { name: "flat" type: kFlatten srclayers: "out" }
  layer {
    name: "fc" type: kInnerProduct srclayers: "flat" innerproduct_conf { num_output: 4 }
    param { name: "w" } param { name: "b" }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def test_a_residual_block_lies_in_three_places() -> None:
    """Forward: stem and relu; conv, add, out and flat. Backward all gradients are one, but for that of a product."""
    compiled = compile_worker(partition_job(read_job_text(RESIDUAL).proto, 1), 0)
    program = compiled.phases["train"]

    def together(*names: str) -> bool:
        return len({place(program, compiled.buffers, name) for name in names}) == 1

    assert together("stem.y", "relu.y")
    assert together("conv.y", "add.y", "out.y", "flat.y")
    assert not together("stem.y", "conv.y")
    assert together("d(flat)", "d(out)", "d(add)", "d(conv)", "d(relu)", "d(stem)")
    assert not together("d(flat)", "conv.dx0")


def place(program: Program, buffers: list[Buffer], name: str) -> int:
    """Where a buffer lies."""
    return program.offsets[next(b for b, buffer in enumerate(buffers) if buffer.name == name)]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Buffer], list[Instruction]]:
    """Copies and sums over buffers that are written to before they are read, and what is told of them."""
    count = draw(st.integers(2, 6))
    buffers = [Buffer(f"b{i}", (3,)) for i in range(count)]
    views = [View(i, whole_region((3,))) for i in range(count)]
    known, out = set[int](), list[Instruction]()
    for _ in range(draw(st.integers(1, 14))):
        verb, a, b = draw(st.tuples(st.sampled_from("zcas"), st.sampled_from(views), st.sampled_from(views)))
        if verb == "z":
            out.append(Zero(a))
        elif verb == "c" and b.buffer in known and a != b:
            out.append(Copy(a, b))
        elif verb == "a" and {a.buffer, b.buffer} <= known and a != b:
            out.append(Accumulate(a, b))
        elif verb == "s" and a.buffer in known:
            out.append(Send(a, 0, Channel(1, Way.FORWARD, 0, 0), ""))
        known |= {a.buffer} if verb == "z" or (verb == "c" and b.buffer in known) else set()
    return buffers, out


@given(programs())
def test_nobody_reads_anything_else(program: tuple[list[Buffer], list[Instruction]]) -> None:
    buffers, instructions = program
    apart = {b: b for b in range(len(buffers))}
    assert told(instructions, apart | BufferSharing(buffers, instructions, {}).find()) == told(instructions, apart)


def told(instructions: list[Instruction], places: dict[int, int]) -> list[int]:
    """What is sent, if every zero is another number."""
    memory, sent = dict[int, int](), list[int]()
    for time, instruction in enumerate(instructions):
        match instruction:
            case Zero(target):
                memory[places[target.buffer]] = 1 << time
            case Copy(target, source):
                memory[places[target.buffer]] = memory[places[source.buffer]]
            case Accumulate(target, source):
                memory[places[target.buffer]] += memory[places[source.buffer]]
            case Send(source):
                sent.append(memory[places[source.buffer]])
    return sent
