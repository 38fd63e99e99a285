"""Grad-CAM: where in a sample, of two or three axes, a net sees what raises the score of a class.

The map is relu(sum over the channels k of a_k A_k), of the output A of a layer with channels and space, where a_k is
the mean over space of the score's gradient towards A_k (Selvaraju et al., 2017); its largest value is made 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netpart.data.nifti import Scan
from netpart.data.resize import stretch
from netpart.errors import ConfigError
from netpart.launch.session import PHASE, Session, Values
from netpart.layers.nifti import NiftiInput
from netpart.layers.rows import RowInput
from netpart.proto.layer_pb2 import LayerType
from netpart.proto.phase import PHASES, in_phase
from netpart.spec import Shape

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job

LOSSES = LayerType.kSoftmaxLoss, LayerType.kCudnnSoftmaxLoss
ROOM = 4
"""Extent along each axis of a map that can show a place."""


class Ends(NamedTuple):
    """The layers between which a net classifies: its samples, and the scores of the classes."""

    samples: str
    scores: str


@dataclass(frozen=True)
class Explanation:
    """``map`` (*space), 0 to 1, of ``sample`` (channels, *space) in the net's input; ``scan`` is where that came from,
    if from a scan. ``target`` is the class that is explained, ``label`` what the sample is."""

    map: Values
    sample: Values
    layer: str
    target: int
    label: int
    probabilities: tuple[float, ...]
    scan: Scan | None

    @property
    def in_scan(self) -> Values:
        """The map in the voxels of the scan, or else of the net's input."""
        return self.map if self.scan is None else stretch(self.map, self.scan.shape)


def explain(job: Job, checkpoint: Path | None, number: int, layer: str = "", target: int | None = None) -> Explanation:
    """Explains sample ``number`` of the test data: for class ``target``, by default the most probable one.

    ``layer`` is by default the last with four places or more on each axis. Raises ConfigError for a net that does not
    classify, a layer without space, a class or a sample that is none; DataError for data or a checkpoint that cannot
    be read.
    """
    ends = classifying(job.proto)
    session = Session(job, [ends.scores], checkpoint, score=ends.scores)
    name = layer or last_with_space(session)
    check_space(session, name)
    source = session.input(ends.samples).like
    sample, label = read_sample(source, number, job.proto.seed)
    session.run({ends.samples: sample})
    scores = session.value(ends.scores)[0].astype(np.float64)
    target = int(scores.argmax()) if target is None else target
    if not 0 <= target < len(scores):
        raise ConfigError("--class", f"a class from 0 to {len(scores) - 1}", str(target))
    session.score_of(target)
    session.run({})
    odds = np.exp(scores - scores.max())
    found = class_map(session.value(name)[0], session.gradient(name)[0])
    scan = Scan(source.table()[number].path) if isinstance(source, NiftiInput) else None
    shape = sample.shape[2:] if sample.ndim > 3 else sample.shape[1:]
    return Explanation(stretch(found, shape), sample[0], name, target, label, tuple((odds / odds.sum()).tolist()), scan)


def class_map(values: Values, gradient: Values) -> Values:
    """The map of ``values`` (channels, *space) and the score's ``gradient`` towards them.

    0 where nothing speaks for the class.
    """
    weights = gradient.mean(axis=tuple(range(1, gradient.ndim)))
    found: Values = np.maximum(np.tensordot(weights, values, 1), 0)
    return np.asarray(found / max(float(found.max()), float(np.finfo(found.dtype).tiny)))


def classifying(job: JobProto) -> Ends:
    """Finds the one kSoftmaxLoss of the test net. Raises ConfigError."""
    confs = [conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)]
    found = [Ends(c.srclayers[1], c.srclayers[0]) for c in confs if c.type in LOSSES and len(c.srclayers) == 2]
    if len(found) != 1:
        raise ConfigError("gradcam", "a job with one kSoftmaxLoss", f"{len(found)} of them", "explain a classifier")
    return found[0]


def last_with_space(session: Session) -> str:
    """The last layer whose output has ROOM places along each axis, or as many as any has. Raises ConfigError."""
    places = {name: min(shape[2:]) for name, shape in with_space(session).items()}
    if not places:
        raise ConfigError("gradcam", "a layer with channels and space", "none", "only a net of images can be explained")
    room = min(ROOM, max(places.values()))
    return [name for name, found in places.items() if found >= room][-1]


def check_space(session: Session, name: str) -> None:
    """Raises ConfigError unless ``name`` is a layer of the net that has channels and space."""
    known = with_space(session)
    if name not in known:
        raise ConfigError("--layer", f"a layer with channels and space: {', '.join(known)}", repr(name))


def with_space(session: Session) -> dict[str, Shape]:
    """The layers whose outputs are (batch, channels, *space), with space of two or three axes."""
    shapes = {name: node.layer.output.shape for name, node in session.nodes.items()}
    return {name: shape for name, shape in shapes.items() if len(shape) in (4, 5)}


def read_sample(source: object, number: int, seed: int) -> tuple[Values, int]:
    """Sample ``number`` of the test data (1, ...) and its class."""
    if not isinstance(source, RowInput):
        raise ConfigError("gradcam", "an input layer of labelled rows", type(source).__name__)
    if isinstance(source, NiftiInput) and number >= len(source.table()):
        raise ConfigError("--sample", f"a scan from 0 to {len(source.table()) - 1}", str(number))
    data, label = np.empty((1, *source.output.shape[1:]), np.float32), np.zeros(1, np.int32)
    source.open(1, seed, PHASES[PHASE]).read(number, 0, 1, data, label)
    return data, int(label[0])
