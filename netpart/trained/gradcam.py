"""Grad-CAM and HiResCAM: where in a sample, with two or three axes, a net finds what raises the score of a class.

Both take the output A of a layer with channels and space, and the score's gradient g with respect to A. They add up the
channels k of A with weights from g, set negative values to 0, and scale the largest value to 1:

    gradcam     relu(sum_k mean(g_k) A_k)     g is averaged over space (Selvaraju et al., 2017)
    hirescam    relu(sum_k g_k A_k)           g keeps its positions (Draelos and Carin, 2020)

For the last layer before a mean over space and an inner product, g_k is one number and both methods agree. In earlier
layers g varies over space, and its mean has lost the positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netpart.choices import CAM_METHODS
from netpart.data.resize import resize_array
from netpart.data.scans.nifti import NiftiScan
from netpart.errors import ConfigError
from netpart.layers.inputs.nifti import NiftiInput
from netpart.layers.inputs.rows import RowInput
from netpart.layers.layer import Layer
from netpart.proto.layer_pb2 import LayerType
from netpart.proto.phase import PHASE_VALUES, in_phase
from netpart.spec import Shape
from netpart.trained.input_lattice import interpolate_map, layer_lattice
from netpart.trained.session import PHASE, Session, Values

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

LOSSES = LayerType.kSoftmaxLoss, LayerType.kCudnnSoftmaxLoss


class ClassifierLayers(NamedTuple):
    """The two ends of a classifier: the layer of its samples and the layer of the class scores."""

    samples: str
    scores: str


@dataclass(frozen=True)
class SampleExplanation:
    """``map`` (*space), 0 to 1, of ``sample`` (channels, *space) in the net's input.

    ``target`` is the explained class, ``label`` the true class of the sample. ``scan`` is the file of the sample, if it
    is from a scan.
    """

    map: Values
    sample: Values
    layer: str
    target: int
    label: int
    probabilities: tuple[float, ...]
    scan: NiftiScan | None

    @property
    def in_scan(self) -> Values:
        """The map in the voxels of the scan, or else of the net's input."""
        return self.map if self.scan is None else resize_array(self.map, self.scan.shape)


@dataclass(frozen=True)
class CamMethod:
    """How a map is made.

    ``weigh`` turns the score's gradient (channels, *space) with respect to a layer's output into the weights of that
    output. ``room`` is the extent that the layer should have along each axis, if the user names no layer.
    """

    weigh: Callable[[Values], Values]
    room: int


def _average_over_space(gradient: Values) -> Values:
    """The mean over space, (channels, 1, ...)."""
    return np.asarray(gradient.mean(axis=tuple(range(1, gradient.ndim)), keepdims=True))


GRADCAM, HIRESCAM = CAM_METHODS
METHODS = {GRADCAM: CamMethod(_average_over_space, 4), HIRESCAM: CamMethod(np.asarray, 16)}
"""Grad-CAM needs a late layer, as a mean gradient is less meaningful in earlier ones. HiResCAM uses a layer of high
resolution."""


class SampleExplainer:
    """The whole test net of a job, on one worker, which explains one sample after another.

    ``layer`` is by default the last one with the resolution that ``method``, one of METHODS, asks for. ``checkpoint``
    has trained parameters; without it they are initial ones. Raises ConfigError for a net that does not classify or a
    layer without space, DataError for a checkpoint that cannot be read.
    """

    def __init__(self, job: Job, checkpoint: Path | None, layer: str = "", method: str = GRADCAM) -> None:
        ends = self._ends = _find_classifier(job.proto)
        session = self._session = Session(job, [ends.scores], checkpoint, score=ends.scores)
        self._seed = job.proto.seed
        self.method = METHODS[method]
        self.layer = layer or _last_spatial_layer(session, self.method.room)
        _check_spatial_layer(session, self.layer)
        self._lattice = layer_lattice(session.nodes, ends.samples, self.layer)

    @property
    def source(self) -> Layer:
        """The input layer of the samples."""
        return self._session.input(self._ends.samples).like

    def explain(self, number: int, target: int | None = None) -> SampleExplanation:
        """Explain sample ``number`` of the test data for class ``target``, by default the most probable one.

        Raises ConfigError for an invalid class or sample, DataError for data that cannot be read.
        """
        session = self._session
        source = self.source
        sample, label = _read_sample(source, number, self._seed)
        # Run twice: the target class may depend on the scores, but the backward pass is part of the run and needs the
        # target first.
        session.run({self._ends.samples: sample})
        scores = session.value(self._ends.scores)[0].astype(np.float64)
        target = int(scores.argmax()) if target is None else target
        if not 0 <= target < len(scores):
            raise ConfigError("--class", f"a class from 0 to {len(scores) - 1}", str(target), "choose one of them")
        session.score_of(target)
        session.run({})
        found = class_activation_map(session.value(self.layer)[0], session.gradient(self.layer)[0], self.method)
        shape = sample.shape[-found.ndim :]
        # The shift by the maximum avoids overflow and cancels in the quotient.
        odds = np.exp(scores - scores.max())
        return SampleExplanation(
            _scale_to_one(interpolate_map(found, self._lattice, shape)), sample[0], self.layer, target, label,
            tuple((odds / odds.sum()).tolist()), _sample_scan(source, number),
        )  # fmt: skip


def explain_sample(
    job: Job, checkpoint: Path | None, number: int, layer: str = "", target: int | None = None
) -> SampleExplanation:
    """Explain one sample by Grad-CAM: see SampleExplainer."""
    return SampleExplainer(job, checkpoint, layer).explain(number, target)


def class_activation_map(values: Values, gradient: Values, method: CamMethod = METHODS[GRADCAM]) -> Values:
    """The map (*space), of any scale, from ``values`` (channels, *space) and the score's ``gradient`` with respect to
    them.

    It is 0 where nothing supports the class.
    """
    return np.asarray(np.maximum((method.weigh(gradient) * values).sum(axis=0), 0))


def _scale_to_one(values: Values) -> Values:
    """``values`` of 0 or more, scaled so that the largest is 1, unless it is 0."""
    return np.asarray(values / max(float(values.max()), float(np.finfo(values.dtype).tiny)))


def _find_classifier(job: JobProto) -> ClassifierLayers:
    """Find the one kSoftmaxLoss of the test net. Raises ConfigError."""
    confs = [conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)]
    found = [
        ClassifierLayers(c.srclayers[1], c.srclayers[0]) for c in confs if c.type in LOSSES and len(c.srclayers) == 2
    ]
    if len(found) != 1:
        raise ConfigError("gradcam", "a job with one kSoftmaxLoss", f"{len(found)} of them", "choose another job")
    return found[0]


def _last_spatial_layer(session: Session, room: int) -> str:
    """The last layer whose output has ``room`` positions along each axis, or the maximum that any has. Raises
    ConfigError."""
    shapes = _spatial_layers(session)
    places = {name: min(shape[2:]) for name, shape in shapes.items() if not session.nodes[name].layer.is_input}
    if not places:
        raise ConfigError("gradcam", "a layer with channels and space", "none", "choose a job with images")
    enough = min(room, max(places.values()))
    return [name for name, found in places.items() if found >= enough][-1]


def _check_spatial_layer(session: Session, name: str) -> None:
    """Raise ConfigError unless ``name`` is a layer of the net that has channels and space."""
    known = _spatial_layers(session)
    if name not in known:
        expected = f"a layer with channels and space: {', '.join(known)}"
        raise ConfigError("--layer", expected, repr(name), "choose one of them")


def _spatial_layers(session: Session) -> dict[str, Shape]:
    """The layers whose outputs are (batch, channels, *space), with space of two or three axes."""
    shapes = {name: node.layer.output.shape for name, node in session.nodes.items()}
    return {name: shape for name, shape in shapes.items() if len(shape) in (4, 5)}


def _sample_scan(source: Layer, number: int) -> NiftiScan | None:
    """The file of sample ``number``, if it is from a scan."""
    return NiftiScan(source.table()[number].path) if isinstance(source, NiftiInput) else None


def _read_sample(source: object, number: int, seed: int) -> tuple[Values, int]:
    """Sample ``number`` of the test data (1, ...) and its class."""
    if not isinstance(source, RowInput) or source.targets:
        got = "targets of a regression" if isinstance(source, RowInput) else type(source).__name__
        raise ConfigError("gradcam", "an input layer of labelled rows", got, "explain another job")
    records = source.records()
    if records is not None and number >= records:
        raise ConfigError("--sample", f"one of {records} samples, 0 to {records - 1}", str(number), "choose another")
    data = np.empty((1, *source.output.shape[1:]), np.float32)
    label = np.zeros(1, np.int32)
    source.open(1, seed, PHASE_VALUES[PHASE]).read(number, 0, 1, data, label)
    return data, int(label[0])
