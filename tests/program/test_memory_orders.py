"""Memory orders: which tensors lie with the channels last, and what of them is one run of memory."""

from __future__ import annotations

from netpart.graph.partition import partition_job
from netpart.kernels.reference import Kernels
from netpart.program.buffers import View, is_contiguous, same_layout
from netpart.program.compile import compile_worker
from netpart.program.instructions import Copy
from netpart.program.memory_orders import kept_orders, memory_orders
from netpart.proto.reader import read_job_text
from netpart.spec import Shape
from tests.laws.workers import ChannelsLast

NET = """
name: "net" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput
    store_conf { shape: 2 shape: 6 shape: 6 batchsize: 4 } synthetic_conf { classes: 3 }
  }
  layer {
    name: "conv" type: kCConvolution srclayers: "data" convolution_conf { num_filters: 5 kernel: 3 }
    param { name: "w" }
  }
  layer { name: "relu" type: kReLU srclayers: "conv" }
  layer { name: "pool" type: kGlobalPooling srclayers: "relu" }
  layer {
    name: "fc" type: kInnerProduct srclayers: "pool" innerproduct_conf { num_output: 3 }
    param { name: "w" } param { name: "b" }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""
LAST = (0, 2, 3, 1)


def test_orders_start_at_convolutions_and_are_passed_on() -> None:
    net = partition_job(read_job_text(NET).proto, 1).graph.net
    assert dict(zip((n.name for n in net.nodes), memory_orders(net, ChannelsLast), strict=True)) == {
        "data": LAST, "conv": LAST, "relu": LAST, "pool": LAST, "fc": (), "loss": (),
    }  # fmt: skip
    assert not any(memory_orders(net, Kernels))


class WeightsLast(ChannelsLast):
    weights_last = True


def test_weights_lie_with_their_channels_last_where_no_other_worker_has_a_part_in_them() -> None:
    job, lying = read_job_text(NET).proto, []
    for workers in (1, 2):
        compiled = compile_worker(partition_job(job, workers), 0, kernels=WeightsLast)
        views = (compiled.parameters[0], compiled.gradients[0], compiled.parameters[1])
        lying.append([compiled.buffers[view.buffer].order for view in views if view is not None])
    assert lying == [[LAST, LAST, ()], [(), (), ()]]


def test_only_what_lies_otherwise_is_copied() -> None:
    compiled = compile_worker(partition_job(read_job_text(NET).proto, 1), 0, kernels=ChannelsLast)
    copies = [i for i in compiled.phases["train"].instructions if isinstance(i, Copy)]
    assert not copies


def test_rows_that_somebody_reads_as_written_lie_so() -> None:
    text = NET.replace('"conv" type', '"flat" type: kInnerProduct srclayers: "data" param { name: "w" } '
        'innerproduct_conf { num_output: 3 bias_term: false } } layer { name: "conv" type')  # fmt: skip
    compiled = compile_worker(partition_job(read_job_text(text).proto, 1), 0, kernels=ChannelsLast)
    copies = [i for i in compiled.phases["train"].instructions if isinstance(i, Copy)]
    assert [compiled.buffers[c.target.buffer].name for c in copies] == ["conv.x0"]


def test_a_run_of_memory_is_one_in_the_order_of_memory() -> None:
    shape = (4, 5, 6, 6)
    rows, channels = ((1, 3), (0, 5), (0, 6), (0, 6)), ((0, 4), (1, 3), (0, 6), (0, 6))
    band = (1, 2), (0, 5), (2, 4), (0, 6)
    assert [is_contiguous(View(0, box), shape, LAST) for box in (rows, channels, band)] == [True, False, True]
    assert [is_contiguous(View(0, box), shape) for box in (rows, channels, band)] == [True, False, False]


def test_axes_of_extent_1_lie_anywhere() -> None:
    assert same_layout((4, 5, 1, 1), LAST, ())
    assert same_layout((4, 1, 6, 6), (), LAST)
    assert not same_layout((4, 5, 6, 1), LAST, ())


class AnyOrder(WeightsLast):
    any_order = True

    @classmethod
    def attention_keeps(cls, pairs: Shape, width: int, values: int, drops: bool = False) -> Shape:
        return pairs[:-1]


HEADS = """
name: "heads" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput store_conf { shape: 6 shape: 8 batchsize: 4 } synthetic_conf { classes: 3 }
  }
  layer { name: "rows" type: kReshape srclayers: "data" reshape_conf { shape: 6 shape: 2 shape: 4 } }
  layer { name: "heads" type: kTranspose srclayers: "rows" transpose_conf { axis: 2 axis: 1 axis: 3 } }
  layer { name: "turned" type: kRotary srclayers: "heads" }
  layer { name: "mix" type: kAttention srclayers: "turned" srclayers: "turned" srclayers: "heads" }
  layer { name: "back" type: kTranspose srclayers: "mix" transpose_conf { axis: 2 axis: 1 axis: 3 } }
  layer {
    name: "fc" type: kInnerProduct srclayers: "back" innerproduct_conf { num_output: 3 } param { } param { }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""
MOVED = (0, 2, 1, 3)


def test_heads_lie_as_their_rows_do_up_to_what_reads_them_otherwise() -> None:
    net = partition_job(read_job_text(HEADS).proto, 1).graph.net
    found = dict(zip((n.name for n in net.nodes), kept_orders(net, AnyOrder), strict=True))
    assert {name for name, order in found.items() if order == MOVED} == {"heads", "turned", "mix"}
    assert kept_orders(net, ChannelsLast) == memory_orders(net, ChannelsLast)


def test_what_crosses_workers_lies_as_all_kernels_want_it() -> None:
    net = partition_job(read_job_text(HEADS).proto, 1).graph.net
    crossing = {node.index for node in net.nodes if node.name == "turned"}
    found = dict(zip((n.name for n in net.nodes), kept_orders(net, AnyOrder, crossing), strict=True))
    assert set(found.values()) == {()}


def test_a_transpose_that_moves_nothing_in_memory_has_the_place_of_its_source() -> None:
    compiled = compile_worker(partition_job(read_job_text(HEADS).proto, 1), 0, kernels=AnyOrder)
    program = compiled.phases["train"]
    offsets = {compiled.buffers[b].name: at for b, at in program.offsets.items()}
    assert offsets["heads.y"] == offsets["rows.y"]
    assert offsets["mix.y"] == offsets["back.y"]
    assert not [i for i in program.instructions if isinstance(i, Copy)]
