"""The numbers of netpart check: against hand counts, against the compiled programs, and uncut against cut."""

from __future__ import annotations

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.graph.saved_holdings import list_staged_bytes
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.worker_memory import process_memory
from netpart.plan.text.plan_table import LayerRow, PlanTable, tabulate_partition
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder

JOB = """
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput partition_dim: -1 store_conf { batchsize: 8 shape: 6 } }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 4 } partition_dim: %s
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant } }
  }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "fc1" innerproduct_conf { num_output: 10 } partition_dim: 0
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" partition_dim: 0 }
}
"""


def table_of(axis: int, workers: int, *overrides: str) -> PlanTable:
    return tabulate_partition(partition_job(read_job_text(JOB % axis, overrides=overrides).proto, workers))


def row(table: PlanTable, name: str) -> LayerRow:
    return next(row for row in table.layers if row.name == name)


def zoo(name: str, workers: int, *overrides: str) -> Partition:
    job = read_job(zoo_folder() / f"{name}.conf", overrides)
    return partition_job(job.proto, workers, job.folder)


def test_a_row_says_what_a_hand_counts() -> None:
    fc1, loss = (row(table_of(1, 2), name) for name in ("fc1", "loss"))
    assert (fc1.type, fc1.shape, fc1.cut, fc1.workers) == ("InnerProduct", (8, 4), "neurons 2+2", (0, 1))
    assert fc1.parameters == 6 * 4 + 4
    assert fc1.forward_flops == 8 * 4 * (2 * 6 + 1)
    assert fc1.backward_flops == 8 * 4 * (2 * 6) + 8 * 4, "dw and db: nobody wants the gradient of data"
    assert row(table_of(1, 2), "fc2").backward_flops == 8 * 10 * (2 * 4) * 2 + 8 * 10, "dx, dw and db"
    assert (loss.parameters, loss.forward_flops, loss.backward_flops) == (0, 80, 80)


@pytest.mark.parametrize(("workers", "overrides"), [(1, []), (3, []), (2, ["neuralnet.micro_batches=2"])])
def test_multiply_adds_are_those_of_a_row_of_the_uncut_net(workers: int, overrides: list[str]) -> None:
    assert table_of(1, workers, *overrides).multiply_adds == 6 * 4 + 4 * 10, "no biases, no loss"


def test_moved_bytes_are_what_a_hand_counts() -> None:
    """Batch 8 on 2 workers, 4 rows each; fc1 is cut on 4 neurons, so each worker sends 2 neurons of 4 rows."""
    table = table_of(1, 2)
    forward_and_back = 2
    assert row(table, "data").moved == 8 * 6 * 4 + 4 * 4, "all rows for fc1, and 4 labels; no gradient"
    assert row(table, "fc1").moved == 2 * (4 * 2 * 4) * forward_and_back
    assert row(table, "fc2").moved == 2 * (2 - 1) * (4 * 10 + 10) * 4, "an all-reduce"
    assert row(table, "loss").moved == 0
    assert table.moved == sum(w.sent for w in table.workers)


def test_memory_of_a_layer_is_values_gradients_parameters_and_state() -> None:
    table = table_of(-1, 1)
    assert row(table, "fc1").memory == 4 * (2 * 8 * 4 + 3 * (6 * 4 + 4)), "values, gradients; w, dw, momentum"
    assert row(table, "data").memory == 4 * 8 * 6 + 4 * 8, "no gradient"


def test_memory_of_a_layer_counts_what_forward_leaves_for_backward() -> None:
    drop = 'layer { name: "drop" type: kDropout srclayers: "fc2" partition_dim: -1 }'
    dropped = (JOB % -1).replace('srclayers: "fc2"', 'srclayers: "drop"').replace("neuralnet {", f"neuralnet {{ {drop}")
    table = tabulate_partition(partition_job(read_job_text(dropped).proto, 1))
    assert row(table, "drop").memory == 4 * 3 * 8 * 10, "values, gradients, mask"


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_cut_changes_neither_parameters_nor_flops(axis: int, workers: int) -> None:
    cut, whole = table_of(axis, workers), table_of(-1, 1)
    assert (cut.parameters, cut.flops) == (whole.parameters, whole.flops)
    assert sum(w.flops for w in cut.workers) == cut.flops


def test_micro_batches_change_the_shape_and_nothing_else() -> None:
    one, four = table_of(1, 2), table_of(1, 2, "neuralnet.micro_batches=4")
    assert (four.rows, four.micro_batches, row(four, "fc1").shape) == (8, 4, (2, 4))
    assert (one.flops, one.moved) == (four.flops, four.moved)


def test_float64_doubles_values_and_not_labels() -> None:
    single, double = table_of(1, 2), table_of(1, 2, "dtype=FLOAT64")
    labels = 4 * 4
    assert double.moved == 2 * (single.moved - labels) + labels


def test_shared_parameters_count_once() -> None:
    text = (JOB % 0).replace('param { name: "w" init', 'param { name: "w1" init', 1)
    text = text.replace("num_output: 4", "num_output: 6").replace("num_output: 10", "num_output: 6")
    text = text.replace('param { name: "w" init { type: kUniform } }', 'param { share_from: "w1" }')
    table = tabulate_partition(partition_job(read_job_text(text).proto, 2))
    assert (row(table, "fc1").parameters, row(table, "fc2").parameters, table.parameters) == (42, 6, 48)


@pytest.mark.parametrize(("name", "workers"), [("mnist/conv", 3), ("seed/conv-mnist-datap", 3), ("mlp/column-row", 2)])
def test_workers_need_what_their_programs_need(name: str, workers: int) -> None:
    partition = zoo(name, workers)
    table = tabulate_partition(partition)
    kernels = job_kernel_class(partition.job)
    programs = [compile_worker(partition, w, 1, kernels=kernels) for w in range(workers)]
    copies = list_staged_bytes(partition, 1)
    needed = [process_memory(program, partition.job) + copies[program.worker] for program in programs]
    assert [w.memory for w in table.workers] == needed
    assert sum(w.sent for w in table.workers) == sum(e.nbytes for e in compute_ledger(partition).entries) == table.moved
    assert table.parameters == sum(size_of(p.spec.shape) for p in partition.parameters)


def size_of(shape: tuple[int, ...]) -> int:
    return shape[0] * size_of(shape[1:]) if shape else 1
