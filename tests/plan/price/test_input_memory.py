"""Input memory: the forecast is what a source of rows keeps after some steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.repeated_rows import RepeatedRows
from netpart.data.row_source import RowOutputs
from netpart.data.synthetic import SyntheticRows
from netpart.graph.build import build_net
from netpart.graph.partition import partition_job
from netpart.layers.inputs.rows import RowInput
from netpart.plan.price.input_memory import input_bytes
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job

NET = """
train_steps: 1
neuralnet {
  layer { name: "data" type: kSyntheticInput
    store_conf { batchsize: 4 shape: 3 shape: 5 } synthetic_conf { classes: %s batches: %s } }
  layer { name: "fc" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 2 }
    param { name: "w" init { type: kConstant value: 1 } } param { name: "b" init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


@pytest.mark.parametrize(("classes", "batches"), [(1, 3), (2, 0)])
def test_it_is_what_is_kept(tmp_path: Path, classes: int, batches: int) -> None:
    path = tmp_path / "job.conf"
    path.write_text(NET % (classes, batches))
    job = read_job(path)
    layer = next(node.layer for node in build_net(job.proto, "train", job.folder).nodes if node.name == "data")
    assert isinstance(layer, RowInput)
    source = layer.open(4, 1, 1)
    out = RowOutputs(np.zeros((2, 3, 5), np.float32), np.zeros(2, np.int32))
    for step in range(20):
        source.fill(step, 0, 2, ((0, 3), (0, 5)), out)
    assert layer.kept_bytes(((0, 2), (0, 3), (0, 5))) == kept(source)


def kept(source: object) -> int:
    if isinstance(source, RepeatedRows):
        arrays = [array for rows in source._kept.values() for array in rows if array is not None]
        return sum(array.nbytes for array in arrays) + kept(source._source)
    assert isinstance(source, SyntheticRows)
    return sum(pattern.nbytes for pattern in source._patterns.values())


def test_micro_batches_share_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    found = []
    for micro_batches in (1, 2, 3):
        path.write_text((NET % (2, 3)).replace("neuralnet {", f"neuralnet {{ micro_batches: {micro_batches}"))
        found.append(input_bytes(compile_worker(partition_job(read_job(path).proto, 1), 0)))
    assert found[0] == found[1] > 0
    assert found[2] >= found[0], "micro-batches of two sizes are of two layers, each with its reader"
