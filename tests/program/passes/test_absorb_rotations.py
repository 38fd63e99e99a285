"""Rotations become part of the attention that alone reads them, and no others do."""

from __future__ import annotations

from netpart.graph.partition import partition_job
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Forward, Instruction
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.spec import Shape
from tests.laws.workers import ChannelsLast

NET = """
name: "net" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput store_conf { shape: 6 shape: 8 batchsize: 4 } synthetic_conf { classes: 3 }
  }
  layer { name: "q" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 8 axis: 2 bias_term: false } param { } }
  layer { name: "k" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 8 axis: 2 bias_term: false } param { } }
  layer { name: "turned-q" type: kRotary srclayers: "q" }
  layer { name: "turned-k" type: kRotary srclayers: "k" }
  layer { name: "mix" type: kAttention srclayers: "turned-q" srclayers: "turned-k" srclayers: "turned-k" }
  layer { name: "fc" type: kInnerProduct srclayers: "mix" innerproduct_conf { num_output: 3 } param { } param { } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""  # noqa: E501
VALUES = NET.replace('srclayers: "turned-k" srclayers: "turned-k"', 'srclayers: "turned-k" srclayers: "k"')


class Turning(ChannelsLast):
    turns_rows = True

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int, drops: bool = False) -> Shape:
        return pairs[:-1]


def played(job: JobProto, keep: bool = False) -> tuple[list[str], list[Instruction]]:
    """The names of the parts that a training step runs, forward and backward, and all instructions."""
    cut = partition_job(job, 1)
    found = compile_worker(cut, 0, keep=keep, kernels=Turning).phases["train"].instructions
    return [cut.graph.parts[i.part].name for i in found if isinstance(i, Forward | Backward)], found


def test_a_rotation_that_attention_alone_reads_is_made_there() -> None:
    names, found = played(read_job_text(VALUES).proto)
    assert not [name for name in names if name.startswith("turned")]
    (mix,) = [i for i in found if isinstance(i, Forward) and i.turned]
    assert min(mix.turned) >= 0
    made = [i.y[0] for i in found if isinstance(i, Forward) and i.y[0] in mix.x]
    assert made == list(dict.fromkeys(mix.x[:2]))
    (back,) = [i for i in found if isinstance(i, Backward) and i.part == mix.part]
    assert back.x == mix.x


def test_one_that_others_read_stays() -> None:
    names, found = played(read_job_text(NET).proto)
    assert [name for name in names if name.startswith("turned")] == ["turned-k", "turned-k"]
    (mix,) = [i for i in found if isinstance(i, Forward) and i.turned]
    assert mix.turned[1] == -1


def test_what_is_kept_or_repeated_is_made() -> None:
    assert played(read_job_text(VALUES).proto, keep=True)[0].count("turned-q") == 2
    repeated = read_job_text(VALUES).proto
    repeated.neuralnet.recompute = True
    names, found = played(repeated)
    runs = [i.part for i in found if isinstance(i, Forward)]
    turned = [i for i in found if isinstance(i, Forward) and i.turned]
    assert len(runs) > len(set(runs)) or turned
    assert names.count("mix") == 2 or not turned
