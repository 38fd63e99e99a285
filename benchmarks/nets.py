"""The nets that are timed: jobs of graphs/ and of benchmarks/jobs, each at one size, uncut, on mini-batches in memory.

All contenders have the same layers, first weights, mini-batches and updater. Reading data is not compared: every job
gets synthetic rows, BATCHES mini-batches that are made once and then repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.phase import in_phase
from netpart.proto.reader import read_job
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType

ROOT = Path(__file__).resolve().parents[1]
BATCHES = 2
"""Mini-batches that every contender keeps in memory and reads in turn."""
CUTS = "partition_dim", "location", "cut", "shard", "remainder", "sum_gradient"
MADE_UP = {
    LayerType.kRecordInput: LayerType.kSyntheticInput,
    LayerType.kTextInput: LayerType.kSyntheticTokens,
    LayerType.kNiftiInput: LayerType.kSyntheticInput,
}
"""Synthetic inputs that replace inputs that read files."""
TOKENS, CLASSES = 256, 2


@dataclass(frozen=True)
class Net:
    """A job, its mini-batch and, for images, their extent (None: the job's). ``conv``: it is mostly convolutions.

    ``rate`` is a learning rate at which it stays finite over the steps of a benchmark.
    """

    name: str
    title: str
    path: str
    batch: int
    extent: int | None = None
    conv: bool = True
    rate: float = 0.001


NETS = {
    net.name: net
    for net in (
        Net("lenet", "LeNet", "graphs/mnist/conv.conf", 64),
        Net("cifar", "CIFAR-10 net", "benchmarks/jobs/cifar10.conf", 100),
        Net("mlp", "MNIST MLP", "benchmarks/jobs/mlp.conf", 100, conv=False),
        Net("alexnet", "AlexNet", "graphs/alexnet/alexnet.conf", 16),
        Net("resnet18", "ResNet-18", "graphs/resnet/resnet18.conf", 16, 64),
        Net("unet3d", "3-D U-Net", "graphs/unet/unet3d.conf", 2, 32),
        Net("gpt", "tiny GPT", "graphs/gpt/tiny.conf", 16, conv=False),
    )
}
PUBLISHED = {
    net.name: net
    for net in (
        Net("resnet18-224", "ResNet-18 at 224", "graphs/resnet/resnet18.conf", 16, 224),
        Net("resattnet18-128", "3D-ResAttNet18 at 128", "graphs/resattnet/resattnet18.conf", 6),
    )
}
"""Nets that are too large for some benchmarks, at their published sizes."""
BLOCKS = {"gpt2-block": Net("gpt2-block", "GPT-2 small's block", "benchmarks/jobs/gpt2-block.conf", 2, conv=False)}
"""Blocks of nets that are too large for all benchmarks."""
RESATTNETS = {
    net.name: net
    for net in (
        Net("resattnet18", "3D-ResAttNet18", "graphs/resattnet/resattnet18-ad-nc.conf", 16),
        Net("resattnet34", "3D-ResAttNet34", "graphs/resattnet/resattnet34-ad-nc.conf", 16),
    )
}
"""The reduced nets of the use case, the same for both of its tasks."""
QUICK: dict[str, tuple[int, int | None]] = {
    "alexnet": (2, 64), "resnet18": (4, 64), "resnet18-224": (4, 64), "unet3d": (1, 16), "gpt2-block": (1, None),
}  # fmt: skip
"""Mini-batch and extent with --quick."""


def smaller(net: Net) -> Net:
    """``net`` in a size that takes little time."""
    batch, extent = QUICK.get(net.name, (4, net.extent))
    return replace(net, batch=batch, extent=extent)


def job(net: Net, steps: int, dropout: bool = True) -> JobProto:
    """The job that trains ``net`` for ``steps`` steps and then reports once, with or without ``dropout``."""
    proto = read_job(ROOT / net.path).proto
    layers = [layer for layer in proto.neuralnet.layer if in_phase(layer, "train")]
    kept = JobProto(name=net.name, train_steps=steps, disp_freq=steps, seed=proto.seed)
    kept.train_one_batch.CopyFrom(proto.train_one_batch)
    kept.updater.CopyFrom(proto.updater)
    set_rate(kept, net.rate)
    for layer in layers:
        found = kept.neuralnet.layer.add()
        found.CopyFrom(layer)
        for field in (*CUTS, "include", "exclude"):
            found.ClearField(field)
        if layer.type in MADE_UP or layer.HasField("synthetic_conf"):
            make_up(found, net)
        if layer.HasField("dropout_conf") and not dropout:
            found.dropout_conf.dropout_ratio = 0
        if layer.HasField("reshape_conf") and net.name == "unet3d" and net.extent:
            found.reshape_conf.shape[1] = net.extent**3
    return kept


def set_rate(proto: JobProto, rate: float) -> None:
    """Set a constant learning rate, and replace Adam by AdamW: libraries differ in their Adam, but agree in AdamW."""
    proto.updater.learning_rate.Clear()
    proto.updater.learning_rate.type = ChangeMethod.kFixed
    proto.updater.learning_rate.base_lr = rate
    if proto.updater.type == UpdaterType.kAdam:
        proto.updater.Clear()
        proto.updater.type, proto.updater.delta = UpdaterType.kAdamW, 1e-8
        set_rate(proto, rate)


def make_up(layer: LayerProto, net: Net) -> None:
    """Give an input synthetic rows that stay in memory."""
    if layer.HasField("text_conf"):
        layer.store_conf.shape[:], layer.synthetic_conf.classes = [layer.text_conf.window], TOKENS
        layer.ClearField("text_conf")
    if layer.HasField("nifti_conf"):
        layer.store_conf.shape[:], layer.synthetic_conf.classes = [1, *layer.nifti_conf.shape], CLASSES
        layer.ClearField("nifti_conf")
    shape = list(layer.store_conf.shape)
    if net.extent:
        shape[1:] = [net.extent] * (len(shape) - 1)
    layer.type = MADE_UP.get(layer.type, layer.type)
    layer.ClearField("store_conf")
    layer.store_conf.shape[:], layer.store_conf.batchsize[:] = shape, [net.batch]
    layer.synthetic_conf.batches = BATCHES
