"""Small jobs for tests of the graph."""

from __future__ import annotations

from netpart.graph.partition import Partition, partition_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble

HEAD = """
dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.5 } }
train_steps: 1
neuralnet {
"""
WEIGHTS = "param { init { type: kGaussian } } param { init { type: kGaussian } }"


def data(rows: int = 6, shape: str = "shape: 4", classes: int = 4, more: str = "partition_dim: -1") -> str:
    """An input layer named data."""
    conf = f"store_conf {{ batchsize: {rows} {shape} }} synthetic_conf {{ classes: {classes} }}"
    return f'layer {{ name: "data" type: kSyntheticInput {conf} {more} }}\n'


def product(name: str, source: str, outputs: int, more: str = "") -> str:
    """An inner product with weight and bias."""
    conf = f"innerproduct_conf {{ num_output: {outputs} }} {WEIGHTS}"
    return f'layer {{ name: "{name}" type: kInnerProduct srclayers: "{source}" {conf} {more} }}\n'


def layer(name: str, kind: str, *sources: str, more: str = "") -> str:
    """Any other layer."""
    read = " ".join(f'srclayers: "{source}"' for source in sources)
    return f'layer {{ name: "{name}" type: {kind} {read} {more} }}\n'


def job(*layers: str) -> JobProto:
    """The job of some layers."""
    return read_job_text(HEAD + "".join(layers) + "}").proto


def played(partition: Partition, phase: str = "train", steps: int = 1) -> Ensemble:
    """The partition after some steps, every value readable."""
    ensemble = Ensemble(partition, keep=True, poison=True)
    ensemble.initialise()
    for step in range(steps):
        ensemble.step(phase, step)
    return ensemble


def cut_and_uncut(conf: JobProto, workers: int, phase: str = "train") -> tuple[Ensemble, Ensemble]:
    """The same step played by ``workers`` workers and by one."""
    return played(partition_job(conf, workers), phase), played(partition_job(conf, 1, uncut=True), phase)
