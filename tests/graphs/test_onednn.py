"""oneDNN does every layer of the zoo that it has verbs for, and none with its plain loops, which are very slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.partition import Partition, partition_job
from netpart.kernels.onednn.kernels import Kernels
from netpart.kernels.onednn.library import load_onednn, missing_onednn
from netpart.plan.partition import partition_by_scheme
from netpart.proto.layer_pb2 import LayerProto, LayerType
from netpart.proto.reader import read_job
from netpart.worker.ensemble import Ensemble
from tests.graphs.test_zoo import MADE, ZOO, fewest, name
from tests.thorough import sampled

NETS = [conf for conf in ZOO if conf.stem != "gpt3"]
"""GPT-3 has the layers of GPT-2, and no machine's memory has room for its parameters."""
SLOW = [conf for conf in NETS if conf in MADE and "-small" not in conf.stem]
ROWS = 2
"""Rows of a mini-batch, so that every net fits."""

PLAIN = ("ref", "simple")
"""How the names of plain loops begin."""

AVX2 = 0x7
"""What oneDNN calls it; for processors without it oneDNN lacks some primitives, which the reference then does."""

pytestmark = pytest.mark.skipif(
    bool(missing_onednn()) or load_onednn().calls.dnnl_get_effective_cpu_isa() < AVX2,
    reason=missing_onednn() or "no AVX2",
)


@pytest.mark.parametrize(
    "conf", sampled([pytest.param(conf, marks=pytest.mark.slow if conf in SLOW else ()) for conf in NETS], 7), ids=name
)
@pytest.mark.parametrize("cut", [False, True])
def test_no_layer_is_left_to_plain_loops(conf: Path, cut: bool, folder: Path) -> None:
    for player in Ensemble(of_few_rows(conf, cut, folder), kernels=Kernels).players:
        kernels = player.machine.kernels
        assert isinstance(kernels, Kernels)
        assert not [found for found in kernels.implementations if found[1].startswith(PLAIN)]
        assert not kernels.refusals


def of_few_rows(conf: Path, cut: bool, folder: Path) -> Partition:
    """A job with a small mini-batch: whole, or cut over as few workers as it can be."""
    job = read_job(conf).proto
    for layer in job.neuralnet.layer:
        if layer.HasField("nifti_conf"):
            made_up(layer)
        if layer.HasField("store_conf"):
            layer.store_conf.batchsize[:] = [ROWS]
    return partition_by_scheme(job, max(2, fewest(job)), folder) if cut else partition_job(job, 1, folder, uncut=True)


def made_up(layer: LayerProto) -> None:
    """Gives a net made-up volumes, whole, in the place of scans, which not every machine has."""
    shape = list(layer.nifti_conf.shape)
    for field in ("nifti_conf", "partition_dim", "location", "cut", "shard"):
        layer.ClearField(field)
    layer.type = LayerType.kSyntheticInput
    layer.store_conf.shape[:] = [1, *shape]
    layer.synthetic_conf.classes = 2
