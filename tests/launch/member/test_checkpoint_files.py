"""Files over the control connection: what a worker writes and reads through its coordinator is what a file holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.safetensors_file import create_checkpoint, open_checkpoint
from netpart.errors import DataError
from netpart.launch.control.framing import pack_message, unpack_message
from netpart.launch.control.seats import VOICE, socket_identity
from netpart.launch.control.sent_regions import PIECE_BYTES, split_box_by_bytes
from netpart.launch.control.token import RunToken
from netpart.launch.coordinator.checkpoint_book import CheckpointBook
from netpart.launch.coordinator.checkpoint_relay import CheckpointRelay
from netpart.launch.member.checkpoint_files import RemoteFiles
from netpart.launch.member.control_client import ControlClient
from netpart.proto.control_pb2 import ControlProto, RegionProto
from netpart.spec import Region, extent, intersect, relative_slices, size, whole_region
from tests.worker.jobs import LENET, partition

ADDRESS, TOKEN = "inproc://files", b"t" * 16
DEADLINE_MS = 30_000


@given(shape=st.lists(st.integers(1, 20), max_size=4), limit=st.integers(1, 200), start=st.integers(0, 5))
def test_pieces_are_small_and_cover_the_box_once(shape: list[int], limit: int, start: int) -> None:
    box = tuple((start, start + n) for n in shape)
    found = list(split_box_by_bytes(box, 4, limit))
    assert all(size(piece) * 4 <= max(limit, 4) for piece in found)
    count = np.zeros(shape, int)
    for piece in found:
        count[relative_slices(piece, box)] += 1
    assert (count == 1).all()


@pytest.fixture
def book(tmp_path: Path) -> Iterator[CheckpointBook]:
    book = CheckpointBook(partition(LENET, 2), tmp_path)
    yield book
    book.abandon()


@pytest.fixture
def worker() -> Iterator[Callable[[CheckpointRelay], RemoteFiles]]:
    """Files of a worker whose coordinator is a thread that asks a relay."""
    context = zmq.Context()
    threads = list[threading.Thread]()
    controls = list[ControlClient]()
    router: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    router.bind(ADDRESS)

    def serve(relay: CheckpointRelay) -> None:
        while router.poll(DEADLINE_MS):
            name, *parts = router.recv_multipart()
            message = unpack_message(parts)
            if message.WhichOneof("message") == "stop":
                return
            write = message.WhichOneof("message") == "region_write"
            region = relay.write(message.region_write) if write else relay.read(message.region_read)
            assert name == socket_identity(TOKEN, 1, VOICE)
            router.send_multipart([name, *pack_message(ControlProto(region=region))])

    def start(relay: CheckpointRelay) -> RemoteFiles:
        controls.append(ControlClient(context, ADDRESS, 1, RunToken(TOKEN)))
        threads.append(threading.Thread(target=serve, args=(relay,)))
        threads[0].start()
        return RemoteFiles(controls[0])

    yield start
    controls[0].send(ControlProto(stop=True))
    threads[0].join(DEADLINE_MS / 1000)
    controls[0].close()
    router.close(0)
    context.term()


def test_a_box_goes_there_and_comes_back(
    tmp_path: Path, book: CheckpointBook, worker: Callable[[CheckpointRelay], RemoteFiles]
) -> None:
    """In more than one piece; what lies around it is not touched."""
    path, shape = tmp_path / "step.safetensors", (700, 900)
    book.files[path] = [create_checkpoint(path, {"w": ("F32", shape), "b": ("F32", ())})]
    box: Region = ((100, 700), (0, 800))
    values = np.random.default_rng(1).random(extent(box), np.float32)
    assert values.nbytes > PIECE_BYTES
    files = worker(CheckpointRelay(book, {str(path)}))
    with files.join(path) as file:
        file.write_region("w", box, values, shape)
        file.write_region("b", (), np.array(7, np.float32))
    book.files.pop(path)[0].finish()
    expected = np.zeros(shape, np.float32)
    expected[relative_slices(box, whole_region(shape))] = values
    found = np.empty(shape, np.float32)
    with open_checkpoint(path) as saved:
        saved.read_region("w", whole_region(shape), found)
    assert np.array_equal(found, expected)
    part: Region = ((650, 700), (700, 900))
    back, number = np.empty(extent(part), np.float64), np.empty((), np.float32)
    with files.open(path) as remote:
        remote.read_region("w", part, back, shape)
        remote.read_region("b", (), number)
    assert intersect(part, box)
    assert np.array_equal(back, expected[relative_slices(part, whole_region(shape))])
    assert number == 7


def test_no_other_file_is_reached(tmp_path: Path, book: CheckpointBook) -> None:
    relay, other = CheckpointRelay(book, set()), tmp_path / "other.safetensors"
    create_checkpoint(other, {"w": ("F32", (2,))}).finish()
    asked: dict[str, Any] = {"path": str(other), "name": "w", "low": [0], "high": [2], "dtype": "float32"}
    with pytest.raises(DataError, match="expected to read the checkpoint that this run starts from, got"):
        relay.read(RegionProto(**asked))
    with pytest.raises(DataError, match="expected to write to a checkpoint that is open, got"):
        relay.write(RegionProto(**asked, data=b"\0" * 8))
