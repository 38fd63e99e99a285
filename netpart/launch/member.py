"""Member: one worker from hello to farewell, the same in a process and in a thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import zmq

from netpart.errors import NetpartError
from netpart.launch.control import Control, Stopped
from netpart.launch.cores import threads_of
from netpart.launch.devices import placed
from netpart.launch.files import LOCAL, Files, RemoteFiles
from netpart.launch.loop import Loop, meetings
from netpart.proto.control_pb2 import CommunicatorProto, ControlProto, GoProto, ReadyProto, WelcomeProto
from netpart.transport.transport import Transport
from netpart.units import bytes_text

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.program.program import WorkerProgram
    from netpart.worker.nccl import Communicators
    from netpart.worker.player import Player

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
        try:
            transport = connect(welcome)
        except Exception as error:
            failed(control, error, log)
            return False
        with transport:
            return play(welcome, transport, control, listen, log, away)
    except Stopped:
        return False
    finally:
        control.close()


def play(
    welcome: WelcomeProto, transport: Transport, control: Control, listen: str, log: TextIO, away: Away | None
) -> bool:
    """Prepares and plays; an error reaches the coordinator before anything is closed."""
    from netpart.worker.nccl import Communicators

    communicators = Communicators(control.rank)
    try:
        loop = prepare(welcome, transport, communicators, control, listen, log, away)
        with np.errstate(all="ignore"):  # what is not a number shows in the metrics, and ends the run there
            play_job(loop)
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
    finally:
        communicators.close()


def play_job(loop: Loop) -> None:
    """Plays every step of the job, or those that are to be traced."""
    if not loop.welcome.trace:
        return loop.run()
    from netpart.launch.tracing import trace

    return trace(loop)


def prepare(
    welcome: WelcomeProto, transport: Transport, communicators: Communicators, control: Control, listen: str,
    log: TextIO, away: Away | None,
) -> Loop:  # fmt: skip
    """Compiles and binds this worker's Programs, then meets the other workers."""
    from netpart.graph.subgraph import decode
    from netpart.kernels.device import array_module
    from netpart.launch.spoken import encode
    from netpart.program.communication import communications
    from netpart.updaters import updater
    from netpart.worker.player import Player

    control.status.doing = lambda: "compiling its plan"
    folder = away.folder if away and away.folder else Path(welcome.folder)
    partition, number = decode(welcome.plan, folder)
    cluster, rule = partition.cluster, updater(partition.job.updater)
    serving = cluster.serves(rank := control.rank)
    place = placed(welcome.device.split(","))[rank]
    xp, device = array_module(place)
    program = compiled(partition, number, 0 if serving else cluster.group(rank), len(rule.states), device)
    control.status.doing = lambda: "allocating memory"
    applied = rule if serving or not cluster.servers else None
    player = Player(program, transport, xp, applied, welcome.seed, communicators=communicators)
    control.status.doing = lambda: player.doing
    loop = looped(player, transport, control, partition, welcome, RemoteFiles(control) if away else LOCAL)
    loop.fill()
    played = ", ".join(f"{len(p.instructions)} instructions in {phase}" for phase, p in program.phases.items())
    print(f"worker {rank}: {played}; {bytes_text(player.machine.memory_bytes)} on {place}", file=log, flush=True)
    memory = player.machine.memory_bytes + (loop.averages.averaging.nbytes if loop.averages else 0)
    ready = ReadyProto(rank=rank, address=transport.bind(listen), memory_bytes=memory, device=place)
    ready.threads = threads_of(os.environ)
    ready.spoken.extend(encode(communications(program)))
    ready.communicator.extend(CommunicatorProto(rank=ranks, id=name) for ranks, name in communicators.begin().items())
    meet(control, transport, communicators, ready, welcome.deadline)
    for ranks in communicators.found:
        print(f"worker {rank}: NCCL among workers {', '.join(map(str, ranks))}", file=log, flush=True)
    return loop


def compiled(partition: Partition, number: int, group: int, slots: int, device: str) -> WorkerProgram:
    """The Programs of worker ``number`` in its group on ``device``, or of a server; the updater keeps ``slots`` arrays
    each."""
    if number >= partition.workers - partition.servers:
        from netpart.program.server import compile_server

        return compile_server(partition, number, slots)
    from netpart.program.compile import compile_worker
    from netpart.program.kernels import kernels_of

    own = 0 if partition.servers else slots
    return compile_worker(partition, number, own, kernels=kernels_of(partition.job, device), group=group)


def looped(
    player: Player, transport: Transport, control: Control, partition: Partition, welcome: WelcomeProto, files: Files
) -> Loop:
    """What this worker does, as its place in the cluster asks."""
    cluster, job = partition.cluster, partition.job
    if cluster.serves(control.rank):
        from netpart.launch.server import ServerLoop

        return ServerLoop(player, transport, control, job, welcome, files, cluster)
    loop = Loop(player, transport, control, job, welcome, files, cluster)
    if cluster.averages:
        from netpart.launch.averages import Averages
        from netpart.worker.averaging import Averaging

        averaging = Averaging(player, transport, cluster, control.rank)
        met, group = meetings(job, loop.first, loop.end), cluster.group(control.rank)
        loop.averages = Averages(averaging, player, cluster, group, loop.first, met, loop.note_shown)
    return loop


def meet(
    control: Control, transport: Transport, communicators: Communicators, ready: ReadyProto, deadline: float
) -> None:  # fmt: skip
    """Tells the coordinator where this worker listens and what it will say, and waits until everybody has."""
    control.send(ControlProto(ready=ready))
    control.status.doing = waiting(control.status.doing, "waiting for the other workers to get ready")
    go: GoProto = control.receive("go").go
    transport.connect({a.rank: a.address for a in go.address if a.rank != control.rank})
    communicators.connect({tuple(c.rank): c.id for c in go.communicator}, deadline)


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
