"""Grad-CAM and HiResCAM: where in a sample, of two or three axes, a net sees what raises the score of a class.

Both add up the channels k of the output A of a layer with channels and space, weighed by g, the score's gradient
towards A, cut off what is negative, and make the largest value 1:

    gradcam     relu(sum_k mean(g_k) A_k)     g is averaged over space (Selvaraju et al., 2017)
    hirescam    relu(sum_k g_k A_k)           g stays where it is (Draelos and Carin, 2020)

For the last layer before a mean over space and an inner product, g_k is one number and both are the same. Farther from
the end g changes from place to place, and a mean over space says nothing of where.
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
from netpart.proto.phase import PHASES, in_phase
from netpart.spec import Shape
from netpart.trained.input_lattice import interpolate_map, layer_lattice
from netpart.trained.session import PHASE, Session, Values

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

LOSSES = LayerType.kSoftmaxLoss, LayerType.kCudnnSoftmaxLoss


class ClassifierLayers(NamedTuple):
    """The layers between which a net classifies: its samples, and the scores of the classes."""

    samples: str
    scores: str


@dataclass(frozen=True)
class SampleExplanation:
    """``map`` (*space), 0 to 1, of ``sample`` (channels, *space) in the net's input; ``scan`` is where that came from,
    if from a scan. ``target`` is the class that is explained, ``label`` what the sample is."""

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
    """How a map is made: ``weigh`` makes the weights of a layer's output of the score's gradient (channels, *space)
    towards it; ``room`` is the extent along each axis that the layer should have, if none is named."""

    weigh: Callable[[Values], Values]
    room: int


def _average_over_space(gradient: Values) -> Values:
    """The mean over space, (channels, 1, ...)."""
    return np.asarray(gradient.mean(axis=tuple(range(1, gradient.ndim)), keepdims=True))


GRADCAM, HIRESCAM = CAM_METHODS
METHODS = {GRADCAM: CamMethod(_average_over_space, 4), HIRESCAM: CamMethod(np.asarray, 16)}
"""Grad-CAM wants a late layer, for a mean gradient says little of an early one, HiResCAM one that shows places well."""


class SampleExplainer:
    """The test net of a job, whole, that explains one sample after another.

    ``layer`` is by default the last with as much room as ``method``, one of METHODS, wants. ``checkpoint``: trained
    parameters, without it initial ones. Raises ConfigError for a net that does not classify or a layer without space;
    DataError for a checkpoint that cannot be read.
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
        """Explains sample ``number`` of the test data: for class ``target``, by default the most probable one.

        Raises ConfigError for a class or a sample that is none; DataError for data that cannot be read.
        """
        session = self._session
        source = self.source
        sample, label = _read_sample(source, number, self._seed)
        session.run({self._ends.samples: sample})
        scores = session.value(self._ends.scores)[0].astype(np.float64)
        target = int(scores.argmax()) if target is None else target
        if not 0 <= target < len(scores):
            raise ConfigError("--class", f"a class from 0 to {len(scores) - 1}", str(target))
        session.score_of(target)
        session.run({})
        found = class_activation_map(session.value(self.layer)[0], session.gradient(self.layer)[0], self.method)
        shape = sample.shape[-found.ndim :]
        odds = np.exp(scores - scores.max())
        return SampleExplanation(
            _scale_to_one(interpolate_map(found, self._lattice, shape)), sample[0], self.layer, target, label,
            tuple((odds / odds.sum()).tolist()), _sample_scan(source, number),
        )  # fmt: skip


def explain_sample(
    job: Job, checkpoint: Path | None, number: int, layer: str = "", target: int | None = None
) -> SampleExplanation:
    """Explains one sample by Grad-CAM: see Explainer."""
    return SampleExplainer(job, checkpoint, layer).explain(number, target)


def class_activation_map(values: Values, gradient: Values, method: CamMethod = METHODS[GRADCAM]) -> Values:
    """What ``values`` (channels, *space) and the score's ``gradient`` towards them say for the class, of any scale.

    0 where nothing speaks for it.
    """
    return np.asarray(np.maximum((method.weigh(gradient) * values).sum(axis=0), 0))


def _scale_to_one(values: Values) -> Values:
    """``values`` of 0 or more, the largest made 1 unless it is 0."""
    return np.asarray(values / max(float(values.max()), float(np.finfo(values.dtype).tiny)))


def _find_classifier(job: JobProto) -> ClassifierLayers:
    """Finds the one kSoftmaxLoss of the test net. Raises ConfigError."""
    confs = [conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)]
    found = [
        ClassifierLayers(c.srclayers[1], c.srclayers[0]) for c in confs if c.type in LOSSES and len(c.srclayers) == 2
    ]
    if len(found) != 1:
        raise ConfigError("gradcam", "a job with one kSoftmaxLoss", f"{len(found)} of them", "explain a classifier")
    return found[0]


def _last_spatial_layer(session: Session, room: int) -> str:
    """The last layer whose output has ``room`` places along each axis, or as many as any has. Raises ConfigError."""
    shapes = _spatial_layers(session)
    places = {name: min(shape[2:]) for name, shape in shapes.items() if not session.nodes[name].layer.is_input}
    if not places:
        raise ConfigError("gradcam", "a layer with channels and space", "none", "only a net of images can be explained")
    enough = min(room, max(places.values()))
    return [name for name, found in places.items() if found >= enough][-1]


def _check_spatial_layer(session: Session, name: str) -> None:
    """Raises ConfigError unless ``name`` is a layer of the net that has channels and space."""
    known = _spatial_layers(session)
    if name not in known:
        raise ConfigError("--layer", f"a layer with channels and space: {', '.join(known)}", repr(name))


def _spatial_layers(session: Session) -> dict[str, Shape]:
    """The layers whose outputs are (batch, channels, *space), with space of two or three axes."""
    shapes = {name: node.layer.output.shape for name, node in session.nodes.items()}
    return {name: shape for name, shape in shapes.items() if len(shape) in (4, 5)}


def _sample_scan(source: Layer, number: int) -> NiftiScan | None:
    """The file of sample ``number``, if it comes from one."""
    return NiftiScan(source.table()[number].path) if isinstance(source, NiftiInput) else None


def _read_sample(source: object, number: int, seed: int) -> tuple[Values, int]:
    """Sample ``number`` of the test data (1, ...) and its class."""
    if not isinstance(source, RowInput):
        raise ConfigError("gradcam", "an input layer of labelled rows", type(source).__name__)
    records = source.records()
    if records is not None and number >= records:
        raise ConfigError("--sample", f"one of {records} samples, 0 to {records - 1}", str(number))
    data = np.empty((1, *source.output.shape[1:]), np.float32)
    label = np.zeros(1, np.int32)
    source.open(1, seed, PHASES[PHASE]).read(number, 0, 1, data, label)
    return data, int(label[0])
