"""Settings that are not carried out are refused, never ignored."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job_text

NET = """
updater { type: kSGD learning_rate { type: kFixed } }
neuralnet { %s
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 3 } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "data" srclayers: "data" }
}
"""

CASES = [
    ("train_one_batch { alg: kCD }", "", "train_one_batch.alg: expected kBP, got kCD"),
    ("cluster { nserver_groups: 3 }", "", "cluster.nserver_groups: expected 0 or 1, got 3"),
    ("", "scheme: NAIVE", "neuralnet.scheme: expected AS_WRITTEN, got NAIVE; partition it with netpart.partition"),
    ("", "unroll_len: 5", "neuralnet.unroll_len: expected 1, got 5"),
]


@pytest.mark.parametrize(("outside", "inside", "message"), CASES)
def test_a_setting_that_is_not_carried_out_is_refused(outside: str, inside: str, message: str) -> None:
    job = read_job_text(outside + NET % inside)
    with pytest.raises(ConfigError, match=message) as caught:
        partition_job(job.proto, 2)
    position = job.explain(caught.value).position
    assert position is not None
    assert position.line >= 1
