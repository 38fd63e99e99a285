"""A package may bring a conf of its own, an extension of LayerProto; its own type alone reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60
PACKAGE = '''
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from netpart.layers.layer import Layer
from netpart.layers.part import Needs
from netpart.proto import layer_pb2

file = FileDescriptorProto(name="scaled.proto", package="scaled", dependency=["netpart/proto/layer.proto"])
file.extension.add(name="factor", number=1001, label=1, type=2, extendee=".netpart.LayerProto")
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


class Scaled(Layer):
    """y = factor * x."""

    types = ("Scaled",)
    confs = ("[scaled.factor]",)

    def infer(self):
        field = descriptor_pool.Default().FindExtensionByName("scaled.factor")
        self.factor = dict(self.conf.ListFields())[field]
        return self.inputs

    def needs(self, region, term=None):
        return Needs((region,))

    def forward(self, kernels, call):
        raise NotImplementedError
'''
JOB = """train_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 4 } }
  layer { name: "x" %s srclayers: "data" [scaled.factor]: 3 }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "x" srclayers: "data" }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The package, as it is tried without installing it."""
    (tmp_path / "scaled-1.dist-info").mkdir()
    (tmp_path / "scaled-1.dist-info" / "entry_points.txt").write_text("[netpart.layers]\nScaled = scaled:Scaled\n")
    (tmp_path / "scaled.py").write_text(PACKAGE)
    return tmp_path


def check(folder: Path, kind: str, path: str) -> subprocess.CompletedProcess[str]:
    """``netpart check`` of a job whose layer x is of that kind."""
    (folder / "jobs").mkdir(exist_ok=True)
    (folder / "jobs" / "job.conf").write_text(JOB % kind)
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-m", "netpart", "check", "job.conf"], cwd=folder / "jobs", capture_output=True, text=True,
        timeout=SECONDS, env=os.environ | {"PYTHONPATH": os.pathsep.join([path, root])},
    )  # fmt: skip


@pytest.mark.slow
def test_an_extension_of_a_package_is_read(folder: Path) -> None:
    found = check(folder, 'user_type: "Scaled"', str(folder))
    assert found.returncode == 0, found.stderr
    foreign = check(folder, "type: kReLU", str(folder))
    assert (
        "job.conf:5:51: x: expected relu_conf only, as kReLU reads no other conf, got [scaled.factor]" in foreign.stderr
    )
    assert foreign.returncode == 2
    absent = check(folder, 'user_type: "Scaled"', "")
    assert "got [scaled.factor]; install the package whose layer it is for" in absent.stderr
