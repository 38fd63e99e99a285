"""Tracing: a worker's side of ``netpart profile``. It uses one clock for all workers, trains only, and reports its
actions."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from netpart.launch.member.control_client import ControlClient
from netpart.program.peak import arena_load, find_arena_peak
from netpart.proto.control_pb2 import ClockProto, ControlProto, HeldProto, TracedProto, TraceProto
from netpart.worker.trace import TracedAction

if TYPE_CHECKING:
    from netpart.launch.member.loop import WorkerLoop
    from netpart.worker.player import Player

ROUNDS = 16
"""Number of requests for the coordinator's time. The fastest round trip gives the best answer: its error is at most
half of its duration (Cristian, Probabilistic clock synchronization, 1989)."""


def trace_steps(loop: WorkerLoop) -> None:
    """Play every training step and send the coordinator all actions with their times on the coordinator's clock."""
    ahead = measure_clock_offset(loop.control)
    loop.player.trace.events = events = list[TracedAction]()
    for step in range(loop.welcome.first_step, loop.job.train_steps):
        loop.train(step)
    loop.flush()
    message = ControlProto(trace=encode_trace(events, ahead))
    message.trace.rank = loop.control.rank
    add_memory_plan(message.trace, loop.player)
    loop.control.send(message)


def measure_clock_offset(control: ControlClient) -> float:
    """Seconds that the coordinator's clock is ahead of this process's clock."""
    found = []
    for _ in range(ROUNDS):
        asked = perf_counter()
        control.send(ControlProto(clock=ClockProto()))
        theirs = control.receive("clock").clock.seconds
        answered = perf_counter()
        # The best guess is that the coordinator read its clock halfway through the round trip.
        found.append((answered - asked, theirs - (asked + answered) / 2))
    return min(found)[1]


def encode_trace(traced: list[TracedAction], ahead: float) -> TraceProto:
    """Encode the actions, with every distinct name and channel written once."""
    numbers: dict[tuple[str, tuple[int, ...], int, int], int] = {}
    message = TraceProto()
    for name, start, end, channel, delay, micro in traced:
        key = (name, tuple(map(int, channel)) if channel else (), delay, micro)
        message.index.append(numbers.setdefault(key, len(numbers)))
        message.start.append(start + ahead)
        message.end.append(end + ahead)
    kinds = (
        TracedProto(name=name, channel=channel, delay=delay, micro=micro) for name, channel, delay, micro in numbers
    )
    message.what.extend(kinds)
    return message


def add_memory_plan(message: TraceProto, player: Player) -> None:
    """Add the memory plan of a worker to ``message``, in bytes."""
    program = player.program
    highest = find_arena_peak(player.program)
    parameters = sum(program.buffers[view.buffer].nbytes(program.float_size) for view in program.parameters)
    state = program.state_bytes
    gradients = program.fixed_bytes - parameters - state - program.version_bytes
    parts = {
        "parameters": parameters, "versions": program.version_bytes, "gradients": gradients, "state": state,
        "arena": program.arena_bytes, "workspace": player.machine.workspace_bytes, "wire": player.machine.wire_bytes,
    }  # fmt: skip
    depth = program.phases["train"].depth
    held = ((name, nbytes) for name, nbytes in parts.items() if depth or name != "versions")
    message.memory.extend(HeldProto(name=name, bytes=nbytes) for name, nbytes in held)
    message.peak.extend(HeldProto(name=name, bytes=nbytes) for name, nbytes in highest.buffers)
    actions = player.bound["train"].turns[0]
    load = arena_load(program)
    message.load.extend(HeldProto(name=action.name, bytes=load[at]) for at, (_, action, *_) in enumerate(actions))
    message.peak_at = actions[highest.instruction][1].name if actions else "nothing"
