"""Input layers: the rows of a step depend on (step, global row) only, however they are cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.kernels.reference import Kernels
from netpart.layers.part import Call
from netpart.spec import INT, RECORD, Spec
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.laws.cases import SYNTHETIC
from tests.layers.input_layers import BATCH, CONFS, COUNT, IMAGES, LABELS, ROWS, SIDE, make, read


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("step", [0, 1, 7])
def test_parts_and_micro_batches_read_the_rows_of_the_whole(name: str, step: int, folder: Path) -> None:
    whole = read(make(name, folder), step, 0, BATCH)
    parts = [read(make(name, folder), step, lo, hi) for lo, hi in ((0, 1), (1, 4), (4, BATCH))]
    micro = [read(make(name, folder, rows=2), step, 0, 2, first=first) for first in (0, 2, 4)]
    for pieces in (parts, micro):
        for k, expected in enumerate(whole):
            assert np.array_equal(np.concatenate([piece[k] for piece in pieces]), expected)


@pytest.mark.parametrize("name", ["kRecordInput", "kCSVInput", "kLabel", "kMnist"])
def test_stores_are_read_in_file_order_and_wrap(name: str, folder: Path) -> None:
    rows = (2 * BATCH + np.arange(BATCH)) % COUNT
    expected = {"kLabel": LABELS[rows], "kMnist": IMAGES[rows] / np.float32(255) - 0.5}.get(name, IMAGES[rows])
    outputs = read(make(name, folder), 2, 0, BATCH)
    assert np.allclose(outputs[0], expected, atol=1e-6)
    assert len(outputs) == 1 or np.array_equal(outputs[1], LABELS[rows])


def test_a_record_input_subtracts_the_mean_and_divides(folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", 'mean_file: "mean.bin" std_value: 4 }')
    (data, _) = read(make("kRecordInput", folder, conf), 0, 0, BATCH)
    assert np.allclose(data, (IMAGES[:BATCH] - IMAGES.mean(axis=0).astype("float32")) / 4)


@pytest.mark.parametrize("more", ["shuffle: true", "random_skip: 1000"])
def test_order_is_drawn_once_per_seed(more: str, folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", f"{more} }}")
    read_with: Callable[[int], Any] = lambda seed: read(make("kRecordInput", folder, conf), 1, 0, BATCH, seed=seed)[1]  # noqa: E731
    drawn = [read_with(seed).tolist() for seed in range(8)]
    assert drawn == [read_with(seed).tolist() for seed in range(8)]
    assert len({tuple(labels) for labels in drawn}) > 1


def test_a_shuffled_epoch_has_every_record_once(folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", "shuffle: true }").replace(f"batchsize: {BATCH}", f"batchsize: {COUNT}")
    layer = make("kRecordInput", folder, conf)[0]
    y = [poisoned_array(s.shape, s.dtype) for s in layer.outputs]
    run_poisoned(
        layer.forward(Kernels(np, "float64"), Call(layer.output.whole, layer.needs(()), None, [], [], y, rows=COUNT))
    )
    assert sorted(y[1].tolist()) == sorted(LABELS.tolist())
    assert y[1].tolist() != LABELS.tolist()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_test_rows_differ_from_training_rows(name: str, folder: Path) -> None:
    train, test = (read(make(name, folder), 0, 0, BATCH, phase=phase)[0] for phase in (1, 4))
    assert not np.allclose(train, test)


def test_shapes_come_from_the_first_record_where_the_conf_has_none(folder: Path) -> None:
    conf = CONFS["kCSVInput"].replace(f"shape: {SIDE} shape: {SIDE}", "")
    assert make("kCSVInput", folder, conf)[0].output == Spec((BATCH, SIDE * SIDE))
    assert make("kRecordInput", folder)[0].outputs == (Spec((BATCH, SIDE, SIDE)), Spec((BATCH,), INT))
    assert make("kMnist", folder)[0].output == Spec((BATCH, SIDE, SIDE))
    assert make("kMnist", folder, "mnist_conf { resize: 7 }")[0].output == Spec((BATCH, 7, 7))
    shard = make("kShardData", folder)[0].output
    assert (shard.shape, shard.dtype, shard.rows) == ((), RECORD, BATCH)


def test_synthetic_rows_stand_in_for_a_store(folder: Path) -> None:
    conf = "store_conf { path: 'absent' batchsize: 2 shape: 3 }"
    layer = make("kSyntheticInput", folder, conf)[0]
    layer.check_data()
    assert layer.output == Spec((2, 3))


def test_repeated_batchsizes_are_rows_of_the_parts(folder: Path) -> None:
    layer: Any = make("kSyntheticInput", folder, "store_conf { batchsize: 2 batchsize: 5 shape: 3 }")[0]
    assert (layer.row_sizes(), layer.output.shape) == ((2, 5), (7, 3))
