"""Session: a whole trained net in this process, run forward on values that the caller gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.graph.net import Net, Node, Source
from netpart.graph.partition import MicroBatch, Partition, partition_net, uncut_placements
from netpart.graph.passes.sum_gradients import plan_parameters
from netpart.kernels.device import array_module
from netpart.layers.inputs.placeholder import InputPlaceholder
from netpart.layers.score import Score
from netpart.program.buffers import View
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.program import Program
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.phase import in_phase
from netpart.worker.initial_values import checkpoint_shapes, fill_from_checkpoint
from netpart.worker.player import Player

if TYPE_CHECKING:
    from netpart.proto.reader import Job

PHASE = "test"

Values = np.ndarray[Any, Any]


class Session:
    """The part of a job's test net on which the layers ``outputs`` depend, for mini-batches of ``rows`` rows.

    Parameters are those of ``checkpoint``, or initial ones without it. With ``score``, one of the outputs, a run goes
    backward as well, and ``gradient`` returns the gradient of a class score. Raises ConfigError for a name that is not
    a layer of the test net and for inputs of opaque records, DataError for a checkpoint that is damaged, or of another
    net.
    """

    def __init__(
        self, job: Job, outputs: Iterable[str], checkpoint: Path | None = None, rows: int = 1, device: str = "cpu",
        score: str = "",
    ) -> None:  # fmt: skip
        build_net(job.proto, PHASE, job.folder)  # for its errors: they then refer to lines of the whole job
        net = _replace_inputs(build_net(upstream_job(job.proto, outputs), PHASE, job.folder, rows))
        net = _append_score(net, score) if score else net
        self.nodes = net.by_name
        self.partition = _whole_partition(job.proto, net)
        xp, device = array_module(device)
        program = compile_worker(self.partition, 0, keep=True, kernels=job_kernel_class(job.proto, device))
        self.player = Player(program, None, xp, seed=job.proto.seed)
        if checkpoint is None:
            self.player.parameters.initialise()
        else:
            with open_checkpoint(checkpoint) as saved:
                saved.verify(checkpoint_shapes(self.player.program.holdings))
                fill_from_checkpoint(self.player, saved, {"": self.player.parameters.values})

    def run(self, values: Mapping[str, Values], step: int = 0) -> None:
        """Run the net forward on ``values``: input layer -> an array that fits its first output.

        An input that is omitted keeps its previous value, 0 at first. Raises ConfigError for a name that is not an
        input.
        """
        for name, value in values.items():
            self.input(name).values[0][...] = value
        for waiting in self.player.play(PHASE, step):
            raise AssertionError(f"a whole net waits for {waiting}")

    def score_of(self, target: int) -> None:
        """Set the class from whose score the next runs go backward; at first it is class 0."""
        for node in self.nodes.values():
            if isinstance(node.layer, Score):
                node.layer.target = target

    def input(self, name: str) -> InputPlaceholder:
        """The input layer ``name``."""
        inputs = {name: node.layer for name, node in self.nodes.items() if isinstance(node.layer, InputPlaceholder)}
        if name not in inputs:
            raise ConfigError("values", f"an input of the net: {', '.join(inputs)}", repr(name), "name one of them")
        return inputs[name]

    def value(self, name: str) -> Values:
        """The first output of layer ``name`` in the last run: a host array that the next run overwrites."""
        return self._host(self._program.values[0, self._part(name), 0])

    def gradient(self, name: str) -> Values:
        """The gradient of the last run's score with respect to the first output of layer ``name``; a host array like
        ``value``.

        Raises ConfigError for a layer without a gradient: a layer of data, or one on which the score does not depend.
        """
        found = self._program.gradients.get((0, self._part(name)))
        if found is None:
            hint = "name a layer between the first parameters and the scores"
            raise ConfigError("gradient", "a layer with parameters in or above it", repr(name), hint)
        return self._host(found)

    @property
    def _program(self) -> Program:
        return self.player.program.phases[PHASE]

    def _part(self, name: str) -> int:
        graph = self.partition.phases[PHASE][0].graph
        node = self.nodes[name].index
        return next(p.index for p in graph.parts if p.node == node)

    def _host(self, view: View) -> Values:
        found: Values = self.player.machine.held(view, PHASE)
        return found


def _append_score(net: Net, name: str) -> Net:
    """``net`` with a Score of layer ``name`` at its end, and a backward pass from there."""
    source = net.by_name[name]
    score = Score(name, source.layer.output)
    node = Node(len(net.nodes), score, (Source(source.index, 0),), (), ())
    return replace(net, nodes=[*net.nodes, node], explained=True)


def upstream_job(job: JobProto, outputs: Iterable[str]) -> JobProto:
    """``job`` with only those layers of its test net on which ``outputs`` depend. Raises ConfigError.

    All readers of a needed kSlice are kept too, because their order determines which reader gets which part; and the
    layers whose parameters a needed one shares.
    """
    confs = {conf.name: conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)}
    wanted = list(outputs)
    found = set[str]()
    while wanted:
        name = wanted.pop()
        if name not in confs:
            known = ", ".join(confs) or "none"
            raise ConfigError("output", f"a layer of the {PHASE} net", repr(name), f"it has {known}")
        if name not in found:
            found.add(name)
            wanted += [*confs[name].srclayers, *_parameter_owners(confs, confs[name])]
            if confs[name].type == LayerType.kSlice:
                wanted += [reader for reader, conf in confs.items() if name in conf.srclayers]
    part = JobProto()
    part.CopyFrom(job)
    del part.neuralnet.layer[:]
    slices = {name for name in found if confs[name].type == LayerType.kSlice}
    part.neuralnet.layer.extend(c for c in job.neuralnet.layer if c.name in found or slices & {*c.srclayers})
    return part


def _parameter_owners(confs: Mapping[str, LayerProto], conf: LayerProto) -> list[str]:
    """The layers of ``confs`` whose parameters ``conf`` shares: share_from has LAYER/PARAM, or the name of a param."""
    shared = {param.share_from for param in conf.param if param.share_from}
    named = {(name, param.name) for name, other in confs.items() for param in other.param if param.name}
    owners = {name for name, param in named if param in shared}
    return sorted(owners | {text.rpartition("/")[0] for text in shared} & {*confs})


def _replace_inputs(net: Net) -> Net:
    """``net`` with its input layers replaced by placeholders for the caller's values."""
    nodes = [replace(n, layer=InputPlaceholder(n.layer)) if n.layer.is_input else n for n in net.nodes]
    for node in nodes:
        if node.layer.is_input and not node.layer.output.shape:
            hint = "use a kRecordInput instead"
            raise ConfigError(node.name, "an input of numbers or tokens", "one of opaque records", hint)
    return replace(net, nodes=nodes)


def _whole_partition(job: JobProto, net: Net) -> Partition:
    """The partition of one net that stays whole on one worker."""
    graph = partition_net(net, uncut_placements(net), 1)
    plan = plan_parameters([graph], 1, float_size(job), job.bucket_bytes)
    return Partition(job, 1, {PHASE: [MicroBatch(graph, (0, net.rows))]}, plan.holdings, plan.buckets)
