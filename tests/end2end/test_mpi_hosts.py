"""MPI between hosts: mpiexec starts workers on the hosts of a host file, and their tensors cross the link."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

from tests.end2end.hosts import Hosts, call, network
from tests.end2end.running import SOON, Run, mlp
from tests.end2end.test_failures import ENDLESS, check_blame
from tests.thorough import sampled

__all__ = ["network"]
pytestmark = pytest.mark.usefixtures("network")

WORKERS = 4
SECOND = 2
"""The first worker on the second host."""
REMOTE_SHELL = """#!/bin/sh
# Called as ssh is: options, host, command.
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
case $host in
{cases}
esac
"""


@dataclass
class Cluster:
    """Two hosts, the host file that names them, and how mpiexec gets to them."""

    hosts: Hosts
    folder: Path

    def run(self, conf: Path, **options: object) -> Run:
        """A run that is started on the first host, with two workers on each."""
        file, shell = self.folder / "hosts", self.folder / "remote-shell"
        file.write_text("".join(f"{address}:2\n" for address in self.hosts.addresses), encoding="utf-8")
        places = zip(self.hosts.addresses, range(len(self.hosts.addresses)), strict=True)
        cases = [f'{address}) exec {shlex.join(self.hosts.command(host))} sh -c "$*";;' for address, host in places]
        shell.write_text(REMOTE_SHELL.format(cases="\n".join(cases)), encoding="utf-8")
        shell.chmod(0o755)
        environment = {"HYDRA_LAUNCHER_EXEC": str(shell), "UCX_TLS": "tcp,self"}
        return Run(
            conf, WORKERS, self.folder / "mpi", self.hosts.command(0), environment,
            launcher="mpi", hosts=str(file), **options,
        )  # fmt: skip

    def sent(self, host: int) -> int:
        """Bytes that a host has sent over its link."""
        return int(call(*self.hosts.command(host, "cat", "/sys/class/net/eth0/statistics/tx_bytes")))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Hosts(2) as hosts:
        yield Cluster(hosts, tmp_path)


def test_two_hosts_and_one_agree_bit_for_bit(cluster: Cluster, tmp_path: Path) -> None:
    conf = mlp(tmp_path, dtype="FLOAT32")
    wide = ["fc1.innerproduct_conf.num_output=20000"]
    with cluster.run(conf, set=wide) as run:
        assert run.end() == 0, run.told[-1]
        (summary,) = run.of("Summary")
    with Run(conf, WORKERS, tmp_path / "local", set=wide) as local:
        assert local.end() == 0
    for path in sorted((tmp_path / "local" / "checkpoint").iterdir()):
        assert (tmp_path / "mpi" / "checkpoint" / path.name).read_bytes() == path.read_bytes(), path.name
    assert summary["bytes_counted"] == summary["bytes_predicted"]
    assert min(cluster.sent(0), cluster.sent(1)) > summary["bytes_counted"] / 8


@pytest.mark.parametrize("rank", sampled([0, SECOND], 2))
def test_kill_9_of_a_rank(cluster: Cluster, tmp_path: Path, rank: int) -> None:
    with cluster.run(mlp(tmp_path, train_steps=ENDLESS)) as run:
        run.until(lambda told: told["kind"] == "Measured" and told["step"] > 2)
        began = run.signal(signal.SIGKILL, rank)
        assert run.end() == 1
        assert monotonic() - began <= SOON
        check_blame(run, rank, r"died \(signal 9, SIGKILL")
        run.await_workers(SOON)


@pytest.mark.thorough
def test_a_peer_that_crashes_at_a_death_is_not_blamed(cluster: Cluster, tmp_path: Path) -> None:
    """MPI's library sometimes crashes when the link to a peer closes; here, a signal stands for that."""
    with cluster.run(mlp(tmp_path, train_steps=ENDLESS)) as run:
        run.until(lambda told: told["kind"] == "Measured" and told["step"] > 2)
        run.signal(signal.SIGKILL, SECOND)
        run.signal(signal.SIGSEGV, 0)
        assert run.end() == 1
        check_blame(run, SECOND, r"died \(signal 9, SIGKILL")
        run.await_workers(SOON)


def test_a_cut_link(cluster: Cluster, tmp_path: Path) -> None:
    with cluster.run(mlp(tmp_path, train_steps=ENDLESS)) as run:
        run.until(lambda told: told["kind"] == "Measured" and told["step"] > 2)
        began = monotonic()
        cluster.hosts.cut(1)
        assert run.end() == 1
        assert monotonic() - began <= SOON
        assert "stopped, or its link is lost: not heard for" in run.failure()
        assert run.failure().startswith((f"worker {SECOND}: ", f"worker {SECOND + 1}: "))
        run.await_workers(SOON)
