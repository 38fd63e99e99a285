"""Member: one worker from its first message to its last, the same in a process and in a thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import zmq

from netpart.data.remote.attempts import stop_requests
from netpart.errors import NetpartError
from netpart.launch.control.token import VARIABLE, RunToken, parse_token
from netpart.launch.member.checkpoint_files import LOCAL, RemoteFiles
from netpart.launch.member.control_client import ControlClient, RegroupRequested, StopRequested, encode_refused
from netpart.launch.member.failure_report import report_failure
from netpart.launch.member.loop import WorkerLoop
from netpart.launch.member.prepare import prepare_loop
from netpart.proto.control_pb2 import ControlProto, WelcomeProto
from netpart.transport.transport import Transport

if TYPE_CHECKING:
    from netpart.launch.member.elastic_member import ElasticMember

Connect = Callable[[WelcomeProto], Transport]
"""Makes this worker's transport, before any message is expected on it."""


class InterruptedThere(NetpartError):
    """The user of a worker's host has ended the worker."""


@dataclass(frozen=True)
class RemoteHost:
    """Settings of a worker on another host than the coordinator's.

    ``folder`` is where relative data paths start there (None: the coordinator's path). ``lost`` is called when the
    coordinator is lost. ``rejoin`` is called, once all is closed, if the run starts again.
    """

    folder: Path | None
    lost: Callable[[], None]
    rejoin: Callable[[], None] = lambda: None


def run_member(
    context: zmq.Context[Any], address: str, rank: int, ticket: RunToken, connect: Connect, listen: str, log: TextIO,
    away: RemoteHost | None = None,
) -> bool:  # fmt: skip
    """Serve as worker ``rank`` in the run whose coordinator listens at ``address``.

    ``ticket`` proves that this is that worker. Tensors arrive at ``listen`` (see ZeroMQTransport.bind; "" for memory).
    ``log`` receives the text that the coordinator quotes if the worker fails. ``away`` holds the settings of a worker
    on another host. Returns True if the run completed. An error is sent to the coordinator, and the result is then
    False.
    """
    control = ControlClient(context, address, rank, ticket, away.lost if away else None)
    print(f"worker {rank}: process {os.getpid()}", file=log, flush=True)
    try:
        welcome = control.hello().welcome
        serve = partial(_serve_team, connect, control, listen, log, away)
        return _serve_elastic(serve, control, welcome, listen, log) if welcome.region_secret else serve(welcome)
    except StopRequested:
        return False
    finally:
        control.close()
        if away is not None and control.rejoins:
            away.rejoin()


def _serve_elastic(
    serve: Callable[..., bool], control: ControlClient, welcome: WelcomeProto, listen: str, log: TextIO
) -> bool:
    """Serve in the teams of an elastic run, by ``serve``; return True if it completed."""
    from netpart.launch.member.elastic_member import ElasticMember, serve_teams

    try:
        elastic = ElasticMember(welcome, listen)
    except Exception as error:
        report_failure(control, error, log)
        return False
    return serve_teams(elastic, welcome, serve, control, log)


def _serve_team(
    connect: Connect, control: ControlClient, listen: str, log: TextIO, away: RemoteHost | None, welcome: WelcomeProto,
    elastic: ElasticMember | None = None,
) -> bool:  # fmt: skip
    """Serve in the team of ``welcome`` to its end; return True if the run completed.

    An error is sent to the coordinator. Raises StopRequested, and RegroupRequested in an elastic run.
    """
    try:
        transport = connect(welcome)
    except Exception as error:
        report_failure(control, error, log, away is not None)
        return False
    control.status.refused = transport.refused
    if elastic is not None:
        transport.watch_links()
    with transport:
        return _prepare_and_play(welcome, transport, control, listen, log, away, elastic)


def _prepare_and_play(
    welcome: WelcomeProto,
    transport: Transport,
    control: ControlClient,
    listen: str,
    log: TextIO,
    away: RemoteHost | None,
    elastic: ElasticMember | None,
) -> bool:
    """Prepare and play. An error reaches the coordinator before anything is closed."""
    from netpart.worker.gpu.communicators import Communicators

    communicators = Communicators(control.rank)
    folder = away.folder if away and away.folder else Path(welcome.folder)
    files = RemoteFiles(control) if away else LOCAL
    try:
        loop = prepare_loop(welcome, transport, communicators, control, listen, log, folder, files, elastic)
        with np.errstate(all="ignore"):  # nan and infinity show in the metrics, which end the run
            _play_job(loop)
        _tell_finish(control, loop)
        if loop.snapshots is not None and (cost := loop.snapshots.cost_text()):
            print(f"worker {control.rank}: {cost}", file=log, flush=True)
        control.await_stop()
        return True
    except RegroupRequested:
        transport.abandon()
        raise
    except StopRequested:
        raise
    except KeyboardInterrupt:
        report_failure(control, InterruptedThere("interrupted on its host"), log)
        raise
    except Exception as error:
        report_failure(control, error, log, away is not None)
        if elastic is not None:
            transport.abandon()  # the next team must not wait for frames to a worker that is gone
        return False
    finally:
        # Nothing but this abort ends work on the GPU that waits for a rank that is gone.
        communicators.close()


def _play_job(loop: WorkerLoop) -> None:
    """Play every step of the job, or trace its training steps if the run is a profile."""
    if not loop.welcome.trace:
        return loop.run()
    from netpart.launch.member.tracing import trace_steps

    return trace_steps(loop)


def _tell_finish(control: ControlClient, loop: WorkerLoop) -> None:
    """Report how many bytes were sent and how long training took."""
    message = ControlProto()
    message.finished.rank = control.rank
    message.finished.train_seconds = loop.train_seconds
    message.finished.step_seconds.extend(loop.step_seconds)
    message.finished.header_bytes = loop.transport.header_bytes
    message.finished.refused.extend(encode_refused(loop.transport.refused))
    for channel, count in loop.transport.counts.items():
        message.finished.count.add(channel=[int(c) for c in channel], bytes=count)
    control.send(message)
    loop.player.doing = "waiting for the other workers to finish"


def run_worker_process(environment: Mapping[str, str]) -> int:
    """Run one worker as a process of its own; return its exit code. ProcessTeam.variables defines ``environment``."""
    from netpart.launch.control.transport_choice import make_transport

    rank = int(environment["NETPART_RANK"])
    ticket = parse_token(environment[VARIABLE], VARIABLE)

    def connect(welcome: WelcomeProto) -> Transport:
        return make_transport(welcome, welcome.rank)

    try:
        with zmq.Context() as context:
            address = environment["NETPART_CONTROL"]
            listen = environment["NETPART_LISTEN"]
            return 0 if run_member(context, address, rank, ticket, connect, listen, sys.stderr) else 1
    finally:
        # A thread that reads ahead may wait for a server until its deadline, and the process for that thread.
        stop_requests()
