"""Small graphs to draw."""

from __future__ import annotations

import pytest

from netpart.graph.build import build_net
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from netpart.graph.partition import partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import Job, read_job
from netpart.resources import zoo_folder


def job_of(name: str) -> Job:
    return read_job(zoo_folder() / f"{name}.conf")


def graph_of(name: str, workers: int) -> Graph:
    job = job_of(name)
    return partition_job(job.proto, workers, job.folder, phases=("train",)).graph


@pytest.fixture(scope="session")
def lenet() -> Graph:
    """LeNet over 3 workers: data whole, convolutions on the batch, ip1 on neurons, ip2 on the batch."""
    return graph_of("mnist/conv", 3)


@pytest.fixture(scope="session")
def layerp() -> Graph:
    """The seed's figure 3, on 2 workers."""
    return graph_of("seed/conv-mnist-layerp", 2)


@pytest.fixture(scope="session")
def net() -> Net:
    """The seed's net, uncut."""
    job = job_of("seed/conv-mnist")
    return build_net(job.proto, "train", job.folder)


@pytest.fixture(scope="session")
def lenet_cut_on_inputs() -> Graph:
    """LeNet with its last inner product cut on its inputs: a Sum joins the addends."""
    job = read_job(zoo_folder() / "mnist" / "conv.conf", ["ip2.cut[0].over=INPUT"])
    return partition_job(job.proto, 3, job.folder, phases=("train",)).graph


def under(scheme: str) -> Graph:
    """The five layers of the seed on 2 workers, or a stage of a pipeline on each."""
    job = job_of("schemes/five-layers")
    return partition_by_scheme(job.proto, 2, job.folder, scheme, phases=("train",)).graph


@pytest.fixture(scope="session")
def naive() -> Graph:
    """Naive model parallelism, Algorithm 2 of the seed: all-gathers forward, all-reduces backward."""
    return under("NAIVE")


@pytest.fixture(scope="session")
def stages() -> Graph:
    """Narrow fields, each with an arrow from the one above."""
    return under("PIPELINE")
