"""MpiTransport: what the law omits: real ranks, addresses, frames that take turns, strangers, closing, start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from netpart.errors import TransportError
from netpart.launch.teams import mpiexec
from netpart.transport.frames import HEADER
from netpart.transport.mpi import MpiTransport
from netpart.transport.mpi_world import start_mpi, unlink_mpich_memory
from tests.thorough import sampled

RUN = b"run-0001"
CHANNEL, DONE = (1, 0, 0, 5, 0), (1, 4, 0, 5, 0)
ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
DEADLINE = 30.0
ROOT = Path(__file__).parents[2]


@pytest.fixture
def pair() -> Iterator[tuple[MpiTransport, MpiTransport]]:
    """Ranks 0 and 1 in this process; 1 expects CHANNEL from 0."""
    ours, theirs = (MpiTransport(rank, RUN, MPI.COMM_SELF, linger=0.1) for rank in range(2))
    theirs.expect(CHANNEL, 0, ARRAY.shape, ARRAY.dtype)
    ours.expect(DONE, 1, (0,), np.uint8)
    for transport in (ours, theirs):
        transport.connect({0: "mpi:0", 1: "mpi:0"})
    yield ours, theirs
    assert ours.arrivals + theirs.arrivals >= 0  # takes in what is left
    ours.close()
    theirs.close()


@pytest.mark.parametrize("n", sampled([2, 4], 2))
def test_the_law_holds_between_processes(n: int) -> None:
    ranks = [
        mpiexec.find_mpiexec(),
        "-n",
        str(n),
        sys.executable,
        str(Path(__file__).with_name("mpi_ranks.py")),
        "12",
        "5",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(ranks, capture_output=True, text=True, timeout=4 * DEADLINE, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_addresses_are_places_in_the_communicator(pair: tuple[MpiTransport, MpiTransport]) -> None:
    assert [transport.bind() for transport in pair] == ["mpi:0", "mpi:0"]
    for address in ("tcp://127.0.0.1:5", "mpi:1", "mpi:-1", "mpi:"):
        with pytest.raises(TransportError, match=f"rank 0: expected as address of rank 7 mpi: .* got {address}; pass"):
            pair[0].connect({7: address})


def test_frames_take_turns(pair: tuple[MpiTransport, MpiTransport]) -> None:
    ours, theirs = pair
    seen = set()
    for step in range(30):
        ours.send(CHANNEL, step, 1, ARRAY + step)
        assert theirs.wait(DEADLINE)
        array = theirs.receive(CHANNEL, step)
        assert array is not None
        assert (array == ARRAY + step).all()
        seen.add(array.__array_interface__["data"][0])
        theirs.send(DONE, step, 0, np.empty(0, np.uint8))
        while ours.receive(DONE, step) is None:
            assert ours.wait(DEADLINE)
    assert len(seen) <= 3
    assert len(ours._leaving[ARRAY.nbytes]) <= 3
    assert ours.counts == {CHANNEL: 30 * ARRAY.nbytes}
    assert ours.header_bytes == theirs.header_bytes == 30 * HEADER.size


def test_what_was_received_stays_until_the_next_message(pair: tuple[MpiTransport, MpiTransport]) -> None:
    ours, theirs = pair
    ours.send(CHANNEL, 0, 1, ARRAY)
    assert theirs.wait(DEADLINE)
    first = theirs.receive(CHANNEL, 0)
    ours.send(CHANNEL, 1, 1, ARRAY + 1)
    assert theirs.wait(DEADLINE)
    assert first is not None
    assert (first == ARRAY).all()


def test_flush_waits_for_a_receiver_and_no_longer_than_told(pair: tuple[MpiTransport, MpiTransport]) -> None:
    ours, theirs = pair
    ours.send(CHANNEL, 0, 1, ARRAY)
    began = time.monotonic()
    assert not ours.flush(0.05)
    assert 0.05 <= time.monotonic() - began < DEADLINE
    assert theirs.wait(DEADLINE)
    assert ours.flush(DEADLINE)


def test_a_frame_of_another_run_raises(pair: tuple[MpiTransport, MpiTransport]) -> None:
    stranger = MpiTransport(0, b"run-0002", MPI.COMM_SELF)
    stranger.connect({1: "mpi:0"})
    stranger.send(CHANNEL, 0, 1, ARRAY)
    with pytest.raises(TransportError, match=r"^rank 1: expected frames of run .* got one that begins with"):
        pair[1].wait(DEADLINE)
    stranger.close()


@pytest.mark.parametrize("length", [0, 5, HEADER.size - 1])
def test_a_message_without_a_header_raises(pair: tuple[MpiTransport, MpiTransport], length: int) -> None:
    request = MPI.COMM_SELF.Isend(bytearray(length), 0, 1)
    with pytest.raises(TransportError, match=f"rank 1: expected a header of {HEADER.size} bytes, got a frame of"):
        pair[1].wait(DEADLINE)
    request.Wait()


def test_what_mpi_refuses_names_both_sides(pair: tuple[MpiTransport, MpiTransport]) -> None:
    far = int(MPI.COMM_SELF.Get_attr(MPI.TAG_UB) or 0) + 1
    pair[0].connect({far: "mpi:0"})
    with pytest.raises(TransportError, match=f"rank 0: expected rank {far} to be reachable, got from MPI: .*tag"):
        pair[0].send(CHANNEL, 0, far, ARRAY)


def test_a_run_id_of_another_length_raises() -> None:
    with pytest.raises(TransportError, match="run id of 8 bytes, got 3"):
        MpiTransport(0, b"run", MPI.COMM_SELF)


def test_a_closed_transport_neither_sends_nor_receives(pair: tuple[MpiTransport, MpiTransport]) -> None:
    ours = pair[0]
    ours.close()
    ours.close()
    for call in (lambda: ours.send(CHANNEL, 0, 1, ARRAY), lambda: ours.wait(0), lambda: ours.receive(DONE, 0)):
        with pytest.raises(TransportError, match="expected an open transport, got a closed one"):
            call()


def test_without_mpi4py_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(TransportError, match=r"pip install 'netpart\[mpi\]'"):
        start_mpi()


def test_no_name_in_shared_memory_survives_the_start() -> None:
    unlink_mpich_memory()
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    assert not [line for line in mapped if "/dev/shm/mpich" in line and not line.endswith("(deleted)")]
