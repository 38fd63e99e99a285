"""netpart worker, and netpart run over several hosts: what is missing is said before anything starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart

TOKEN = "00112233445566778899aabbccddeeff"


@pytest.fixture(autouse=True)
def nobody_started_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PMI_", "PMIX_", "OMPI_", "JOB_COMPLETION", "NETPART_")):
            monkeypatch.delenv(name)


def test_a_worker_needs_a_token(netpart: Netpart) -> None:
    answer = netpart("worker", "--join", "tcp://127.0.0.1:5555")
    assert answer.code == 2
    assert answer.err.startswith("error: NETPART_TOKEN: expected the run's token, got none; copy the line")
    assert "openssl" not in answer.err


def test_a_misspelt_option_comes_before_a_missing_one(netpart: Netpart) -> None:
    answer = netpart("worker", "--jion", "tcp://127.0.0.1:5555")
    assert (answer.code, answer.err.splitlines()[0]) == (2, "error: unknown: --jion; did you mean --join?")
    assert "the following arguments are required: --join" in netpart("worker", "--wai", "3").err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--listen", "tcp://127.0.0.1:7777"),
            "--listen: expected an address that the hosts of the run reach, got 127.0",
        ),
        (("--listen", "tcp://198.51.100.7:777"), "--listen: expected tcp://198.51.100.7:777 to be usable, got "),
    ],
)
def test_where_a_worker_cannot_listen(
    options: tuple[str, str], message: str, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has asked for a seat, so the run goes on."""
    monkeypatch.setenv("NETPART_TOKEN", TOKEN)
    answer = netpart("worker", "--join", "tcp://10.0.0.1:5555", *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_a_host_that_is_not_known_yet(netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETPART_TOKEN", TOKEN)
    answer = netpart("worker", "--join", "tcp://nohost.invalid:5599", "--wait", "0.2")
    assert answer.code == 1
    assert "note: nohost.invalid is not a known host: " in answer.out
    assert "expected an answer within 0.2 s, got none; nohost.invalid is not a known host: " in answer.err


def test_a_worker_needs_an_address_before_a_token(netpart: Netpart) -> None:
    answer = netpart("worker", "--join", "10.0.0.1")
    assert (answer.code, answer.out) == (2, "")
    assert "--join: expected an address like tcp://10.0.0.1:5555, got '10.0.0.1'" in answer.err


def test_a_worker_that_nobody_answers(netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETPART_TOKEN", TOKEN)
    answer = netpart("worker", "--join", "tcp://127.0.0.1:9", "--wait", "0.2")
    assert answer.code == 1
    assert "tcp://127.0.0.1:9: expected an answer within 0.2 s, got none; is the run started" in answer.err


@pytest.mark.parametrize(
    ("options", "environment", "message"),
    [
        (("--launcher", "threads", "--listen", "tcp://127.0.0.1:5555"), {}, "--listen: expected --launcher join"),
        (("--launcher", "join"), {}, "--launcher join: expected an address in --listen"),
        (
            ("--listen", "tcp://127.0.0.1:0"),
            {},
            "--listen: expected a port from 1 to 65535, got 0 in tcp://127.0.0.1:0",
        ),
        (("--launcher", "mpi", "--transport", "shm"), {}, "--transport: expected auto, as --launcher mpi has its own"),
        (("--launcher", "threads", "--hosts", "F"), {}, "--hosts: expected --launcher mpi, got threads"),
        (
            ("--launcher", "mpi", "--hosts", "nope.hosts"),
            {},
            "--hosts nope.hosts: expected a host file, got nothing there",
        ),
        (("--listen", "tcp://0.0.0.0:5555"), {}, "expected an address of this host, got 0.0.0.0"),
        (("--local", "1"), {}, "--local: expected --listen with it, got none; omit it"),
        (("--wait", "5"), {}, "--wait: expected --listen, --launcher ray or --restarts with it, got none; omit it"),
        (("--token-file", "nofile"), {}, "--token-file: expected --listen with it, got none; omit it"),
        (
            ("--listen", "tcp://127.0.0.1:5555", "--token-file", "nofile"),
            {},
            "nofile: expected a file with the run's token, got nothing there; make one: `openssl rand -hex 16 > nofile",
        ),
        (("--listen", "tcp://198.51.100.7:5555"), {}, "expected tcp://198.51.100.7:5555 to be usable, got "),
        (("--listen", "tcp://nohost.invalid:5555"), {}, "--listen: expected a host that is known, got "),
        (("--launcher", "joni"), {}, "got 'joni'; did you mean join? (all 6: env, join, local, mpi, ray, threads)"),
        (
            ("--local", "4", "--listen", "tcp://127.0.0.1:5555"),
            {},
            "--local: expected at most the 1 worker of this run, got 4; the others join",
        ),
        (("--launcher", "env"), {}, "--launcher env: expected one of RANK, OMPI_COMM_WORLD_RANK, PMI_RANK"),
        (("--launcher", "env"), {"PMI_RANK": "1"}, "--launcher env: expected NETPART_MEET in the environment"),
        (
            ("--launcher", "env"),
            {"JOB_COMPLETION_INDEX": "0", "NETPART_MEET": "tcp://127.0.0.1:5555"},
            "--launcher env: expected --workers, as Kubernetes does not report how many there are",
        ),
        (
            ("--launcher", "env", "--workers", "3"),
            {"PMI_RANK": "0", "PMI_SIZE": "2", "NETPART_MEET": "tcp://127.0.0.1:5555"},
            "--workers: expected 2, the number of processes of MPICH, got 3; start as many"
            " processes as workers and servers",
        ),
        (
            ("--launcher", "env"),
            {"PMI_RANK": "1", "PMI_SIZE": "2", "NETPART_MEET": "tcp://127.0.0.1:5555"},
            "NETPART_TOKEN: expected the run's token",
        ),
    ],
)
def test_what_a_run_over_hosts_needs(
    options: tuple[str, ...], environment: dict[str, str], message: str, job: Path, netpart: Netpart, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    answer = netpart("run", job, "--workspace", tmp_path / "run", *options)
    assert answer.code == 2
    assert message in answer.err
