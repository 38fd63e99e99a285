"""Random jobs for law 9: nets of every shape the language can say, on any of its inputs, with any of its losses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hypothesis import strategies as st

from netpart.graph.passes.update_sharding import whole_update_reason
from netpart.layers.layer import Layer
from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.proto.job_pb2 import Collectives, JobProto, LayerProto, Phase
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType
from tests.laws.cases import ELEMENT_LOSSES
from tests.laws.makers import (
    MAKERS,
    WEIGHTED,
    convolution,
    inner_product,
    matmul,
    pointwise,
    transposed_convolution,
)
from tests.laws.options import CUT, LAYERS
from tests.laws.partings import composition, cut
from tests.laws.sketch import Sketch, Spot

__all__ = ["Example", "cut", "examples", "nets", "tested"]

INPUTS = ("kSyntheticInput", "kSyntheticInput", "kSyntheticInput", "kSyntheticMasks", "kSyntheticTokens")
MAXIMA = ("kPooling", "kGlobalPooling")
"""What may look for the largest of numbers, of which no two may be equal."""
SPATIAL = ("kConvolution", "kTransposedConvolution", "kPooling")
READS = {
    **dict.fromkeys((*SPATIAL, "kImagePreprocess", "kConcate", "kSlice", "cut"), INPUTS[:1]),
    "kEmbedding": ("kSyntheticTokens",), "kAttention": (INPUTS[0], "kSyntheticTokens", "kSyntheticTokens"),
    **dict.fromkeys(("kSoftmaxLoss", "kAccuracy", "kBinaryLoss"), (*INPUTS[3:], INPUTS[0])),
}  # fmt: skip
"""The inputs of what is in the spotlight, turn by turn, where these are not any."""
DIVERSE, DEEP = (3, 2, 4, 1, 3), (3, 2, 4, 2, 3)
"""Numbers of axes of a row."""
AXES = {
    **dict.fromkeys(SPATIAL, (2, 3, 4)), "kImagePreprocess": (3,), "cut": (3, 2, 3, 3, 4),
    **dict.fromkeys(("kRotary", "kAttention", "kMatmul", "kClassToken", "kGlobalPooling", "kUpsampling"), DEEP),
}  # fmt: skip
"""Those that what is in the spotlight can read, turn by turn, where these are not any."""
FRONTS = (inner_product, pointwise, convolution, transposed_convolution, matmul)
"""What computes addends when it is cut on its inputs."""


@st.composite
def nets(draw: st.DrawFn, spot: Spot | None = None) -> Sketch:
    """A job whose layers are not cut yet; of ``spot`` it has what that says."""
    s = Sketch(draw, spot)
    s.job.dtype, s.job.seed = JobProto.FLOAT64, s.number(0, 99)
    for path in ("bucket_bytes", "collectives"):
        s.choose("job", s.job, path)
    if s.job.collectives == Collectives.HIERARCHICAL:
        choose_hosts(s)
    data = rows(s)
    grow(s, s.number(1, 6) if spot is None else s.number(1, 3))
    finish(s, data)
    undivided = any(layer.makes_rows or by_weights(layer) for layer in s.layers.values())
    most = 1 if undivided else s.shape(data)[0]
    s.choose("job", s.job, "neuralnet.micro_batches", lambda n: (n or 1) <= most)
    for path in ("neuralnet.schedule", "neuralnet.recompute"):
        s.choose("job", s.job, path)
    choose_updater(s)
    whole = whole_update_reason(s.job) is not None
    s.choose("job", s.job, "shard_updates", lambda value: not whole or value is None)
    if s.chance(2):
        mark_recomputed(s)
    return s


def choose_hosts(s: Sketch) -> None:
    """Hosts of 1 or 2 workers, in racks of two hosts or in none: by the seed, so nothing else is drawn differently."""
    inside = 1 + s.job.seed % 2
    s.job.cluster.host.add(workers=inside, count=8, bandwidth=1e8)
    if s.job.seed % 4 < 2:
        s.job.cluster.host.add(workers=2 * inside, count=4, bandwidth=1e7, level=2)


def by_weights(layer: Layer) -> bool:
    """True for a loss that is divided by the weights of a whole mini-batch."""
    return isinstance(layer, SoftmaxLoss) and layer.by_weights


def mark_recomputed(s: Sketch) -> None:
    """Lets each layer say whether its activations are computed again, or say nothing."""
    for conf in s.job.neuralnet.layer:
        wanted = s.pick(CUT["recompute"])
        if wanted is not None:
            conf.recompute = wanted


def rows(s: Sketch) -> str:
    """The input, of a kind and with the axes that what is in the spotlight can read."""
    kind = s.spot.kind if s.spot else ""
    found = kind if kind in INPUTS else s.pick(INPUTS)
    if s.spot and kind in READS:
        found = READS[kind][s.spot.turn % len(READS[kind])]
    conf, count = s.conf(found), s.pick((4, 3, 6, 2, 5) if s.spot else (4, 3, 6, 2, 5, 1))
    conf.store_conf.shape.extend(shape_of(s, found))
    conf.store_conf.batchsize.extend(composition(s, count, s.number(1, min(count, 3))) if s.chance(4) else [count])
    two = s.spot is not None and s.spot.kind == "kBinaryLoss"
    s.option(conf, "synthetic_conf.classes", lambda n: n == 2 or not two)
    for path in ("noise", "batches"):
        s.option(conf, f"synthetic_conf.{path}")
    return s.add(conf)


def shape_of(s: Sketch, kind: str) -> list[int]:
    """The shape of a row."""
    if kind == "kSyntheticTokens":
        return [s.pick((4, 3, 5, 2))]
    by_turn = AXES.get(s.spot.kind, DIVERSE) if s.spot else ()
    axes = by_turn[s.spot.turn % len(by_turn)] if s.spot else s.pick(DIVERSE)
    most = (8, 8, 6, 3)[axes - 1]
    space = [
        s.number(3, most) - s.pick((0, 0, 0 if s.spot else 2))
        for _ in range(max(axes, 1 + (kind == "kSyntheticMasks")) - 1)
    ]
    if s.spot and s.spot.kind == "kRotary":
        space[-1] = s.pick((4, 2))
    if s.spot and s.spot.kind == "kImagePreprocess":
        space = [s.pick((4, 3))] * 2
    channels = (4,) if s.spot and s.spot.kind in SPATIAL else (2, 4, 3) if s.spot else (2, 3, 1, 3)
    return [s.pick(channels), *space] if space else [s.number(2, most)]


def grow(s: Sketch, count: int) -> None:
    """Adds ``count`` layers, each on the newest or on any other, and in the spotlight a layer behind one that computes
    addends."""
    if not s.numbers():
        MAKERS["kEmbedding"](s, "")
    if s.spot and s.spot.kind == "cut":  # inputs are cut on their rows alone
        MAKERS["kSigmoid"](s, s.numbers()[0])
    for i in range(count):
        if s.spot and i == s.spot.turn % count and s.spot.kind in MAKERS:
            shown(s, s.spot.kind)
        else:
            MAKERS[s.pick(WEIGHTED)](s, newest(s))
    if s.spot and s.spot.kind in MAKERS:
        MAKERS[s.spot.kind](s, newest(s))


def newest(s: Sketch) -> str:
    known = s.numbers()
    return known[-1] if s.chance(2) else s.pick(known)


def shown(s: Sketch, kind: str) -> None:
    """Adds a layer of ``kind`` behind addends, or behind any layer that it can read: what is too small for it was no
    choice."""
    source = newest(s) if kind not in SPATIAL and s.chance(3) else s.numbers()[0]
    if kind in MAXIMA and source in s.tied:
        source = s.numbers()[0]
    if s.spot and s.spot.turn % 3 < 2 and kind != "kImagePreprocess":
        behind = (pointwise if kind in SPATIAL else s.pick(FRONTS))(s, source)
        if behind is not None and behind in s.numbers() and not (kind in MAXIMA and behind in s.tied):
            s.front = source = behind
    for other in (source, *reversed(s.numbers())):
        if MAKERS[kind](s, other) is not None:
            return


def finish(s: Sketch, data: str) -> None:
    """One or two losses, and perhaps an accuracy or a confusion on the side."""
    kind = s.spot.kind if s.spot else ""
    for _ in range(s.number(1, 2)):
        source = s.pick(s.numbers()[-3:])
        if kind in ELEMENT_LOSSES:
            element_loss(s, kind, source, data)
        elif kind == "kEuclideanLoss" or (kind not in ("kSoftmaxLoss", "kAccuracy", "kConfusion") and s.chance(3)):
            distance(s, source)
        else:
            classify(s, source, data)


def distance(s: Sketch, source: str) -> None:
    """A loss that compares two layers, one of them perhaps made to fit."""
    same = [x for x in s.numbers() if prod(s.shape(x)[1:]) == prod(s.shape(source)[1:])]
    if same and s.chance(2):
        s.add(s.conf("kEuclideanLoss", source, s.pick(same)))
        return
    target = s.pick(s.numbers())
    s.add(s.conf("kEuclideanLoss", inner_product(s, source, prod(s.shape(target)[1:])), target))


def element_loss(s: Sketch, kind: str, source: str, data: str) -> None:
    """A loss of each element by itself, of labels of two classes or of a layer."""
    if kind == "kBinaryLoss":
        conf = s.conf(kind, logits(s, source, data), data)
        most = s.shape(conf.srclayers[0])[1]
        for _ in range({0: 0, 1: 1}.get(s.pick_option(kind, "loss_conf.positive_weight"), most)):
            conf.loss_conf.positive_weight.append(s.pick((0.5, 2.0)))
    else:
        # Of a bounded function, which no layer below computes too: |x - t| has a kink where numbers differ by rounding.
        target = s.add(s.conf("kSigmoid", s.pick(s.numbers())), True)
        flat = s.add(s.conf("kFlatten", target), True) if s.chance(2) else target
        top = inner_product(s, source, prod(s.shape(target)[1:]))
        conf = s.conf(kind, top, flat)
    for path in ("scale", "delta"):
        if f"loss_conf.{path}" in LAYERS[kind]:
            s.option(conf, f"loss_conf.{path}")
    s.add(conf)


def logits(s: Sketch, source: str, data: str) -> str:
    """An inner product with an output for each label of the data, perhaps on more axes than these."""
    top = inner_product(s, source, prod(s.spec(data, "label").shape[1:]))
    if s.chance(3):
        folded = s.conf("kReshape", top)
        folded.reshape_conf.shape.extend([1, s.shape(top)[1]])
        top = s.add(folded, True)
    return top


def classify(s: Sketch, source: str, data: str) -> None:
    """A loss on the labels of the rows, or of the places of a row."""
    places, classes = s.spec(data, "label").shape[1:], s.pick((3, 5, 4, 12))
    top = inner_product(s, source, prod(places) * classes)
    if places:
        folded = s.conf("kReshape", top)
        folded.reshape_conf.shape.extend([*places, classes])
        top = s.add(folded, True)
    conf = s.conf("kSoftmaxLoss", top, data)
    for path in ("topk", "scale", "label_smoothing", "bits", "ignore_index", "normalisation"):
        s.option(conf, f"softmaxloss_conf.{path}")
    if s.chance(2):
        conf.softmaxloss_conf.class_weight.extend(s.pick((0.5, 2.0, 1.25)) for _ in range(classes))
    s.add(conf)
    kind = s.spot.kind if s.spot else ""
    if kind == "kAccuracy" or s.chance(3):
        accuracy = s.conf("kAccuracy", top, data)
        for path in ("topk", "ignore_index"):
            s.option(accuracy, f"argsort_conf.{path}")
        s.add(accuracy)
    if not places and (kind == "kConfusion" or s.chance(6)):
        confusion = s.conf("kConfusion", top, data)
        for path in ("topk", "ignore_index"):
            s.option(confusion, f"argsort_conf.{path}")
        s.add(confusion)


OUTSIDE = (UpdaterType.kAdaGrad, UpdaterType.kAdam, UpdaterType.kAdamW, UpdaterType.kRMSProp)
"""Rules that may add delta outside of the root."""


def choose_updater(s: Sketch) -> None:
    """Any rule; ``delta`` is large enough to keep division by a vanishing gradient well conditioned."""
    conf = s.job.updater

    def option(path: str) -> object:
        return s.choose("updater", s.job, f"updater.{path}")

    for path in ("type", "delta", "momentum", "weight_decay", "clip_norm", "learning_rate.type"):
        option(path)
    for path in ("learning_rate.base_lr", "learning_rate.warmup_steps"):
        option(path)
    if conf.learning_rate.type == ChangeMethod.kInverse:
        conf.learning_rate.inverse_conf.gamma, conf.learning_rate.inverse_conf.pow = 0.5, 0.75
    if conf.learning_rate.type == ChangeMethod.kCosine:
        conf.learning_rate.cosine_conf.change_freq = 4
    if conf.type in OUTSIDE:
        option("delta_outside_root")
    if conf.type == UpdaterType.kRMSProp:
        option("rmsprop_conf.rho")
    if conf.type == UpdaterType.kAdam:
        option("adam_conf.bias_correction")
    if option("clip_low") is not None:
        conf.clip_high = 0.05
    if option("ema_decay") is not None:
        option("ema_eval")
        option("ema_warmup")


def tested(s: Sketch) -> None:
    """Gives the job a test net on the same layers: its input reads other rows."""
    data = s.job.neuralnet.layer[0]
    twin: LayerProto = s.job.neuralnet.layer.add()
    twin.CopyFrom(data)
    data.include.append(Phase.kTrain)
    twin.include.append(Phase.kTest)
    s.job.test_steps = 1
    for conf in s.job.neuralnet.layer:
        if not conf.location and s.chance(4):  # tested as if it had no cut of its own
            for block in conf.cut:
                block.phase = Phase.kTrain


@dataclass(frozen=True)
class Example:
    """One case of the law: a cut job and its workers."""

    job: JobProto
    workers: int

    def __repr__(self) -> str:
        return f"Example(workers={self.workers}, job='''\n{self.job}''')"


@st.composite
def examples(draw: st.DrawFn, spot: Spot | None = None) -> Example:
    """A job with every layer cut, and the number of workers it is cut for."""
    s = draw(nets(spot))
    workers = s.pick([2, 3, 4, 2, 3, 5, 1]) if spot is None else s.pick([2, 3, 4, 2, 3])
    cut(s, workers)
    if s.choose("job", JobProto(), "test_steps"):
        tested(s)
    return Example(s.job, workers)
