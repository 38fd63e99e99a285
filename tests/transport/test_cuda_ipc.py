"""CudaIpcTransport: what the law omits: the order of devices, which lag behind their hosts; places, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from netpart.errors import TransportError
from netpart.transport.cuda_ipc import CudaIpcTransport
from netpart.transport.shm import ShmTransport
from tests.cuda.module import emulated

cupy = emulated()
alone = emulated("cupy.ipc").alone
OPEN = emulated("cupy.ipc").OPEN

RUN = b"run-0001"
DATA = (1, 0, 0, 5, 0)
DONE = (1, 4, 0, 5, 0)
HOSTS = (1, 0, 0, 6, 0)
NUMBERS = 1000
EMPTY = np.empty(0, np.uint8)
AHEAD = 2


@contextmanager
def pair(ahead: int = AHEAD) -> Iterator[tuple[CudaIpcTransport, CudaIpcTransport]]:
    """Sender and receiver, connected; nothing is done on a device before somebody waits for it."""
    with alone(), transport(0) as sender, transport(1) as receiver:
        receiver.expect(DATA, 0, (NUMBERS,), np.float64, ahead)
        sender.expect(DONE, 1, (0,), np.uint8, ahead)
        connect(sender, receiver)
        yield sender, receiver


def transport(rank: int, ranks: int = 2) -> CudaIpcTransport:
    return CudaIpcTransport(rank, RUN, ranks, cupy, {0, 1})


def connect(*transports: ShmTransport) -> None:
    addresses = {transport.rank: transport.bind() for transport in transports}
    for each in transports:
        each.connect(addresses)


def full(value: float) -> Any:
    return cupy.asarray(np.full(NUMBERS, value, np.float64))


def test_a_message_is_read_behind_its_copy_although_it_is_announced_before() -> None:
    here, there = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    with pair() as (sender, receiver):
        with here:
            source, target = full(0), full(0)
            source[...] = full(7)  # not done yet, nor is what follows
            sender.send(DATA, 0, 1, source)
        with there:
            arrived: Any = receiver.receive(DATA, 0)
            target[...] = arrived
        assert not here.done
        there.synchronize()
        assert (target.get() == 7).all()


def test_a_slot_is_written_again_only_behind_whoever_reads_it() -> None:
    """The reader's host says that it is done before its device has begun; the writer's device is first to work."""
    here, there = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    sources, targets = [full(step) for step in range(6)], [full(-1) for _ in range(6)]
    with pair() as (sender, receiver):
        for step in range(6):
            with here:
                if step >= AHEAD:
                    assert sender.receive(DONE, step - AHEAD) is not None
                sender.send(DATA, step, 1, sources[step])
            with there:
                targets[step][...] = receiver.receive(DATA, step)
                receiver.send(DONE, step, 0, EMPTY)
        here.synchronize()
        there.synchronize()
    assert [target.get()[0] for target in targets] == list(range(6))


def test_a_slot_that_is_read_beside_its_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated device knows, although it happens to make the copy first."""
    here, there = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    monkeypatch.setattr(cupy.cuda.runtime, "streamWaitEvent", lambda *_: None)
    source, target = full(7), full(0)
    with pair() as (sender, receiver):
        with here:
            sender.send(DATA, 0, 1, source)
        with there:
            target[...] = receiver.receive(DATA, 0)
        here.drain()
        with pytest.raises(RuntimeError, match="reads what another has written at the same time"):
            there.drain()


def test_a_message_is_a_view_of_its_slot_and_slots_take_turns() -> None:
    with pair() as (sender, receiver):
        places = []
        for step in range(4):
            sender.send(DATA, step, 1, full(step))
            arrived: Any = receiver.receive(DATA, step)
            places.append(arrived.data.ptr)
            assert places[-1] % 256 == 0
        assert places == 2 * places[:2]
        assert places[0] != places[1]


def test_a_message_is_written_where_it_belongs() -> None:
    with alone(), transport(0) as sender, transport(1) as receiver:
        receiver.allocate(8)
        memory = receiver.allocate(5000 * 8).view(np.float64)
        receiver.expect(DATA, 0, (NUMBERS,), np.float64, 1, memory[1000 : 1000 + NUMBERS])
        connect(sender, receiver)
        for step in range(3):
            sender.send(DATA, step, 1, full(step + 1))
            arrived: Any = receiver.receive(DATA, step)
            assert arrived.data.ptr == memory[1000:].data.ptr
            assert memory.get().sum() == NUMBERS * (step + 1)


def test_a_rank_without_a_gpu_takes_part_with_arrays_of_the_host() -> None:
    """It has a ShmTransport, and the lanes between it and those with GPUs are those of ShmTransports."""
    with alone(), transport(0, 3) as one, transport(1, 3) as two, ShmTransport(2, RUN, 3) as host:
        host.expect(HOSTS, 0, (3,), np.float32)
        two.expect(HOSTS, 2, (3,), np.float32)
        two.expect(DATA, 0, (NUMBERS,), np.float64)
        connect(one, two, host)
        one.send(HOSTS, 0, 2, np.arange(3, dtype=np.float32))
        first = host.receive(HOSTS, 0)
        assert first is not None
        host.send(HOSTS, 0, 1, first)
        second = two.receive(HOSTS, 0)
        assert isinstance(second, np.ndarray)
        assert second.tolist() == [0, 1, 2]
        one.send(DATA, 0, 1, full(3))
        assert (cupy.asnumpy(two.receive(DATA, 0)) == 3).all()
        assert (sorted(one.device_peers), sorted(host.device_peers)) == ([1], [])


def test_what_stays_between_devices_is_copied_and_what_stays_for_a_host_lies_in_a_slot() -> None:
    with alone(), transport(0, 3) as one, transport(1, 3) as two, ShmTransport(2, RUN, 3) as host:
        memory = one.allocate(NUMBERS * 8).view(np.float64)
        one.keep(DATA, 1, (NUMBERS,), np.float64, memory)
        two.expect(DATA, 0, (NUMBERS,), np.float64, 1, stays=True)
        one.keep(HOSTS, 2, (3,), np.float32, memory[:3].view(np.float32)[:3])
        host.expect(HOSTS, 0, (3,), np.float32, 1, stays=True)
        connect(one, two, host)
        memory.fill(5)
        one.send(DATA, 0, 1, memory)
        one.send(HOSTS, 0, 2, np.arange(3, dtype=np.float32))
        arrived: Any = two.receive(DATA, 0)
        memory.fill(0)
        assert (arrived.get() == 5).all()
        found = host.receive(HOSTS, 0)
        assert found is not None
        assert found.tolist() == [0, 1, 2]


def test_closing_lets_go_of_what_peers_have_opened() -> None:
    before = len(OPEN)
    with pair() as (sender, _):
        sender.send(DATA, 0, 1, full(0))
        assert len(OPEN) == before + 2
        sender.close()
        sender.close()
        assert len(OPEN) == before + 1
    assert len(OPEN) == before


def test_a_peer_without_handles_is_refused() -> None:
    with alone(), transport(0) as one, ShmTransport(1, RUN, 2) as host:
        one.bind()
        with pytest.raises(TransportError, match=r"rank 0: expected the handles of rank 1 in its address, got shm://"):
            one.connect({1: host.bind()})


def test_more_memory_than_there_is_raises() -> None:
    with alone(), transport(0) as one, pytest.raises(TransportError, match=r"out of memory; use more micro_batches"):
        one.allocate(1 << 50)


def test_memory_that_cannot_be_opened_is_an_error() -> None:
    """CUDA opens no handle in the process that made it."""
    with transport(0) as sender, transport(1) as receiver:
        receiver.expect(DATA, 0, (NUMBERS,), np.float64)
        address = receiver.bind()
        with pytest.raises(TransportError, match=r"to open device memory of rank 1, got .*; .* --transport shm"):
            sender.connect({1: address})
