"""ShmTransport: what the law omits: another process, its death, addresses, limits, what is let go of."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import TransportError
from netpart.transport.host_memory import shared_memory_refusal
from netpart.transport.shm import ShmTransport
from tests.transport.shm_peer import DATA, DEADLINE, DONE, NUMBERS, RUN

EMPTY = np.empty(0, np.uint8)
ROOT = Path(__file__).parents[2]


@contextmanager
def receiver() -> Iterator[ShmTransport]:
    with ShmTransport(1, RUN, 2) as transport:
        transport.expect(DATA, 0, (NUMBERS,), np.float64)
        yield transport


@contextmanager
def pair() -> Iterator[tuple[ShmTransport, ShmTransport]]:
    with ShmTransport(0, RUN, 2) as sender, receiver() as transport:
        addresses = {0: sender.bind(), 1: transport.bind()}
        sender.connect(addresses)
        transport.connect(addresses)
        yield sender, transport


@contextmanager
def peer(transport: ShmTransport, steps: int) -> Iterator[subprocess.Popen[str]]:
    """A process that sends ``steps`` messages and stays, connected."""
    command = [sys.executable, "-m", "tests.transport.shm_peer", transport.bind(), str(steps)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        transport.connect({0: process.stdout.readline().strip()})
        try:
            yield process
        finally:
            process.kill()


def take(transport: ShmTransport, step: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    while (array := transport.receive(DATA, step)) is None:
        assert transport.wait(DEADLINE), f"message {step} did not come"
    return array


def held() -> list[str]:
    """The shared memory that this process maps or holds open."""
    gc.collect()
    descriptors = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return [
        line for line in [*Path("/proc/self/maps").read_text().split("\n"), *descriptors] if "memfd:netpart" in line
    ]


def test_another_process_sends_whole_messages_in_order() -> None:
    """Without the order of stores, or with one wake-up lost, thousands of small messages would tell."""
    with receiver() as transport, peer(transport, 5000):
        for step in range(5000):
            assert (take(transport, step) == step).all()
            transport.send(DONE, step, 0, EMPTY)
        assert transport.arrivals == 5000


def test_a_peer_that_is_killed_leaves_nothing_and_its_messages_stay() -> None:
    before = held()
    with receiver() as transport:
        with peer(transport, 2) as process:
            first = take(transport, 0).copy()
            while transport.arrivals < 2:
                assert transport.wait(DEADLINE)
        assert process.returncode == -9
        transport.send(DONE, 0, 0, EMPTY)
        assert (first == 0).all()
        assert (take(transport, 1) == 1).all()
    assert held() == before


def test_a_message_is_a_read_only_view_of_its_slot() -> None:
    with pair() as (sender, transport):
        places = []
        for step in range(4):
            sender.send(DATA, step, 1, np.full(NUMBERS, step, np.float64))
            array = take(transport, step)
            assert not array.flags.writeable
            places.append(array.ctypes.data)
        assert places == 2 * places[:2]
        assert places[0] != places[1]


def test_a_message_is_written_where_it_belongs() -> None:
    before = held()
    with ShmTransport(0, RUN, 2) as sender, ShmTransport(1, RUN, 2) as transport:
        transport.allocate(8)
        memory = transport.allocate(5000 * 8).view(np.float64)
        transport.expect(DATA, 0, (NUMBERS,), np.float64, 1, memory[1000 : 1000 + NUMBERS])
        sender.bind()
        sender.connect({1: transport.bind()})
        for step in range(3):
            sender.send(DATA, step, 1, np.full(NUMBERS, step + 1, np.float64))
            array = take(transport, step)
            assert array.ctypes.data == memory[1000:].ctypes.data
            assert not array.flags.writeable
            assert (memory[1000 : 1000 + NUMBERS] == step + 1).all()
            assert memory.sum() == NUMBERS * (step + 1)
    del sender, transport, memory, array
    assert held() == before


@contextmanager
def keeping(placed: bool) -> Iterator[tuple[ShmTransport, ShmTransport, np.ndarray]]:
    """Sender and receiver of a message that stays with the sender, and memory of the sender, where it lies if
    ``placed``."""
    with ShmTransport(0, RUN, 2) as sender, ShmTransport(1, RUN, 2) as transport:
        memory = sender.allocate(5000 * 8).view(np.float64)[1000 : 1000 + NUMBERS]
        sender.keep(DATA, 1, (NUMBERS,), np.float64, memory if placed else None)
        transport.expect(DATA, 0, (NUMBERS,), np.float64, 1, stays=True)
        addresses = {0: sender.bind(), 1: transport.bind()}
        sender.connect(addresses)
        transport.connect(addresses)
        yield sender, transport, memory


def test_a_message_that_stays_is_read_where_it_lies() -> None:
    before = held()
    with keeping(placed=True) as (sender, transport, memory):
        for step in range(3):
            memory.fill(step)
            sender.send(DATA, step, 1, memory)
            array = take(transport, step)
            assert (array == step).all()
            assert not array.flags.writeable
            memory.fill(-1)
            assert (array == -1).all()
        assert sender.counts == {DATA: 3 * NUMBERS * 8}
    del sender, transport, memory, array
    assert held() == before


@pytest.mark.parametrize("placed", [True, False])
def test_a_message_that_stays_and_lies_elsewhere_is_copied_once(placed: bool) -> None:
    with keeping(placed) as (sender, transport, _):
        for step in range(3):
            source = np.full(NUMBERS, step, np.float64)
            sender.send(DATA, step, 1, source)
            source.fill(-1)
            assert (take(transport, step) == step).all()


def test_a_message_that_stays_takes_no_memory_of_its_receiver() -> None:
    with keeping(placed=False) as (sender, transport, _):
        kept, received = (os.fstat(each._descriptor).st_size for each in (sender, transport))
        assert kept - received >= NUMBERS * 8


def test_who_keeps_and_who_expects_must_agree() -> None:
    for keeps, stays in ((False, True), (True, False)):
        with ShmTransport(0, RUN, 2) as sender, ShmTransport(1, RUN, 2) as transport:
            if keeps:
                sender.keep(DATA, 1, (NUMBERS,), np.float64)
            transport.expect(DATA, 0, (NUMBERS,), np.float64, 1, stays=stays)
            address = sender.bind()
            transport.bind()
            with pytest.raises(
                TransportError, match=r"rank 1: expected rank 0 to keep the messages that stay there, got .*edge=5"
            ):
                transport.connect({0: address})


def test_what_stays_is_not_sent_to_who_keeps_it() -> None:
    with keeping(placed=True) as (sender, transport, _):
        transport.send(DATA, 0, 0, np.zeros(NUMBERS))
        with pytest.raises(TransportError, match=r"rank 0.*edge=5.*expected nothing on this channel"):
            sender.wait(DEADLINE)


def test_memory_that_is_not_there_is_an_error() -> None:
    with (
        ShmTransport(0, RUN, 2) as transport,
        pytest.raises(TransportError, match=r"rank 0: expected .* bytes to share"),
    ):
        transport.allocate(1 << 60)


def test_closing_lets_go_of_the_memory_and_peers_do_not_mind() -> None:
    before = held()
    with pair() as (sender, transport):
        assert len(held()) > len(before)
        transport.close()
        transport.close()
        sender.send(DATA, 0, 1, np.zeros(NUMBERS))
        with pytest.raises(TransportError, match="expected an open transport, got a closed one"):
            transport.wait(0)
    del sender, transport
    assert held() == before


def test_a_receiver_that_never_looks_ends_its_sender() -> None:
    def send(sender: ShmTransport) -> None:
        for step in range(1000):
            sender.send(DATA, step, 1, np.zeros(NUMBERS))

    with pair() as (sender, _), pytest.raises(TransportError, match="messages in flight, got one more; receive"):
        send(sender)


@pytest.mark.parametrize("number", [-1, 1, 99])
def test_an_entry_of_no_promise_raises(number: int) -> None:
    """What a stray write to the memory could look like."""
    with pair() as (sender, transport):
        lane, bell = sender._outs[1]
        lane.write(number, 0)
        bell.ring()
        with pytest.raises(TransportError, match="rank 1: expected frames of run"):
            transport.wait(DEADLINE)


@pytest.mark.parametrize("address", ["shm:///proc/1/fd/12345", "ipc://@netpart-control"])
def test_an_address_that_leads_nowhere_raises(address: str) -> None:
    with ShmTransport(0, RUN, 2) as sender, pytest.raises(TransportError, match="rank 0: expected memory of rank 1"):
        sender.connect({1: address})


def test_memory_of_another_run_is_refused() -> None:
    with receiver() as transport, ShmTransport(0, b"run-0002", 2) as stranger:
        address = transport.bind()
        with pytest.raises(TransportError, match="got memory of another run"):
            stranger.connect({1: address})


def test_promises_come_before_the_memory_and_from_known_ranks() -> None:
    with receiver() as transport:
        with pytest.raises(TransportError, match="of ranks below 2, got one of rank 2"):
            transport.expect(DATA, 2, (3,), np.float64)
        transport.bind()
        with pytest.raises(TransportError, match="expected promises before bind"):
            transport.expect(DONE, 0, (3,), np.float64)


def test_more_memory_than_there_is_raises() -> None:
    with ShmTransport(1, RUN, 2) as transport:
        transport.expect(DATA, 0, (1 << 45,), np.float64)
        with pytest.raises(TransportError, match=r"rank 1: expected 56\d+ bytes to share, got a host with less memory"):
            transport.bind()


def test_what_no_run_has_is_refused() -> None:
    for rank, run, ranks in ((0, b"short", 2), (2, RUN, 2), (0, RUN, 5000)):
        with pytest.raises(TransportError, match="expected a run id of 8 bytes and at most 1024 ranks"):
            ShmTransport(rank, run, ranks)


def test_a_host_that_cannot_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared_memory_refusal() == ""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert shared_memory_refusal() == "it relies on the memory order of x86_64, and this is aarch64"
    monkeypatch.delattr(os, "memfd_create")
    assert "memfd_create" in shared_memory_refusal()
