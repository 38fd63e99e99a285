"""Joining a run: a worker connects to a coordinator on another host, asks for a seat, and serves as that worker."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import zmq

from netpart.errors import ConfigError, NetpartError, WorkerFailed
from netpart.launch.control.address import (
    ANY_PORT,
    FAR,
    check_listen_address,
    host_and_port,
    is_loopback_address,
    resolve_bind_address,
    resolve_peer_address,
    source_address,
    tcp_address,
    unknown_host_text,
)
from netpart.launch.control.framing import REFUSAL, GarbledMessage, pack_message, printable_text, unpack_message
from netpart.launch.control.process_limits import check_process_limits
from netpart.launch.control.seal_choice import known_ciphers, read_secret
from netpart.launch.control.seats import KNOCK
from netpart.launch.control.secure_link import LinkMonitor, public_key
from netpart.launch.control.token import RunToken
from netpart.launch.member.control_client import make_dealer
from netpart.launch.member.member import RemoteHost, run_member
from netpart.proto.control_pb2 import ControlProto, JoinedProto, WelcomeProto
from netpart.resources import installed_version
from netpart.transport.sockets import connect_socket
from netpart.transport.transport import Transport

LOOK_MS = 100
WAIT_SECONDS = 600.0
"""How long a worker tries to reach its coordinator, and how long a coordinator waits for its workers."""


@dataclass(frozen=True)
class Invitation:
    """Which run a worker joins, and as which worker.

    ``address`` is the coordinator's, tcp://HOST:PORT. ``rank`` None takes the next free rank. ``listen`` "" uses the
    address of the interface that reaches the coordinator. ``folder`` is where relative data paths start on this host;
    None uses the coordinator's path. ``wait`` is how many seconds to wait for an answer.
    """

    address: str
    token: RunToken
    rank: int | None = None
    listen: str = ""
    folder: Path | None = None
    wait: float = WAIT_SECONDS


def join_run(invitation: Invitation, say: Callable[[str], None]) -> None:
    """Serve as one worker of the run at ``invitation.address`` until the run ends; ``say`` receives progress messages
    for the user.

    Raises ConfigError if this host cannot listen where it should, NetpartError if no coordinator answers or the run
    cannot use this worker, WorkerFailed if the run ends early. If the coordinator is lost, the process ends at once
    with exit code 1.
    """
    invitation = replace(invitation, address=resolve_peer_address(invitation.address, "--join"))
    given = _checked_listen(invitation) if invitation.listen else ""
    say(f"joining {invitation.address}")
    if unknown := unknown_host_text(invitation.address):
        say(f"note: {unknown}; waiting up to {invitation.wait:g} s, as it may become known")
    with zmq.Context() as context:
        rank, ticket = request_seat(context, invitation)
        listen = given or tcp_address(_own_address(invitation.address), ANY_PORT)
        say(f"worker {rank}: joined {invitation.address}, listening at {listen.removesuffix(':*')}")
        if not _play_joined_worker(context, invitation, rank, ticket, listen):
            raise WorkerFailed(f"worker {rank}: the run ended early; its coordinator at {invitation.address} says why")
    say(f"worker {rank}: finished")


def _checked_listen(invitation: Invitation) -> str:
    """The address of ``invitation.listen`` with a numeric host.

    Raises ConfigError if this host cannot listen there, and for a loopback address if the run is not at one: then its
    workers may be on other hosts, which could not reach this one.
    """
    listen = resolve_bind_address(invitation.listen, "--listen", free=True)
    if is_loopback_address(listen) and not is_loopback_address(invitation.address):
        host, _ = host_and_port(listen, "--listen", free=True)
        raise ConfigError("--listen", "an address that the hosts of the run reach", host, f"omit it, or {FAR}")
    check_listen_address(listen, "--listen")
    return listen


def _play_joined_worker(
    context: zmq.Context[Any], invitation: Invitation, rank: int, ticket: RunToken, listen: str
) -> bool:
    """Serve as worker ``rank``. Return True if the run completed."""
    from netpart.transport.zeromq import ZeroMQTransport

    returns = False

    def made(welcome: WelcomeProto) -> Transport:
        nonlocal returns
        returns = welcome.returns
        check_process_limits(welcome.workers)
        return ZeroMQTransport(rank, welcome.run_id, secret=read_secret(welcome))

    def lost() -> NoReturn:
        text = f"worker {rank}: lost its coordinator at {invitation.address}: that ended, or the link to it is broken"
        if returns:
            _ask_again(f"{text}; it may come back")
        exit_at_once(text)

    away = RemoteHost(invitation.folder, lost, lambda: _ask_again(f"worker {rank}: the run starts again"))
    return run_member(context, invitation.address, rank, ticket, made, listen, sys.stderr, away)


def _ask_again(message: str) -> NoReturn:
    """Replace this process, from any thread, by a new one of the same command, which asks for a seat.

    So nothing of the failed attempt is left: neither memory, nor threads, nor open sockets.
    """
    os.write(sys.stderr.fileno(), f"note: {message}; asking for a seat again\n".encode())
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def exit_at_once(message: str) -> NoReturn:
    """End this process from any thread, regardless of what the other threads wait for."""
    # sys.exit would only end the calling thread, which is the heartbeat's.
    os.write(sys.stderr.fileno(), f"error: {message}\n".encode())
    os._exit(1)


def request_seat(context: zmq.Context[Any], invitation: Invitation) -> tuple[int, RunToken]:
    """Ask for a seat and wait for the answer. Return this worker's rank and ticket. Raises NetpartError."""
    until = monotonic() + invitation.wait
    # A link that closes before the answer is that of an attempt of the run that ends: the next one has not heard of it.
    while (answer := _knock(context, invitation, until)) is None:
        pass
    if answer.refused:
        raise NetpartError(f"{invitation.address}: {printable_text(answer.refused, REFUSAL)}")
    return answer.rank, RunToken(answer.ticket, public_key(invitation.token))


def _knock(context: zmq.Context[Any], invitation: Invitation, until: float) -> JoinedProto | None:
    """Ask for a seat until the time ``until``; None if the coordinator closes the link without an answer."""
    # The random suffix keeps two workers with the same token apart: a ROUTER rejects a second peer with the same
    # identity.
    name = KNOCK + invitation.token.secret + secrets.token_bytes(4)
    door = make_dealer(context, invitation.address, invitation.token, name)
    link = LinkMonitor(door, monotonic())
    try:
        connect_socket(door, invitation.address)
        door.send_multipart(pack_message(_join_request(invitation)))
        return _await_answer(door, link, invitation, until)
    finally:
        link.close()
        door.close(linger=0)


def _join_request(invitation: Invitation) -> ControlProto:
    """The message that asks for a seat: this host, this netpart, how it can seal, and the wanted rank if any."""
    message = ControlProto()
    message.join.host = f"{socket.gethostname()}, process {os.getpid()}"
    message.join.version = installed_version()
    message.join.seal.extend(known_ciphers())
    if invitation.rank is not None:
        message.join.rank = invitation.rank
    return message


def _await_answer(
    door: zmq.Socket[bytes], link: LinkMonitor, invitation: Invitation, until: float
) -> JoinedProto | None:  # fmt: skip
    """The coordinator's answer; None if an open link closes before it. Raises NetpartError if none arrives in time, or
    if the token is not the run's."""
    while not door.poll(LOOK_MS):
        if link.look(monotonic()) and link.opened:
            return None
        if link.refused:
            hint = "use the NETPART_TOKEN of the run, or a copy of its token file"
            raise NetpartError(
                f"{invitation.address}: expected a coordinator with this token, got one that does not accept it; {hint}"
            )
        if monotonic() > until:
            raise _silence_error(invitation)
    answer = unpack_message(door.recv_multipart())
    if answer.WhichOneof("message") != "joined":
        raise GarbledMessage(f"{invitation.address}: expected an answer, got another message")
    return answer.joined


def _silence_error(invitation: Invitation) -> NetpartError:
    """The error for a run that does not answer in time, or whose host is not known."""
    unknown = unknown_host_text(invitation.address)
    hint = "is the run started, with --listen at this address, and can this host reach it?"
    return NetpartError(
        f"{invitation.address}: expected an answer within {invitation.wait:g} s, got none;"
        f" {f'{unknown}; check its name' if unknown else hint}"
    )


def _own_address(address: str) -> str:
    """This host's address on the interface that reaches ``address``, according to its routes. Nothing is sent."""
    try:
        return source_address(*host_and_port(address, "--join"))
    except OSError as error:
        raise NetpartError(
            f"{address}: expected an address that this host can reach, got {error}; name one with --listen"
        ) from None
