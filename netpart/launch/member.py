"""Member: one worker from hello to farewell. The entry of a worker process, and of a worker thread."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from netpart.errors import NetpartError
from netpart.launch.control import Control, Stopped
from netpart.launch.loop import CONTROL_SECONDS, Loop
from netpart.proto.control_pb2 import ControlProto, GoProto, WelcomeProto
from netpart.transport.transport import Transport

PR_SET_PDEATHSIG = 1
START_SECONDS = 120.0

Connect = Callable[[WelcomeProto], Transport]
"""Makes the transport of this worker, before anything is expected on it."""


def serve(context: zmq.Context[Any], address: str, rank: int, token: bytes, connect: Connect, listen: str) -> bool:
    """Plays the part of worker ``rank`` in the run whose coordinator listens at ``address``.

    Tensors arrive at ``listen`` (see ZeroMQTransport.bind; "" for memory). True if the run went to its end; an error is
    told to the coordinator and False returned.
    """
    control = Control(context, address, rank, token)
    loop: Loop | None = None
    try:
        welcome = control.hello(START_SECONDS).welcome
        control.status.doing = "compiling"
        loop = prepare(welcome, connect(welcome), control, listen)
        loop.run()
        finished(control, loop)
        control.await_stop(START_SECONDS)
        return True
    except Stopped:
        return False
    except Exception as error:
        failed(control, loop, error)
        return False
    finally:
        if loop is not None:
            loop.transport.close()
        control.close()


def prepare(welcome: WelcomeProto, transport: Transport, control: Control, listen: str) -> Loop:
    """Compiles and binds this worker's Programs, then meets the other workers."""
    from netpart.graph.subgraph import decode
    from netpart.kernels.device import array_module
    from netpart.program.compile import compile_worker
    from netpart.updaters import updater
    from netpart.worker.player import Player

    partition, rank = decode(welcome.plan, Path(welcome.folder))
    rule = updater(partition.job.updater)
    program = compile_worker(partition, rank, len(rule.slots))
    xp, device = array_module(welcome.device)
    player = Player(program, transport, xp, rule, welcome.seed)
    loop = Loop(player, transport, control, partition.job, welcome)
    if welcome.restore:
        loop.restore(Path(welcome.restore))
    else:
        player.initialise()
    message = ControlProto()
    message.ready.rank, message.ready.address = rank, transport.bind(listen) if listen else ""  # type: ignore[attr-defined]
    message.ready.memory_bytes, message.ready.device = program.total_bytes + player.workspace_bytes, device
    control.send(message)
    go: GoProto = control.receive(CONTROL_SECONDS, "go").go
    if listen:
        transport.connect({a.rank: a.address for a in go.address if a.rank != rank})  # type: ignore[attr-defined]
    return loop


def finished(control: Control, loop: Loop) -> None:
    """Tells what was sent and how long training took."""
    message = ControlProto()
    message.finished.rank, message.finished.train_seconds = control.rank, loop.train_seconds
    message.finished.header_bytes = loop.transport.header_bytes
    for channel, count in loop.transport.counts.items():
        message.finished.count.add(channel=[int(c) for c in channel], bytes=count)
    control.send(message)


def failed(control: Control, loop: Loop | None, error: Exception) -> None:
    """Tells what went wrong, where; the traceback goes to this worker's log."""
    import traceback

    if not isinstance(error, NetpartError):
        traceback.print_exc()
    message = ControlProto()
    message.failed.rank, message.failed.phase, message.failed.step = control.rank, control.status.phase, control.status.step
    message.failed.doing = loop.player.doing if loop else control.status.doing
    message.failed.kind, message.failed.message = type(error).__name__, str(error)
    print(f"worker {control.rank}: {message.failed.kind}: {message.failed.message}", file=sys.stderr, flush=True)
    control.send(message)


def die_with_parent(parent: int) -> None:
    """Asks the kernel to kill this process when its parent dies, also by kill -9 (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> int:
    """Entry of a worker process; what it needs to know comes through its environment."""
    environment = os.environ
    die_with_parent(int(environment["NETPART_PARENT"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from netpart.transport.zeromq import ZeroMQTransport

    rank, token = int(environment["NETPART_RANK"]), bytes.fromhex(environment["NETPART_TOKEN"])

    def connect(welcome: WelcomeProto) -> Transport:
        return ZeroMQTransport(rank, welcome.run_id)

    context: zmq.Context[Any] = zmq.Context()
    ok = serve(context, environment["NETPART_CONTROL"], rank, token, connect, environment["NETPART_LISTEN"])
    context.term()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
