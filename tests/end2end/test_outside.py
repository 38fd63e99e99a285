"""Runs that somebody attacks from outside, who has no token, and runs over IPv6; without network namespaces."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end2end.running import DEADLINE, mlp
from tests.end2end.test_join import NETPART, TOKEN, Talk
from tests.transport.test_sockets import BUFFERS, greeting, has_ipv6, poured, raw

FEW = 100
"""Open files that a coordinator may have, which is soon too few."""


class Here:
    """Commands of this host; they end with the test."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack

    def talk(self, *command: str, files: int = 0, environment: Mapping[str, str] | None = None) -> Talk:
        """Starts a command, which may have so many ``files`` open."""

        def limited() -> None:
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        process = subprocess.Popen(
            command, env=os.environ | dict(environment or {}), cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, preexec_fn=limited,
        )  # fmt: skip
        self.stack.callback(process.communicate)
        self.stack.callback(process.kill)
        return Talk(process)

    def coordinate(
        self, address: str, *options: str, files: int = 0, environment: Mapping[str, str] | None = None
    ) -> Talk:
        """Starts a run that waits at ``address``."""
        conf, workspace = str(mlp(self.folder, train_steps=2)), str(self.folder / "run")
        made = self.talk(
            *NETPART,
            "run",
            conf,
            "--workspace",
            workspace,
            "--listen",
            address,
            *options,
            files=files,
            environment=environment,
        )
        return made

    def join(self, address: str) -> Talk:
        return self.talk(*NETPART, "worker", "--join", address, environment=TOKEN)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    with ExitStack() as stack:
        yield Here(tmp_path, stack)


def free(host: str = "127.0.0.1") -> str:
    """An address with a port that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def most_memory(process: subprocess.Popen[bytes]) -> int:
    """Bytes that a process had resident at most so far."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def silent(address: str, count: int, stack: ExitStack) -> list[socket.socket]:
    """Connections on which nothing is said."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return [stack.enter_context(socket.create_connection((host, int(port)), DEADLINE)) for _ in range(count)]


def check_it_ends_well(here: Here, address: str, coordinator: Talk) -> None:
    other = here.join(address)
    assert (other.end(), coordinator.end()) == (0, 0), coordinator.lines + other.lines


def test_who_has_no_token_takes_no_memory_and_no_place(here: Here) -> None:
    """A frame of 2 GiB, and connections that say nothing, while a worker joins."""
    address = free()
    coordinator = here.coordinate(address, "--workers", "1", environment=TOKEN)
    coordinator.until("waiting for worker 0")
    before = most_memory(coordinator.process)
    with ExitStack() as stack:
        for _ in range(3):
            with raw(address) as connection:
                assert poured(connection, greeting("CURVE") + b"\x06") < BUFFERS
        silent(address, 400, stack)
        assert most_memory(coordinator.process) - before < BUFFERS
        check_it_ends_well(here, address, coordinator)


def test_too_many_connections_are_told_and_overcome(here: Here) -> None:
    address = free()
    coordinator = here.coordinate(address, "--workers", "1", files=FEW, environment=TOKEN)
    coordinator.until("waiting for worker 0")
    with ExitStack() as stack:
        silent(address, 2 * FEW, stack)
        coordinator.until(r"^note: the coordinator has as many open files and connections as it may: new workers have")
    coordinator.until(r"^note: the coordinator can take connections again")
    check_it_ends_well(here, address, coordinator)


def test_a_worker_that_comes_while_there_are_too_many_gets_in_later(here: Here) -> None:
    address = free()
    coordinator = here.coordinate(address, "--workers", "1", files=FEW, environment=TOKEN)
    coordinator.until("waiting for worker 0")
    with ExitStack() as stack:
        silent(address, 2 * FEW, stack)
        coordinator.until("^note: the coordinator has as many")
        other = here.join(address)
        other.until("^joining")
    assert (other.end(), coordinator.end()) == (0, 0), coordinator.lines + other.lines


def test_a_run_over_ipv6_by_the_command_that_it_prints(here: Here, tmp_path: Path) -> None:
    """With a stand-in for ssh; the token file has a key, with which the worker knows its coordinator."""
    if missing := has_ipv6():
        pytest.skip(missing)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, script in {"ssh": 'shift\nexec sh -c "$*"', "netpart": f'exec {" ".join(NETPART)} "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    address = free("::1")
    coordinator = here.coordinate(address, "--workers", "2", "--local", "1")
    line = coordinator.until("^waiting for worker 1").strip()
    assert line.endswith(f" netpart worker --join '{address}'")
    command = line.partition("for each: ")[2]
    other = here.talk("sh", "-c", command, environment={"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"})
    other.until(r"^worker 1: joined tcp://\[::1\]:\d+, listening at tcp://\[::1\]$")
    assert (other.end(), coordinator.end()) == (0, 0), coordinator.lines + other.lines
