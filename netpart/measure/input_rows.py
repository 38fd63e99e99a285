"""Input rows: the rows that the input layers of a job read, in the order in which a run reads them, without the net."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpart.graph.build import build_net, locate_errors
from netpart.graph.net import Net, Node
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers.part import Call
from netpart.measure.epoch_size import input_nodes, row_bytes
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.phase import PHASE_VALUES
from netpart.spec import INT, RECORD, extent

if TYPE_CHECKING:
    from netpart.proto.reader import Job

Values = NDArray[Any]
AHEAD = "image_conf", "array_conf", "nifti_conf", "store_conf"
"""The confs with a field ``prefetching``."""
LABELS = "label", "target"
"""Names of outputs with what is to be predicted."""


@dataclass
class InputRows:
    """The rows of one input layer; those of opaque records are read by the layers that decode them.

    ``data`` is the node of the values, ``label`` that of the labels; None if there are none. Global row n is row
    n mod ``batch`` of the mini-batch of step n div ``batch``. ``opening`` and ``reading`` are the seconds spent so far.
    """

    net: Net
    node: Node
    seed: int
    dtype: Any
    opening: float = 0.0
    reading: float = 0.0
    clock: Clock = field(default_factory=Clock)
    records: list[Values] = field(default_factory=list)

    @property
    def batch(self) -> int:
        """Rows of a mini-batch."""
        return self.node.layer.rows or self.node.layer.output.rows

    @property
    def phase(self) -> int:
        """The phase, as ``include`` has it."""
        return PHASE_VALUES[self.net.phase]

    @property
    def itemsize(self) -> int:
        """Bytes of a float."""
        return int(np.dtype(self.dtype).itemsize)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row: its values and its labels."""
        return sum(row_bytes(node, self.itemsize) for node in self.readers)

    @property
    def readers(self) -> list[Node]:
        """The layers that return rows: the input, or those that decode its records."""
        if self.node.layer.output.dtype != RECORD:
            return [self.node]
        return [n for n in self.net.nodes if any(source.node == self.node.index for source in n.sources)]

    def read(self, first: int, last: int) -> tuple[Values | None, Values | None]:
        """The data and the labels (or targets) of the global rows ``first`` to ``last`` (excluded), of one mini-batch.

        Raises what the layer raises, at its place in the job.
        """
        step, lo = divmod(first, self.batch)
        self.clock.step = step
        data, label = None, None
        for node in self.readers:
            outputs = self._outputs(node, lo, lo + last - first)
            for name, values in zip(node.layer.output_names, outputs, strict=False):
                if name in LABELS:
                    label = values
                elif data is None:
                    data = values
        return data, label

    def _outputs(self, node: Node, lo: int, hi: int) -> list[Values]:
        """What a layer computes of the rows ``lo`` to ``hi`` of the mini-batch of the clock's step."""
        layer = node.layer
        region = ((lo, hi), *layer.output.whole[1:])
        specs = zip(layer.outputs_of(region), layer.outputs, strict=True)
        y = [np.zeros(extent(box), np.int32 if spec.dtype == INT else self.dtype) for box, spec in specs]
        with locate_errors(node.at, node.conf, [self.node]):
            self._run(node, self._call(node, region, y))
        return y

    def _run(self, node: Node, call: Call) -> None:
        """Bind a layer, and run it; add the times of both."""
        began = perf_counter()
        op = node.layer.forward(Kernels(np, self.dtype), call)
        bound = perf_counter()
        op.run()
        self.opening += bound - began
        self.reading += perf_counter() - bound

    def _call(self, node: Node, region: Any, y: list[Values]) -> Call:
        """The arguments of a layer; one that decodes records gets those of the input."""
        x = [self._records()] if node is not self.node else []
        return Call(
            region, node.layer.needs(region), None, x, [], y, rows=self.batch, phase=self.phase,
            seed=self.seed, clock=self.clock,
        )  # fmt: skip

    def _records(self) -> Values:
        """The output of an input of opaque records in the clock's step."""
        if not self.records:
            self.records = [np.empty(1, object)]
            # Bound and run once: its records stay open.
            self._run(self.node, self._call(self.node, (), self.records))
        self.records[0][0].step = self.clock.step
        return self.records[0]


def open_input_rows(job: Job, phase: str) -> Iterator[InputRows]:
    """Yield the rows of every input layer of ``phase``. Raises ConfigError or DataError for inputs that cannot be used.

    The rest of the net is not built, so it may have faults or be missing.
    """
    proto = _inputs_alone(job.proto, phase)
    net = build_net(proto, phase, job.folder)
    for node in input_nodes(net):
        yield InputRows(net, node, proto.seed, np.float64 if float_size(proto) == 8 else np.float32)


def _inputs_alone(job: JobProto, phase: str) -> JobProto:
    """``job`` with only inputs, and layers that decode records, in ``phase``; nothing is read ahead."""
    found = JobProto()
    found.CopyFrom(job)
    records = {conf.name for conf in job.neuralnet.layer if conf.type == LayerType.kShardData}
    for conf in found.neuralnet.layer:
        if conf.srclayers and not records & {*conf.srclayers}:
            # Not deleted: errors have the numbers of layers as their place.
            del conf.include[:]
            conf.exclude[:] = [PHASE_VALUES[phase]]
        _stop_prefetching(conf)
    return found


def _stop_prefetching(conf: LayerProto) -> None:
    """Let a layer read no rows ahead: they would be read in vain at the end, and not be timed."""
    for name in AHEAD:
        if conf.HasField(name):
            getattr(conf, name).prefetching = False
