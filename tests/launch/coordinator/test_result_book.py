"""Results arrive in pieces, one mini-batch after another; anything else is no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.choices import RESULT
from netpart.graph.partition import Partition, partition_job
from netpart.launch.coordinator.result_book import ResultBook
from netpart.proto.control_pb2 import RegionProto
from netpart.proto.reader import read_job_text

JOB = f"""
test_steps: 2 dtype: FLOAT64
neuralnet {{
  layer {{ name: "data" type: kSyntheticInput store_conf {{ batchsize: 4 shape: 3 }} }}
  layer {{ name: "{RESULT}" type: kSplit srclayers: "data" partition_dim: -1 }}
}}
"""


@pytest.fixture
def book() -> ResultBook:
    job = read_job_text(JOB)
    cut: Partition = partition_job(job.proto, 1, job.folder, phases=("test",))
    return ResultBook(cut)


def piece(low: list[int], high: list[int], values: Any, **fields: Any) -> RegionProto:
    given = {"name": "0", "shape": [4, 3], "dtype": "float64", "data": np.asarray(values, "f8").tobytes()}
    return RegionProto(path=RESULT, low=low, high=high, **{**given, **fields})


def test_a_mini_batch_is_complete_with_its_last_piece(book: ResultBook) -> None:
    whole = np.arange(12.0).reshape(4, 3)
    for batch in range(2):
        assert book.add(piece([0, 0], [2, 3], whole[:2], name=str(batch))) is None
        done = book.add(piece([2, 0], [4, 3], whole[2:], name=str(batch)))
        assert done is not None
        assert done[0] == batch
        assert np.array_equal(done[1], whole)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "1"},
        {"name": "x"},
        {"shape": [4, 4]},
        {"dtype": "float32"},
        {"dtype": "object"},
        {"data": b"123"},
        {"low": [0], "high": [4]},
        {"low": [2, 0], "high": [6, 3]},
        {"low": [-2, 0], "high": [0, 3]},
    ],
)
def test_another_piece_is_refused(fields: dict[str, Any], book: ResultBook) -> None:
    given = {"low": [0, 0], "high": [2, 3], "values": np.zeros((2, 3)), **fields}
    with pytest.raises(ValueError, match=r"."):
        book.add(piece(**given))
