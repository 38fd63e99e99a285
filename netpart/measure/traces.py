"""Traces: what workers report of traced steps, as events and as bytes of memory."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.launch.member.tracing import add_memory_plan
from netpart.measure.step_profile import WorkerMemory
from netpart.measure.timeline import STEP, TimelineEvent
from netpart.proto.control_pb2 import TraceProto
from netpart.worker.player import Player


def decode_trace(message: TraceProto) -> Iterator[TimelineEvent]:
    """The events of a worker. Its steps are numbered from 0."""
    what = [(traced.name, tuple(traced.channel), traced.delay, traced.micro) for traced in message.what]
    step = 0
    for index, start, end in zip(message.index, message.start, message.end, strict=True):
        name, channel, delay, micro = what[index]
        yield TimelineEvent(message.rank, step, name, start, end, channel, delay, micro)
        # The event of a step is noted at its end, so the following events belong to the next step.
        step += name == STEP


def player_memory_plan(player: Player) -> WorkerMemory:
    """The memory plan of a worker, part by part, and its peak."""
    message = TraceProto(rank=player.program.worker)
    add_memory_plan(message, player)
    return decode_memory_plan(message)


def decode_memory_plan(message: TraceProto) -> WorkerMemory:
    """The inverse of ``add_memory_plan``."""
    held: dict[str, int] = {}
    for each in message.peak:
        held[each.name] = held.get(each.name, 0) + each.bytes
    load = {each.name: each.bytes for each in message.load}
    return WorkerMemory(message.rank, {each.name: each.bytes for each in message.memory}, held, message.peak_at, load)
