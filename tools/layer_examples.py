"""One small example per layer type, by the groups of docs/layers.md.

A new type is one line here: its name in its group. ``GUESS`` finds a conf and sources that the type accepts; an example
that is written out is better for the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from google.protobuf import text_format

from netpart.errors import NetpartError
from netpart.layers import layer_class
from netpart.layers.inputs.shard_data import RecordSpec
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import INT, RECORD, Shape, Spec


@dataclass(frozen=True)
class Example:
    """The conf of a layer, without its name, type and sources, and the specs of its sources."""

    conf: str = ""
    sources: tuple[Spec, ...] = ()

    def proto(self, type_name: str) -> LayerProto:
        """The conf of a layer named ``y`` of type ``type_name``."""
        names = "".join(f'srclayers: "{name}" ' for name in source_names(self.sources))
        return text_format.Parse(f'name: "y" type: {type_name} {names}{self.conf}', LayerProto())

    def layer(self, type_name: str) -> Layer:
        """The layer; raises ConfigError or DataError where the type does not accept the example."""
        return layer_class(type_name)(self.proto(type_name), self.sources)


def source_names(sources: tuple[Spec, ...]) -> tuple[str, ...]:
    """``x``, or ``x0``, ``x1``, ... where there are several."""
    return ("x",) if len(sources) == 1 else tuple(f"x{k}" for k in range(len(sources)))


def on(*shapes: Shape, conf: str = "", params: int = 0) -> Example:
    """An example on sources of numbers, with ``params`` empty param blocks."""
    return Example(" ".join([conf, *["param { }"] * params]).strip(), tuple(map(Spec, shapes)))


IMAGES = (8, 6, 12, 12)
ROWS = (8, 12)
SEQUENCES = (8, 12, 16)
HEADS = (8, 4, 12, 16)
LABELS = Spec((8,), INT)
TOKENS = Spec((8, 12), INT)
RECORDS = RecordSpec((), RECORD, 8, Path("digits.bin"))
STORE = "store_conf { batchsize: 8 shape: 6 shape: 12 shape: 12 }"
GUESS = None

GROUPS: dict[str, dict[str, Example | None]] = {
    "Inputs": {
        "kRecordInput": Example(STORE),
        "kCSVInput": Example("store_conf { batchsize: 8 shape: 12 }"),
        "kArrayInput": Example(
            'array_conf { path: "digits.npz" data: "x" label: "y" batchsize: 8 shape: [6, 12, 12] }'
        ),
        "kTokenInput": Example('token_conf { files: "tokens.bin" batchsize: 8 window: 12 }'),
        "kLMDBData": GUESS,
        "kSyntheticInput": Example(STORE),
        "kShardData": Example('sharddata_conf { path: "digits.bin" batchsize: 8 }'),
        "kSyntheticMasks": GUESS,
        "kSyntheticTokens": GUESS,
        "kTextInput": GUESS,
        "kNiftiInput": Example('nifti_conf { path: "scans.csv" batchsize: 8 shape: [16, 20, 16] }'),
        "kImageInput": Example('image_conf { path: "photos" batchsize: 8 shape: [3, 12, 12] }'),
        "kTarInput": Example('tar_conf { path: "photos.tar" } image_conf { batchsize: 8 shape: [3, 12, 12] }'),
        "kMnist": Example("mnist_conf { resize: 12 }", (RECORDS,)),
        "kLabel": Example("", (RECORDS,)),
        "kRGBImage": Example("rgbimage_conf { cropsize: 12 mirror: true }", (RECORDS,)),
        "kImagePreprocess": on((8, 3, 12, 12), conf="rgbimage_conf { cropsize: 8 mirror: true }"),
    },
    "Products and convolutions": {
        "kInnerProduct": on(ROWS, conf="innerproduct_conf { num_output: 10 }", params=2),
        "kConvolution": on(IMAGES, conf="convolution_conf { num_filters: 8 kernel: 3 pad: 1 }", params=2),
        "kTransposedConvolution": on(IMAGES, conf="convolution_conf { num_filters: 8 kernel: 2 stride: 2 }", params=2),
        "kMatmul": on((8, 10, 12), (8, 12, 14)),
    },
    "Pooling and resampling": {
        "kPooling": on(IMAGES, conf="pooling_conf { kernel: 3 stride: 2 }"),
        "kGlobalPooling": on(IMAGES, conf="globalpooling_conf { pool: AVG }"),
        "kUpsampling": on(IMAGES, conf="upsampling_conf { factor: 2 method: LINEAR }"),
    },
    "Activations": {
        "kReLU": on(IMAGES),
        "kSigmoid": on(IMAGES),
        "kSTanh": on(IMAGES),
        "kActivation": on(IMAGES, conf="activation_conf { type: GELU }"),
        "kSoftmax": on(ROWS),
        "kDropout": on(IMAGES, conf="dropout_conf { dropout_ratio: 0.5 }"),
    },
    "Normalisation": {
        "kLRN": on(IMAGES, conf="lrn_conf { local_size: 3 }"),
        "kBM": on(IMAGES, params=4),
        "kLayerNorm": on(SEQUENCES, conf="norm_conf { axis: -1 }", params=2),
        "kGroupNorm": on(IMAGES, conf="norm_conf { groups: 2 }", params=2),
    },
    "Shapes and joins": {
        "kAdd": on(IMAGES, IMAGES),
        "kGate": on(IMAGES, params=1),
        "kMul": on(IMAGES, (8, 6, 1, 1)),
        "kMax": on(IMAGES, IMAGES),
        "kConcate": on((8, 4, 12, 12), (8, 2, 12, 12), conf="concate_conf { concate_dim: 1 }"),
        "kReshape": on(SEQUENCES, conf="reshape_conf { shape: 12 shape: 4 shape: 4 }"),
        "kTranspose": on(SEQUENCES, conf="transpose_conf { axis: 2 axis: 1 }"),
        "kSplit": on(IMAGES),
        "kSlice": on(IMAGES, conf="slice_conf { slice_dim: 1 num_slices: 2 }"),
        "kCrop": GUESS,
    },
    "Attention and positions": {
        "kAttention": on(HEADS, HEADS, HEADS, conf="attention_conf { causal: true }"),
        "kEmbedding": Example("embedding_conf { vocab_size: 50 feature_dim: 16 } param { }", (TOKENS,)),
        "kPositions": on(SEQUENCES, params=1),
        "kRotary": on(SEQUENCES),
        "kClassToken": on(SEQUENCES, params=1),
    },
    "Losses": {
        "kSoftmaxLoss": Example("", (Spec((8, 10)), LABELS)),
        "kEuclideanLoss": on(ROWS, ROWS),
        "kL1Loss": on(ROWS, ROWS),
        "kHuberLoss": on(ROWS, ROWS, conf="loss_conf { delta: 0.5 }"),
        "kBinaryLoss": Example("loss_conf { positive_weight: 2 }", (Spec(ROWS), Spec(ROWS, INT))),
    },
    "Outputs": {
        "kAccuracy": Example("", (Spec((8, 10)), LABELS)),
        "kConfusion": Example("", (Spec((8, 2)), LABELS)),
    },
}
"""Group -> a name of each type that has a class -> its example."""

GUESSES = ((Spec(IMAGES),), (Spec(ROWS),), (Spec(ROWS), LABELS), (TOKENS,), (RECORDS,), ())
"""Sources that a guess tries, in this order."""


def example(type_name: str, written: Example | None, fields: list[str]) -> Example | None:
    """The example as it is ``written``, or the first that the type accepts; None if it accepts none.

    ``fields`` are the names of the type's confs in a layer.
    """
    confs = ["", *(f"{field} {{ }}" for field in fields)]
    guesses = (Example(f"{conf} {'param { } ' * n}".strip(), s) for s, n, conf in product(GUESSES, range(5), confs))
    return written or next((guess for guess in guesses if fits(guess, type_name)), None)


def fits(tried: Example, type_name: str) -> bool:
    """True if the type accepts the example."""
    try:
        tried.layer(type_name)
    except (NetpartError, text_format.ParseError):
        return False
    return True
