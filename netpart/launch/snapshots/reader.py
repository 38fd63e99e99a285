"""SnapshotReader: reads any region of any tensor from the regions of a snapshot, as if from a checkpoint.

Regions come from this worker's own store, or from the services of others; of two holders, the second one is asked if
the first does not answer. The boxes of one holder go in requests of up to CHUNK_BYTES, several at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
import zmq
from numpy.typing import NDArray

from netpart.checkpoint.regions import RegionReader, RegionWriter
from netpart.errors import NetpartError, TransportError
from netpart.launch.control.sent_regions import split_box_by_bytes
from netpart.launch.snapshots.region_link import CHUNK_BYTES, RegionLink
from netpart.launch.snapshots.regions import (
    PARAMETERS,
    UPDATER,
    Generation,
    RegionName,
    decode_region,
    encode_region,
)
from netpart.launch.snapshots.service import RegionService
from netpart.proto.control_pb2 import RegionHeadProto, RegionMapProto
from netpart.spec import Region, Shape, extent, intersect, relative_slices, remaining_boxes, size

WINDOW = 4
"""Requests under way to one holder."""
BOXES = 256
"""Most boxes in one request."""
ANSWER_SECONDS = 10.0
"""How long a holder may take for an answer."""
PATHS = {Path(f"snapshot/{kind}"): kind for kind in (PARAMETERS, UPDATER)}
"""What stands for the files of a checkpoint where a snapshot is restored."""


class SnapshotLost(NetpartError):
    """No holder of a region answers, or no region of the snapshot has the elements."""


@dataclass(frozen=True)
class WantedBox:
    """A box that is to be copied to ``target``, and the addresses of those that have it, in the order of asking."""

    name: RegionName
    target: NDArray[Any]
    addresses: tuple[str, ...]


def encode_region_map(generation: Generation, held: Iterable[tuple[str, Iterable[RegionName]]]) -> RegionMapProto:
    """The map of a snapshot: for each region service, its address and the regions that it holds."""
    proto = RegionMapProto(team=generation.team, step=generation.step)
    entries: dict[RegionName, Any] = {}
    for number, (address, names) in enumerate(held):
        proto.address.append(address)
        for name in names:
            if name not in entries:
                entries[name] = encode_region(name, proto.region.add())
            entries[name].holder.append(number)
    return proto


class SnapshotReader:
    """Reader of the snapshot that ``regions`` describes, from the store of ``service`` and from other services.

    ``check`` is called while it waits, and may raise.
    """

    def __init__(
        self, service: RegionService, regions: RegionMapProto, check: Callable[[], None] = lambda: None,
        seconds: float = ANSWER_SECONDS,
    ) -> None:  # fmt: skip
        self.service = service
        self.generation = Generation(regions.team, regions.step)
        self.check = check
        self.seconds = seconds
        self.requests = 0
        self._places: dict[tuple[str, str], list[tuple[RegionName, tuple[str, ...]]]] = {}
        for region in regions.region:
            name = decode_region(region)
            addresses = tuple(regions.address[number] for number in region.holder)
            self._places.setdefault((name.kind, name.name), []).append((name, addresses))

    def read(self, kind: str, wanted: Sequence[tuple[str, Region, NDArray[Any]]]) -> None:
        """Fill arrays with boxes of tensors of ``kind``: (name, box, array). Raises SnapshotLost."""
        boxes = [box for name, region, out in wanted for box in self._locate(kind, name, region, out)]
        own = [each for each in boxes if self._read_own(each)]
        known = set(map(id, own))
        rest = [each for each in boxes if id(each) not in known]
        dead: set[str] = set()
        while rest:
            rest = self._fetch(rest, dead)

    def _locate(self, kind: str, name: str, box: Region, out: NDArray[Any]) -> Iterator[WantedBox]:
        """The disjoint boxes of kept regions that make up ``box``, preferring regions of this worker's own store."""
        dtype = str(out.dtype)
        rest: list[Region] = [box]
        places = self._places.get((kind, name), [])
        for region, addresses in sorted(places, key=lambda place: self.service.address not in place[1]):
            if region.dtype != dtype or len(region.box) != len(box):
                continue
            for left in rest:
                common = intersect(region.box, left)
                if common is not None:
                    wanted = RegionName(kind, name, common, dtype)
                    yield WantedBox(wanted, _part_of(out, common, box), addresses)
            rest = [each for left in rest for each in remaining_boxes(left, [region.box])]
        if any(map(size, rest)):
            raise SnapshotLost(
                f"{name} {rest[0]} of {dtype}: expected a worker that has it of {self.generation}, got none"
            )

    def _read_own(self, wanted: WantedBox) -> bool:
        """Read a box from this worker's store; False if it does not have it."""
        store = self.service.store
        with store.lock:
            found = store.find(self.generation, wanted.name)
            if found is not None:
                wanted.target[...] = found[1][relative_slices(wanted.name.box, found[0].box)]
        return found is not None

    def _fetch(self, wanted: Sequence[WantedBox], dead: set[str]) -> list[WantedBox]:
        """Fetch boxes, each from the first of its holders that is not ``dead``; return those that did not come."""
        jobs: dict[str, list[WantedBox]] = {}
        for each in wanted:
            alive = [a for a in each.addresses if a not in dead and a != self.service.address]
            if not alive:
                name = each.name
                raise SnapshotLost(
                    f"{name.name} {name.box}: expected a worker that has it of {self.generation}, got none"
                )
            jobs.setdefault(alive[0], []).append(each)
        fetches = [_Fetch(self, address, boxes) for address, boxes in jobs.items()]
        try:
            self._await(fetches)
        finally:
            for fetch in fetches:
                fetch.link.close()
                self.requests += fetch.number
        dead.update(fetch.link.address for fetch in fetches if fetch.left)
        return [box for fetch in fetches for box in fetch.left]

    def _await(self, fetches: list[_Fetch]) -> None:
        """Serve all fetches until each is complete, or its holder is silent for too long."""
        poller = zmq.Poller()
        for fetch in fetches:
            fetch.ask()
            poller.register(fetch.link.socket, zmq.POLLIN)
        while any(fetch.goes_on(monotonic()) for fetch in fetches):
            for socket, _ in poller.poll(100):
                next(fetch for fetch in fetches if fetch.link.socket is socket).hear()
            self.check()


class _Fetch:
    """The boxes that come from one service; ``left`` are those that have not come."""

    def __init__(self, reader: SnapshotReader, address: str, boxes: Sequence[WantedBox]) -> None:
        self.reader = reader
        self.link = RegionLink(reader.service.context, address, reader.service.secret)
        self.waiting = deque(_batches(boxes))
        self.asked: dict[int, list[WantedBox]] = {}
        self.number = 0
        self.heard = monotonic()
        self.refused = False

    @property
    def left(self) -> list[WantedBox]:
        """The boxes that have not come."""
        return [box for batch in (*self.asked.values(), *self.waiting) for box in batch]

    def goes_on(self, now: float) -> bool:
        """True while answers are still to be expected."""
        return bool(self.asked) and not self.refused and now < self.heard + self.reader.seconds

    def ask(self) -> None:
        """Send requests until WINDOW are under way."""
        while self.waiting and len(self.asked) < WINDOW:
            self.number += 1
            head = RegionHeadProto(verb=RegionHeadProto.GET, number=self.number)
            head.team, head.step = self.reader.generation
            self.asked[self.number] = batch = self.waiting.popleft()
            for box in batch:
                encode_region(box.name, head.box.add())
            self.link.send(head)

    def hear(self) -> None:
        """Take an answer, and ask for more. A message that is no answer changes nothing."""
        try:
            answer = self.link.receive()
        except TransportError:
            return
        if answer is None or answer[0].number not in self.asked:
            return
        head, payload = answer
        batch = self.asked[head.number]
        if head.verb != RegionHeadProto.GIVEN or len(payload) != sum(box.name.nbytes for box in batch):
            self.refused = True
            return
        del self.asked[head.number]
        self.heard = monotonic()
        at = 0
        for box in batch:
            values = np.frombuffer(payload, box.name.dtype, size(box.name.box), at)
            box.target[...] = values.reshape(extent(box.name.box))
            at += box.name.nbytes
        self.ask()


def _batches(boxes: Sequence[WantedBox]) -> Iterator[list[WantedBox]]:
    """Boxes in requests of at most CHUNK_BYTES and BOXES; larger boxes are split."""
    batch: list[WantedBox] = []
    nbytes = 0
    for box in (part for each in boxes for part in _split(each)):
        if batch and (nbytes + box.name.nbytes > CHUNK_BYTES or len(batch) == BOXES):
            yield batch
            batch, nbytes = [], 0
        batch.append(box)
        nbytes += box.name.nbytes
    if batch:
        yield batch


def _part_of(array: NDArray[Any], region: Region, box: Region) -> NDArray[Any]:
    """The part of ``array``, whose elements are those of ``box``, that ``region`` names; a view, also without axes."""
    place: Any = (*relative_slices(region, box), ...)
    part: NDArray[Any] = array[place]
    return part


def _split(box: WantedBox) -> Iterator[WantedBox]:
    """Boxes of at most CHUNK_BYTES."""
    name = box.name
    for region in split_box_by_bytes(name.box, np.dtype(name.dtype).itemsize, CHUNK_BYTES):
        yield WantedBox(name._replace(box=region), _part_of(box.target, region, name.box), box.addresses)


class Files(Protocol):
    """``CheckpointFiles`` of netpart.launch.member."""

    def join(self, path: Path, link: Any = None) -> AbstractContextManager[RegionWriter]: ...

    def open(self, path: Path) -> AbstractContextManager[RegionReader]: ...


class SnapshotFiles:
    """``files``, and the files of PATHS, which are those of the snapshot of ``reader``."""

    def __init__(self, reader: SnapshotReader, files: Files) -> None:
        self.reader = reader
        self.files = files

    def join(self, path: Path, link: Any = None) -> AbstractContextManager[RegionWriter]:
        return self.files.join(path, link)

    def open(self, path: Path) -> AbstractContextManager[RegionReader]:
        kind = PATHS.get(path)
        return self.files.open(path) if kind is None else nullcontext(SnapshotFile(self.reader, kind))


class SnapshotFile:
    """One file of a snapshot: its parameters, or its updater's state."""

    def __init__(self, reader: SnapshotReader, kind: str) -> None:
        self.reader = reader
        self.kind = kind

    def read_region(self, name: str, box: Region, out: NDArray[Any], shape: Shape | None = None) -> None:
        """Read one box. ``shape`` is not needed: a snapshot has the shapes of the net."""
        self.reader.read(self.kind, [(name, box, out)])

    def read_regions(self, wanted: Sequence[tuple[str, Region, NDArray[Any]]]) -> None:
        """Read many boxes at once, in few requests."""
        self.reader.read(self.kind, wanted)
