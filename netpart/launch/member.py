"""Member: one worker from hello to farewell, the same in a process and in a thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import zmq

from netpart.errors import NetpartError
from netpart.launch.control import Control, Stopped
from netpart.launch.cores import threads_of
from netpart.launch.files import LOCAL, RemoteFiles
from netpart.launch.loop import Loop
from netpart.proto.control_pb2 import ControlProto, GoProto, ReadyProto, WelcomeProto
from netpart.transport.transport import Transport
from netpart.units import bytes_text

Connect = Callable[[WelcomeProto], Transport]
"""Makes the transport of this worker, before anything is expected on it."""


@dataclass(frozen=True)
class Away:
    """A worker on another host than the coordinator: where relative data paths start there (None: as the coordinator
    says), and what to do when the coordinator is lost."""

    folder: Path | None
    lost: Callable[[], None]


def serve(
    context: zmq.Context[Any], address: str, rank: int, token: bytes, connect: Connect, listen: str, log: TextIO,
    away: Away | None = None,
) -> bool:  # fmt: skip
    """Plays the part of worker ``rank`` in the run whose coordinator listens at ``address``.

    Tensors arrive at ``listen`` (see ZeroMQTransport.bind; "" for memory); ``log`` gets what the coordinator quotes if
    the worker fails; ``away`` says what is different on another host. True if the run went to its end; an error is told
    to the coordinator and False returned.
    """
    control = Control(context, address, rank, token, away.lost if away else None)
    print(f"worker {rank}: process {os.getpid()}", file=log, flush=True)
    try:
        welcome = control.hello().welcome
        with connect(welcome) as transport:
            return play(welcome, transport, control, listen, log, away)
    except Stopped:
        return False
    finally:
        control.close()


def play(
    welcome: WelcomeProto, transport: Transport, control: Control, listen: str, log: TextIO, away: Away | None
) -> bool:
    """Prepares and plays; an error reaches the coordinator before anything is closed."""
    try:
        loop = prepare(welcome, transport, control, listen, log, away)
        with np.errstate(all="ignore"):  # what is not a number shows in the metrics, and ends the run there
            loop.run()
        finished(control, loop)
        control.await_stop()
        return True
    except Stopped:
        return False
    except KeyboardInterrupt:
        failed(control, NetpartError("interrupted on its host"), log)
        raise
    except Exception as error:
        failed(control, error, log)
        return False


def prepare(
    welcome: WelcomeProto, transport: Transport, control: Control, listen: str, log: TextIO, away: Away | None
) -> Loop:
    """Compiles and binds this worker's Programs, then meets the other workers."""
    from netpart.graph.subgraph import decode
    from netpart.kernels.device import array_module
    from netpart.launch.spoken import encode
    from netpart.program.communication import communications
    from netpart.program.compile import compile_worker
    from netpart.program.kernels import kernels_of
    from netpart.updaters import updater
    from netpart.worker.player import Player

    control.status.doing = lambda: "compiling its plan"
    folder = away.folder if away and away.folder else Path(welcome.folder)
    partition, rank = decode(welcome.plan, folder)
    rule = updater(partition.job.updater)
    program = compile_worker(partition, rank, len(rule.states), kernels=kernels_of(partition.job))
    xp, device = array_module(welcome.device)
    control.status.doing = lambda: "allocating memory"
    player = Player(program, transport, xp, rule, welcome.seed)
    control.status.doing = lambda: player.doing
    loop = Loop(player, transport, control, partition.job, welcome, RemoteFiles(control) if away else LOCAL)
    loop.fill()
    played = ", ".join(f"{len(p.instructions)} instructions in {phase}" for phase, p in program.phases.items())
    print(f"worker {rank}: {played}; {bytes_text(player.memory_bytes)} on {device}", file=log, flush=True)
    ready = ReadyProto(rank=rank, address=transport.bind(listen), memory_bytes=player.memory_bytes, device=device)
    ready.threads = threads_of(os.environ)
    ready.spoken.extend(encode(communications(program)))
    meet(control, transport, ready)
    return loop


def meet(control: Control, transport: Transport, ready: ReadyProto) -> None:
    """Tells the coordinator where this worker listens and what it will say, and waits until everybody has."""
    control.send(ControlProto(ready=ready))
    control.status.doing = waiting(control.status.doing, "waiting for the other workers to get ready")
    go: GoProto = control.receive("go").go
    transport.connect({a.rank: a.address for a in go.address if a.rank != control.rank})


def waiting(doing: Callable[[], str], words: str) -> Callable[[], str]:
    """``words`` as long as ``doing`` says what it says now."""
    before = doing()
    return lambda: words if doing() == before else doing()


def finished(control: Control, loop: Loop) -> None:
    """Tells what was sent and how long training took."""
    message = ControlProto()
    message.finished.rank, message.finished.train_seconds = control.rank, loop.train_seconds
    message.finished.step_seconds.extend(loop.step_seconds)
    message.finished.header_bytes = loop.transport.header_bytes
    for channel, count in loop.transport.counts.items():
        message.finished.count.add(channel=[int(c) for c in channel], bytes=count)
    control.send(message)
    loop.player.doing = "waiting for the other workers to finish"


def failed(control: Control, error: Exception, log: TextIO) -> None:
    """Tells what went wrong and where; for what nobody foresaw, the traceback goes to this worker's log."""
    import traceback

    if not isinstance(error, NetpartError):
        traceback.print_exception(error, file=log)
        log.flush()
    message, status = ControlProto(), control.status
    message.failed.rank, message.failed.phase, message.failed.step = control.rank, status.phase, status.step
    message.failed.doing = status.doing()
    message.failed.kind, message.failed.message = type(error).__name__, str(error)
    control.send(message)


def run(environment: Mapping[str, str]) -> int:
    """One worker as a process of its own, which ``environment`` tells what ProcessTeam says; its exit code."""
    from netpart.launch.transports import make

    rank, token = int(environment["NETPART_RANK"]), bytes.fromhex(environment["NETPART_TOKEN"])

    def connect(welcome: WelcomeProto) -> Transport:
        return make(welcome, rank)

    with zmq.Context() as context:
        address, listen = environment["NETPART_CONTROL"], environment["NETPART_LISTEN"]
        return 0 if serve(context, address, rank, token, connect, listen, sys.stderr) else 1
