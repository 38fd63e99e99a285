"""Binds the instructions of a Program to arrays, kernels and a transport: the last work before step 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.collectives import NCCL, Progress
from netpart.graph.graph import Part
from netpart.kernels.op import Array, Op
from netpart.layers.elementwise import Elementwise
from netpart.layers.layer import Following, Layer, ParamSpec
from netpart.layers.part import Call
from netpart.program.arena import views
from netpart.program.buffers import View
from netpart.program.communication import exchange_legs
from netpart.program.instructions import (
    PHASE_CODES,
    Add,
    AddSquares,
    Backward,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Forward,
    Instruction,
    Receive,
    Send,
    Update,
    Zero,
)  # fmt: skip
from netpart.program.program import Program
from netpart.program.sharing import only_read
from netpart.program.wire import AHEAD, ahead, left, overwritten, staying
from netpart.spec import contains, extent, relative
from netpart.updaters import Scale
from netpart.worker.machine import Machine
from netpart.worker.touched import Span, Spans, span
from netpart.worker.workspaces import nbytes

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.worker.nccl import Communicators, NcclCall

RUN, SEND, RECEIVE, START, WAIT = range(5)


@dataclass(slots=True)
class Running:
    """A collective of one worker: its progress, the channel of its messages, which differ in their chunk, the ranks of
    its members, and what is done as soon as it is complete (``then_replayed``: when nobody traces).

    Of one that is a ``call``, the bytes of its messages count by their channels as ``counted``, and none is sent.
    ``number`` is that of its messages, since it was started; ``delay`` that of its mini-batch then.
    """

    name: str
    progress: Progress
    channels: dict[int, Channel]
    members: tuple[int, ...]
    then: list[Action] = field(default_factory=list)
    then_replayed: list[Action] = field(default_factory=list)
    number: int = 0
    delay: int = 0
    call: NcclCall | None = None
    counted: list[tuple[Channel, int]] = field(default_factory=list)


@dataclass(slots=True)
class Action:
    """One bound instruction: what ``kind`` of thing it is and what to call. ``name`` is for people; a graph may repeat
    what is ``captured``. ``touched`` is the memory of a GPU that it reads and writes, None if that is not known; of
    ``scratch`` bytes it has those of its ``lane``."""

    kind: int
    name: str
    run: Callable[[], None] | None = None
    array: Array = None
    peer: int = -1
    channel: Channel | None = None
    running: Running | None = None
    captured: bool = True
    touched: Spans | None = None
    scratch: int = 0
    lane: int = 0


@dataclass
class Bound:
    """A Program ready to be played. ``metrics`` are the sums that losses add to since they were last read.

    ``turns[i]`` are the actions of step i, i + period, .. since no mini-batch was under way, each behind its delay.
    """

    program: Program
    turns: list[list[tuple[int, Action]]]
    metrics: np.ndarray[Any, Any]
    scratch: list[tuple[Action, Op]] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)


def bind(
    machine: Machine, phase: str, transport: Transport | None, communicators: Communicators | None = None
) -> Bound:  # fmt: skip
    """Binds one phase of a Machine, for each mini-batch that may be under way, and tells the transport what to
    expect. ``communicators`` are those of NCCL."""
    program = machine.program.phases[phase]
    period, metrics = program.period, machine.xp.zeros(sum(len(slot.names) for slot in program.metrics), np.float64)
    binders = [Binder(machine, phase, transport, metrics, mini, communicators) for mini in range(period)]
    bound = [[binder.action(i) for i in program.instructions] for binder in binders]
    delays = [i.delay for i in program.instructions]
    turns = [[(d, bound[(turn - d) % period][at]) for at, d in enumerate(delays)] for turn in range(period)]
    ops = [each for binder in binders for each in binder.ops]
    return Bound(program, turns, metrics, ops, [each for binder in binders for each in binder.running.values()])


class Binder:
    """Binds one phase of a Machine for one mini-batch of those that are under way."""

    def __init__(
        self, machine: Machine, phase: str, transport: Transport | None, metrics: Array, mini: int,
        communicators: Communicators | None = None,
    ) -> None:  # fmt: skip
        self.machine, self.transport, self.metrics, self.communicators = machine, transport, metrics, communicators
        self.program = machine.program.phases[phase]
        self.code = PHASE_CODES[self.program.phase]
        self.arrays, self.before = machine.arrays(phase, mini), machine.arrays(phase, mini - 1)
        self.kernels = machine.kernels
        self.calls: dict[tuple[int, int], Call] = {}
        self.parts: dict[tuple[int, int], Part] = {}
        for m, micro in enumerate(self.program.micros):
            self.parts.update({(m, p.index): p for p in micro.graph.parts if p.worker == machine.program.worker})
        self.running: dict[Channel, Running] = {}
        self.ops: list[tuple[Action, Op]] = []

    def action(self, instruction: Instruction) -> Action:
        """One instruction, bound."""
        found = self.bound(instruction)
        if self.kernels.device is not None and found.captured and found.kind == RUN:
            found.touched = tuple(self.touched(instruction))
        return found

    def touched(self, instruction: Instruction) -> Iterator[Span]:
        """The memory of the device that an instruction touches. Left out is what nothing that is captured writes, and
        complaints, of which each has its own."""
        left = {id(view) for view in only_read(instruction)}
        for view in views(instruction):
            if isinstance(array := self.arrays(view), self.machine.xp.ndarray):
                yield span(array, id(view) not in left, view)
        if isinstance(instruction, Update):
            yield from self.updated(instruction)
        if isinstance(instruction, Forward) and instruction.metrics is not None:
            yield span(self.metrics, True)

    def updated(self, update: Update) -> Iterator[Span]:
        """What an update touches beside its norm."""
        program, held = self.machine.program, update.holding
        value, gradient = program.at_home(program.parameters[held], held), program.gradients[held]
        assert gradient is not None
        running = self.spec(held).running
        read = [self.before(value), self.arrays(program.at_home(gradient, held))]
        read += [] if running is None or not running.mean else [self.arrays(self.centre(running, held))]
        yield from (span(array, False) for array in read)
        yield from (span(array, True) for array in (self.arrays(value), *self.machine.state[held].values()))

    def bound(self, instruction: Instruction) -> Action:
        match instruction:
            case Forward():
                return self.op(f"forward {self.name(instruction)}", self.forward(instruction))
            case Backward():
                return self.op(f"backward {self.name(instruction)}", self.backward(instruction))
            case Zero(target):
                return self.op("zero", self.kernels.zero(self.arrays(target)))
            case Copy(target, source):
                return self.op("copy", self.kernels.copy(self.arrays(target), self.arrays(source)))
            case Add(target, source):
                return self.op("add", self.kernels.add(self.arrays(target), self.arrays(source)))
            case AddSquares(target, source):
                found = self.kernels.add_squares(self.arrays(target), self.arrays(source))
                return self.op("add squares", found)
            case Update(holding, norm):
                name = self.machine.program.holdings[holding].parameter.name
                return self.op(f"update {name}", self.update(holding, norm))
            case Send(source, peer, channel, name):
                array, rank = self.arrays.lying(source), self.program.rank(peer)
                return Action(SEND, f"send {name}", array=array, peer=rank, channel=channel)
            case Receive(target, peer, channel, name, lag):
                array, rank = self.arrays.lying(target), self.program.rank(peer)
                self.expect(channel, rank, array.shape, array.dtype, AHEAD + lag)
                return Action(RECEIVE, f"receive {name}", array=array, peer=rank, channel=channel)
            case CollectiveStart():
                running = self.start(instruction)
                return Action(START, running.name, channel=instruction.channel, running=running)
            case CollectiveWait(start):
                running = self.running[start.channel]
                return Action(WAIT, running.name, channel=start.channel, running=running)

    def name(self, instruction: Forward | Backward) -> str:
        name = self.parts[instruction.micro, instruction.part].name
        other = instruction.then if isinstance(instruction, Forward) else instruction.first
        return f"{name}+{self.name(other)}" if other else name

    def op(self, name: str, op: Op) -> Action:
        action = Action(RUN, name, run=op.run, captured=op.captured, scratch=nbytes(op))
        if op.scratch:
            self.ops.append((action, op))
        return action

    def expect(
        self, channel: Channel, peer: int, shape: tuple[int, ...], dtype: Any, most: int = AHEAD, place: Array = None,
        stays: bool = False,
    ) -> None:  # fmt: skip
        if self.transport is not None:
            self.transport.expect(channel, peer, shape, dtype, most, place, stays)

    def start(self, start: CollectiveStart) -> Running:
        """Binds a collective to its arrays and tells the transport what its messages bring."""
        found, place = start.exchange, start.exchange.place(self.machine.program.worker)
        lying = {view: self.arrays.lying(view) for view in (*start.local, *start.target) if view is not None}
        local, target = ([v and lying[v] for v in views] for views in (start.local, start.target))
        progress = Progress(found.schedule, place, found.sizes, local, target, self.array(start.pack))
        ranks = tuple(map(self.program.rank, found.members))
        channels = {index: start.channel._replace(chunk=index) for index in range(len(found.schedule))}
        then = list(map(self.action, start.then))
        running = Running(start.name, progress, channels, ranks, then, then)
        self.running[start.channel] = running
        element = np.dtype(self.machine.element(start.dtype))
        if self.communicators is not None and self.machine.xp is not np and found.algorithm == NCCL:
            running.call = self.communicators.call(self.machine.xp, found, ranks, local, target, element)
            self.machine.wire_bytes += running.call.nbytes
            legs = exchange_legs(found, place)
            running.counted = [(channels[leg.message], leg.sent * element.itemsize) for leg in legs if leg.sent]
            return running
        places = {index: lying[view] for index, view in overwritten(self.machine.program, start)}
        for peer, index, shape in progress.messages:
            most, stays = ahead(found, start.channel.way), index in found.staying
            self.expect(channels[index], ranks[peer], shape, element, most, places.get(index), stays)
        self.keep(start, lying)
        return running

    def keep(self, start: CollectiveStart, lying: Mapping[View, Array]) -> None:
        """Tells the transport which messages of a collective stay here, and where those lie that need no slot."""
        program, element = self.machine.program, self.machine.element(start.dtype)
        places = {index: lying[view] for index, view in left(program, start)}
        for index, view in staying(program, start):
            channel, message = start.channel._replace(chunk=index), start.exchange.schedule[index]
            rank = self.program.rank(start.exchange.members[message.target])
            if self.transport is not None:
                self.transport.keep(channel, rank, lying[view].shape, element, places.get(index))

    def forward(self, instruction: Forward) -> Op:
        call = self.call(instruction)
        if instruction.then is not None:
            activation = self.layer(instruction.then)
            assert isinstance(activation, Elementwise)
            self.call(instruction.then)
            call.activation = activation.kind()
        return self.layer(instruction).forward(self.kernels, call)

    def layer(self, instruction: Forward | Backward) -> Layer:
        """The layer that an instruction runs."""
        node = self.parts[instruction.micro, instruction.part].node
        return self.program.micros[instruction.micro].graph.net.nodes[node].layer

    def call(self, instruction: Forward) -> Call:
        """What the part of an instruction computes with, forward and then backward."""
        micro = self.program.micros[instruction.micro]
        part = self.parts[instruction.micro, instruction.part]
        layer = self.layer(instruction)
        needs = layer.needs(part.region, part.term)
        xs = zip(instruction.x, needs.inputs, layer.inputs, strict=True)
        call = Call(
            region=part.region,
            needs=needs,
            term=part.term,
            x=[self.array(view) if view else self.nothing(need, spec.rank) for view, need, spec in xs],
            w=[self.array(view) for view in instruction.w],
            y=[self.array(view) for view in instruction.y],
            aux=[self.array(view) for view in instruction.aux],
            metrics=self.metric_sums(instruction, len(layer.metrics)),
            owned=self.owned(part),
            rows=self.program.micros[-1].rows[1],
            first_row=micro.rows[0],
            phase=self.code,
            seed=self.machine.seed,
            clock=self.machine.clock,
        )
        self.calls[instruction.micro, instruction.part] = call
        return call

    def backward(self, instruction: Backward) -> Op:
        call = self.calls[instruction.micro, instruction.part]
        if instruction.x:
            arrays = map(self.array, instruction.x)
            call.x = [was if now is None else now for was, now in zip(call.x, arrays, strict=True)]
        call.dy = [self.array(view) for view in instruction.dy]
        call.dx = [self.array(view) for view in instruction.dx]
        call.dw, call.adds = [self.array(view) for view in instruction.dw], instruction.adds
        call.through = call.activation if instruction.first else None
        return self.layer(instruction).backward(self.kernels, call)

    def array(self, view: Any) -> Array:
        return None if view is None else self.arrays(view)

    def nothing(self, need: Any, rank: int) -> Array:
        """The zero-extent array that stands for an input of which nothing is needed."""
        shape = (0,) * rank if need is None else tuple(max(0, hi - lo) for lo, hi in need)
        return self.machine.xp.empty(shape, self.machine.dtype)

    def metric_sums(self, instruction: Forward, count: int) -> Array:
        if instruction.metrics is None:
            return self.machine.xp.zeros(count, np.float64)
        return self.metrics[instruction.metrics : instruction.metrics + count]

    def owned(self, part: Part) -> Array:
        """Mask of the elements whose loss this part differentiates; None is all of them."""
        if part.owned is None:
            return None
        mask = np.zeros(extent(part.region), bool)
        for box in part.owned:
            mask[relative(box, part.region)] = True
        return self.machine.xp.asarray(mask)

    def update(self, holding: int, norm: View | None) -> Op:
        machine, program = self.machine, self.machine.program
        gradient = program.gradients[holding]
        assert gradient is not None
        value = program.at_home(program.parameters[holding], holding)
        spec, w, g = self.spec(holding), self.arrays(value), self.arrays(program.at_home(gradient, holding))
        if spec.running is not None:
            return self.follow(spec.running, holding, w, g)
        assert machine.updater is not None
        scale = Scale(spec.proto.lr_scale, spec.proto.wd_scale)
        state = list(machine.state[holding].values())
        op = self.kernels.update(machine.updater, w, g, state, scale, machine.clock, self.array(norm))
        return op if program.copies(value.buffer) == 1 else after(self.kernels.copy(w, self.before(value)), op)

    def spec(self, holding: int) -> ParamSpec:
        return self.machine.program.holdings[holding].parameter.spec

    def follow(self, running: Following, holding: int, w: Array, g: Array) -> Op:
        """Moves a running statistic by the moments of the mini-batch."""
        if not running.mean:
            return self.kernels.follow_mean(w, g, running.keep)
        centre, count = self.arrays(self.centre(running, holding)), self.program.micros[-1].rows[1] * running.elements
        return self.kernels.follow_variance(w, g, centre, running.keep, count)

    def centre(self, running: Following, holding: int) -> View:
        """Where the moments lie that those of a running variance are relative to."""
        program = self.machine.program
        box = program.holdings[holding].box
        return next(
            gradient.crop(box, held.box)
            for held, gradient in zip(program.holdings, program.gradients, strict=True)
            if held.parameter.name == running.mean and gradient is not None and contains(held.box, box)
        )


def after(first: Op, second: Op) -> Op:
    """Both, one after the other; ``first`` needs no scratch."""

    def run(*scratch: Array) -> None:
        first.run()
        second.run(*scratch)

    return Op(run, second.scratch, first.captured and second.captured)


__all__ = ["Action", "Bound", "Running", "bind"]
