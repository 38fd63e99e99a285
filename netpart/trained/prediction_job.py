"""PredictionJob: the part of a job's test net that computes predictions, on the rows to predict for.

data ── conv ── ip ── loss          the test net
rows ── conv ── ip ── result        the net of a prediction: other rows, no labels, and a layer that collects
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from netpart.choices import RESULT
from netpart.data.remote.url_path import DataPath
from netpart.errors import ConfigError, JobError, NetpartError
from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.layers import UNLABELLED_SCANS
from netpart.layers.inputs.nifti import NiftiInput
from netpart.layers.inputs.rows import RowInput
from netpart.layers.softmax_loss import SoftmaxLoss
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.phase import in_phase
from netpart.spec import Shape
from netpart.trained.input_errors import find_input_error
from netpart.trained.prediction_source import count_source_rows, read_source
from netpart.trained.session import PHASE, upstream_job

if TYPE_CHECKING:
    from netpart.proto.reader import Job

LOSSES = LayerType.kSoftmaxLoss, LayerType.kCudnnSoftmaxLoss


@dataclass(frozen=True)
class PredictionRequest:
    """What to predict: the rows of ``source`` (None: the job's own test data), at most ``rows`` of them.

    ``layer`` is the layer whose values are wanted; "" for the classes of the net's kSoftmaxLoss.
    """

    source: DataPath | None = None
    layer: str = ""
    rows: int | None = None


@dataclass(frozen=True)
class PredictionJob:
    """``job`` computes ``shape`` for each of ``rows`` rows, in mini-batches of ``batch`` rows.

    ``places`` is the number of axes of ``shape`` that are not classes; None for the values of a layer. ``space`` are
    the axes in which the places of a row lie. ``input`` is the input layer of the rows. ``source`` is that of the
    request, ``whole`` the job with all phases.
    """

    job: Job
    rows: int
    batch: int
    shape: Shape
    places: int | None
    space: Shape
    input: RowInput | None
    source: DataPath | None = None
    whole: Job | None = None

    @property
    def batches(self) -> int:
        """Number of mini-batches; the last one may have more rows than are left."""
        return -(-self.rows // self.batch)


def make_prediction_job(job: Job, request: PredictionRequest) -> PredictionJob:
    """Make the job of a prediction.

    Raises ConfigError for a layer or an input that does not exist or does not fit, DataError for rows that cannot be
    read.
    """
    _check_layer(job.proto, request.layer)
    loss = None if request.layer else _find_loss(job.proto)
    output = request.layer if loss is None else loss.srclayers[0]
    places = None if loss is None else _count_label_axes(job, loss)
    # Twice: with other rows, layers above the input may be no longer needed.
    part = _upstream_part(job.proto, output)
    part = _upstream_part(read_source(job, part, request.source), output)
    part.neuralnet.layer.append(_result_layer(output))
    with located_in(job.proto, part, request.source):
        net = build_net(part, PHASE, job.folder)
    shape = net.by_name[RESULT].layer.output.shape
    _require_rows(net, output, shape)
    _omit_scan_labels(part, net)
    inputs = [node.layer for node in net.nodes if isinstance(node.layer, RowInput)]
    rows = count_source_rows(net, request.rows)
    first = inputs[0] if len(inputs) == 1 else None
    axes = None if places is None else (places or _likely_label_axes(shape)) - 1
    space = _place_axes(first, shape[1:], axes)
    return PredictionJob(replace(job, proto=part), rows, net.rows, shape[1:], axes, space, first, request.source, job)


def _check_layer(job: JobProto, name: str) -> None:
    """Raise ConfigError if ``name`` is given and is not a layer of the test net, or is a loss of classes."""
    found = {conf.name: conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)}
    if name and name not in found:
        raise ConfigError("--layer", f"a layer of the {PHASE} net", repr(name), f"it has {', '.join(found) or 'none'}")
    if name and found[name].type in LOSSES:
        hint = "omit --layer, and add --all for the probabilities"
        raise ConfigError("--layer", "a layer that needs no labels", repr(name), hint)


def _find_loss(job: JobProto) -> LayerProto:
    """The one kSoftmaxLoss of the test net. Raises ConfigError."""
    confs = [conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)]
    found = [conf for conf in confs if conf.type in LOSSES and conf.srclayers]
    if len(found) != 1:
        names = ", ".join(conf.name for conf in confs)
        hint = f"name an output with --layer: {names}"
        raise ConfigError("predict", "a job with one kSoftmaxLoss", f"{len(found)} of them", hint)
    return found[0]


def _count_label_axes(job: Job, loss: LayerProto) -> int:
    """The number of axes of the labels of ``loss``, that of the batch included; 0 if the job's own data is absent."""
    try:
        layer = build_net(job.proto, PHASE, job.folder).by_name[loss.name].layer
        return layer.places if isinstance(layer, SoftmaxLoss) else 1
    except NetpartError:
        return 0


def _likely_label_axes(shape: Shape) -> int:
    """The number of axes of the labels, if no data shows it: all but the last one, on which the classes lie."""
    return len(shape) - 1 if len(shape) > 1 and shape[-1] > 1 else 1


def _upstream_part(job: JobProto, output: str) -> JobProto:
    """``job`` with only those layers of its test net on which ``output`` depends, each in all phases.

    In all phases, because a scheme may look at the training net, which shall be this one.
    """
    part = upstream_job(job, [output])
    kept = [conf for conf in part.neuralnet.layer if in_phase(conf, PHASE)]
    del part.neuralnet.layer[:]
    part.neuralnet.layer.extend(kept)
    for conf in part.neuralnet.layer:
        conf.ClearField("include")
        conf.ClearField("exclude")
    return part


def _result_layer(output: str) -> LayerProto:
    """The layer that collects the values of ``output`` whole on worker 0, from where they leave."""
    return LayerProto(name=RESULT, type=LayerType.kSplit, srclayers=[output], partition_dim=-1, location=[0])


def _omit_scan_labels(part: JobProto, net: Net) -> None:
    """Let workers read scans without their masks, which may be missing, if no layer of ``part`` reads labels."""
    scans = {node.index: node.name for node in net.nodes if isinstance(node.layer, NiftiInput)}
    labels = {source.node for node in net.nodes for source in node.sources if source.output}
    names = [name for index, name in scans.items() if index not in labels]
    for conf in part.neuralnet.layer:
        if conf.name in names:
            conf.type, conf.user_type = LayerType.kUserLayer, UNLABELLED_SCANS


def _require_rows(net: Net, output: str, shape: Shape) -> None:
    """Raise ConfigError for an output without a row for each row of the mini-batch."""
    if not shape or shape[0] != net.rows:
        hint = "name another layer"
        raise ConfigError("--layer", f"a layer with one row per sample, {net.rows}", f"{output} of shape {shape}", hint)


def _place_axes(source: RowInput | None, shape: Shape, axes: int | None) -> Shape:
    """The axes of a row's places: those of the input (channels, *space), if they are as many places in one axis."""
    if axes is None:
        return shape
    sample = source.output.shape[2:] if source is not None else ()
    return sample if axes == 1 and len(sample) > 1 and prod(sample) == shape[0] else shape[:axes]


@contextmanager
def located_in(job: JobProto, part: JobProto, source: DataPath | None) -> Iterator[None]:
    """Give errors of ``part`` raised in the block the places that their layers have in ``job``; none to its source."""
    try:
        yield
    except JobError as error:
        blamed = find_input_error(error, part, str(source)) if source is not None else None
        if blamed is not None:
            raise blamed from error
        _relocate_faults(error, job, part)
        raise


def _relocate_faults(error: JobError, job: JobProto, part: JobProto) -> None:
    """Give each fault of a layer of ``part`` the place of that layer in ``job``, or none if it is not there."""
    known = {conf.name: i for i, conf in enumerate(job.neuralnet.layer) if in_phase(conf, PHASE)}
    for fault in error.faults:
        at = fault.at or ()
        if at[:2] == ("neuralnet", "layer") and len(at) > 2 and isinstance(at[2], int):
            index = known.get(part.neuralnet.layer[at[2]].name)
            fault.at = None if index is None else (*at[:2], index, *at[3:])
