"""The region service: puts arrive whole, and what is forged, stale or garbled changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from time import monotonic
from typing import Any

import numpy as np
import pytest
import zmq

from netpart.choices import AES_GCM, CURVE
from netpart.launch.snapshots import outgoing, service
from netpart.launch.snapshots.reader import SnapshotReader, encode_region_map
from netpart.launch.snapshots.region_link import RegionLink
from netpart.launch.snapshots.region_secret import RegionSecret
from netpart.launch.snapshots.regions import PARAMETERS, Generation, RegionName, encode_region
from netpart.launch.snapshots.service import RegionService, SentSnapshot
from netpart.launch.snapshots.store import SnapshotStore
from netpart.proto.control_pb2 import RegionHeadProto
from tests.launch.snapshots.teams import SECRET, services_of
from tests.thorough import example_count

STEP, NEXT = Generation(3, 10), Generation(3, 20)
NAMES = [
    RegionName(PARAMETERS, "w", ((0, 700), (0, 600)), "float64"),
    RegionName(PARAMETERS, "b", ((3, 9),), "float64"),
    RegionName(PARAMETERS, "scalar", (), "float64"),
]
SECONDS = 20.0
LINKS = {
    "plain": SECRET,
    AES_GCM: RegionSecret(SECRET.secret, AES_GCM, True),
    CURVE: RegionSecret(SECRET.secret, CURVE, True),
}


def begin(sender: RegionService, receiver: RegionService, generation: Generation = STEP) -> None:
    """Let ``sender``, rank 0, have a whole snapshot, which ``receiver`` is ready to take."""
    if generation == STEP:
        for each in (sender, receiver):
            each.store.prepare(NAMES)
            each.enter(STEP.team, {0: NAMES})
    sender.store.begin(generation)
    for number, name in enumerate(NAMES):
        shape = [hi - lo for lo, hi in name.box]
        values = np.random.default_rng(generation.step + number).standard_normal(shape)
        sender.store.write(generation, name, np.asarray(values))


def await_sent(sender: RegionService) -> SentSnapshot:
    """What became of the snapshot that ``sender`` is sending."""
    end = monotonic() + SECONDS
    while (sent := sender.sent()) is None:
        assert monotonic() < end
        os.sched_yield()
    return sent


def contents(store: SnapshotStore) -> dict[Generation, list[bytes]]:
    """All that a store has, as bytes."""
    return {g: [a.tobytes() for a in store.whole_regions(g).values()] for g in store.generations()}


@pytest.mark.parametrize("link", LINKS)
def test_a_snapshot_arrives_whole(link: str) -> None:
    with services_of(2, LINKS[link], "tcp://127.0.0.1:*") as (sender, receiver):
        begin(sender, receiver)
        sender.send(receiver.address, STEP, NAMES, 0)
        assert await_sent(sender) == SentSnapshot(STEP, "")
        assert contents(receiver.store) == contents(sender.store)
        assert receiver.store.generations() == {STEP: True}


@pytest.mark.parametrize("link", LINKS)
def test_boxes_of_it_are_read_from_afar(link: str) -> None:
    with services_of(2, LINKS[link], "tcp://127.0.0.1:*") as (holder, own):
        begin(holder, own)
        regions = encode_region_map(STEP, [(holder.address, NAMES)])
        box = ((100, 650), (17, 599))
        found = np.empty((550, 582))
        reader = SnapshotReader(own, regions)
        reader.read(PARAMETERS, [("w", box, found), ("scalar", (), scalar := np.empty(()))])
        whole = holder.store.whole_regions(STEP)
        assert np.array_equal(found, whole[NAMES[0]][100:650, 17:599])
        assert scalar == whole[NAMES[2]]
        assert reader.requests <= 5, "many boxes go in few requests"


def test_a_buddy_that_begins_the_team_later_gets_it_all() -> None:
    """The first snapshot of a team may come before its buddy has heard that the team begins."""
    with services_of(2) as (sender, receiver):
        begin(sender, receiver)
        later = Generation(STEP.team + 1, STEP.step)
        sender.enter(later.team, {})
        sender.store.adopt(None)
        begin(sender, receiver, later)
        sender.send(receiver.address, later, NAMES, 0)
        end = monotonic() + 10 * outgoing.LATER_SECONDS
        while monotonic() < end:
            assert sender.sent() is None
        assert receiver.store.generations() == {}
        receiver.enter(later.team, {0: NAMES})
        assert await_sent(sender) == SentSnapshot(later, "")
        assert contents(receiver.store) == contents(sender.store)


def test_memory_stays_within_two_generations() -> None:
    with services_of(2) as (sender, receiver):
        for step in range(10, 100, 10):
            generation = Generation(3, step)
            begin(sender, receiver, generation)
            sender.send(receiver.address, generation, NAMES, 0)
            assert not await_sent(sender).failed
            for each in (sender, receiver):
                each.store.commit(generation)
                assert each.store.nbytes == 2 * sum(name.nbytes for name in NAMES)
        assert list(receiver.store.generations()) == [Generation(3, 90)]


def test_a_peer_that_heard_of_the_commit_first_may_go_on() -> None:
    """The commit reaches workers at different moments: the next snapshot tells a buddy that has not heard of it."""
    with services_of(2) as (sender, receiver):
        begin(sender, receiver)
        sender.send(receiver.address, STEP, NAMES, 0)
        await_sent(sender)
        sender.store.commit(STEP)
        begin(sender, receiver, NEXT)
        sender.send(receiver.address, NEXT, NAMES, 0)
        assert not await_sent(sender).failed
        assert receiver.store.committed == STEP
        assert receiver.store.generations() == {STEP: True, NEXT: True}


def put(**fields: Any) -> RegionHeadProto:
    """A put that is right but for ``fields``."""
    head = RegionHeadProto(verb=RegionHeadProto.PUT, number=1, sender=0, team=3, step=20)
    head.bytes.add(region=1, start=0, count=48)
    head.MergeFrom(RegionHeadProto(**fields))
    return head


def ranges(*rows: tuple[int, int, int]) -> RegionHeadProto:
    """A put of other ranges: (region, start, count)."""
    head = put()
    del head.bytes[:]
    for region, start, count in rows:
        head.bytes.add(region=region, start=start, count=count)
    return head


def ask(generation: Generation, name: RegionName) -> RegionHeadProto:
    """A request for one box."""
    head = RegionHeadProto(verb=RegionHeadProto.GET, number=1, team=generation.team, step=generation.step)
    encode_region(name, head.box.add())
    return head


WRONG: dict[str, tuple[RegionHeadProto, bytes]] = {
    "another team": (put(team=2), bytes(48)),
    "a later team": (put(team=4), bytes(48)),
    "an old step": (put(step=10), bytes(48)),
    "an older step": (put(step=0), bytes(48)),
    "a sender that sends nothing": (put(sender=1), bytes(48)),
    "bytes that are not the next": (ranges((1, 8, 40)), bytes(40)),
    "more than the region has": (ranges((1, 0, 56)), bytes(56)),
    "fewer bytes than it says": (ranges((1, 0, 48)), bytes(40)),
    "a region that is not announced": (ranges((7, 0, 48)), bytes(48)),
    "a region before the first": (ranges((-2, 0, 48)), bytes(48)),
    "a right range and a wrong one": (ranges((1, 0, 48), (1, 0, 48)), bytes(96)),
    "a number beyond all": (ranges((1, 2**63, 48)), bytes(48)),
    "no request": (RegionHeadProto(verb=RegionHeadProto.TAKEN, number=1), b""),
    "a box of no snapshot": (ask(Generation(3, 30), NAMES[1]), b""),
    "a box beyond the region": (ask(STEP, NAMES[1]._replace(box=((0, 9),))), b""),
    "a box of another rank": (ask(STEP, NAMES[1]._replace(box=((3, 9), (0, 1)))), b""),
    "a box of objects": (ask(STEP, NAMES[1]._replace(dtype="object")), b""),
    "an empty box": (ask(STEP, NAMES[1]._replace(box=((3, 3),))), b""),
    "more than one message holds": (ask(STEP, NAMES[0]), b""),
}


@pytest.fixture(name="kept", scope="module")
def kept_service() -> Iterator[tuple[RegionService, RegionLink]]:
    """A service with a committed snapshot, and a link of someone who knows the secret."""
    with services_of(2) as (sender, receiver):
        begin(sender, receiver)
        sender.send(receiver.address, STEP, NAMES, 0)
        await_sent(sender)
        receiver.store.commit(STEP)
        link = RegionLink(sender.context, receiver.address, SECRET)
        yield receiver, link
        link.close()


def answered(link: RegionLink, send: Callable[[], object]) -> RegionHeadProto:
    """The answer to what ``send`` sends."""
    send()
    assert link.socket.poll(int(1000 * SECONDS))
    answer = link.receive()
    assert answer is not None
    return answer[0]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_forged_or_stale_changes_nothing(wrong: str, kept: tuple[RegionService, RegionLink]) -> None:
    receiver, link = kept
    before = contents(receiver.store)
    head, payload = WRONG[wrong]
    answer = answered(link, lambda: link.send(head, payload))
    later = wrong == "a later team"  # that one is asked to send it again: this worker may hear of the team soon
    assert answer.verb == (RegionHeadProto.LATER if later else RegionHeadProto.REFUSED)
    assert bool(answer.reason) != later
    assert contents(receiver.store) == before
    assert receiver.store.committed == STEP


def test_any_bytes_are_answered_or_refused(kept: tuple[RegionService, RegionLink]) -> None:
    """Garbled heads, and numbers of frames that no message has."""
    receiver, link = kept
    before = contents(receiver.store)
    random = Random(5)
    for _ in range(example_count(400)):
        head = bytearray(put().SerializeToString())
        for _ in range(random.randrange(1, 6)):
            head[random.randrange(len(head))] = random.randrange(256)
        parts = [b"", bytes(head), random.randbytes(48), b"more"][: random.choice([1, 2, 3, 3, 3, 4])]
        answered(link, partial(link.socket.send_multipart, parts))
        receiver.store.drop(NEXT)
        assert contents(receiver.store)[STEP] == before[STEP]
        for other in set(receiver.store.generations()) - {STEP}:
            receiver.store.drop(other)
    assert receiver.store.committed == STEP


def test_a_flipped_bit_or_a_replay_is_refused_on_sealed_links() -> None:
    with services_of(2, LINKS[AES_GCM], "tcp://127.0.0.1:*") as (sender, receiver):
        begin(sender, receiver)
        link = RegionLink(sender.context, receiver.address, LINKS[AES_GCM])
        head = ranges((0, 0, 8))
        head.step = STEP.step
        assert link._sealer is not None
        sealed = link._sealer.seal(head.SerializeToString(), b"8 bytes.")
        for place in range(3):
            for at in range(len(sealed[place])):
                forged = [bytearray(part) for part in sealed]
                forged[place][at] ^= 1
                refused = answered(link, partial(link.socket.send_multipart, forged))
                assert refused.verb == RegionHeadProto.REFUSED
                assert receiver.store.generations() == {}
        assert answered(link, lambda: link.socket.send_multipart(sealed)).verb == RegionHeadProto.TAKEN
        assert answered(link, lambda: link.socket.send_multipart(sealed)).verb == RegionHeadProto.REFUSED
        link.close()


@pytest.mark.parametrize("link", LINKS)
def test_who_does_not_know_the_secret_is_not_heard(link: str) -> None:
    other = LINKS[link]
    stranger = RegionSecret(bytes(32), other.cipher, other.everywhere)
    with services_of(2, other, "tcp://127.0.0.1:*") as (sender, receiver):
        begin(sender, receiver)
        strange = RegionLink(sender.context, receiver.address, stranger)
        strange.send(ask(STEP, NAMES[1]))
        assert not strange.socket.poll(300)
        assert receiver.refused == 0
        strange.close()


def test_a_frame_that_is_too_large_ends_the_connection(kept: tuple[RegionService, RegionLink]) -> None:
    receiver, _ = kept
    before = contents(receiver.store)
    with zmq.Context() as context:
        link = RegionLink(context, receiver.address, SECRET)
        link.socket.send_multipart([b"", put().SerializeToString(), bytes(3 << 20)])
        assert not link.socket.poll(300)
        link.close()
    assert contents(receiver.store) == before


CHILD = """
import sys
from netpart.launch.snapshots.service import RegionService
from netpart.launch.snapshots.store import SnapshotStore
from tests.launch.snapshots.teams import SECRET
from tests.launch.snapshots.test_service import NAMES, STEP
service = RegionService(SnapshotStore(), SECRET)
service.store.prepare(NAMES)
service.enter(STEP.team, {0: NAMES})
print(service.bind(), flush=True)
sys.stdin.read()
"""


def test_a_buddy_that_is_killed_is_reported_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """kill -9 in the middle of a put; then the same snapshot goes to another buddy."""
    monkeypatch.setattr(service, "SEND_SECONDS", 1.0)
    monkeypatch.setattr(outgoing, "CHUNK_BYTES", 1 << 14)
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        with services_of(2) as (sender, other):
            begin(sender, other)
            sender.send(address, STEP, NAMES, 0)
            child.send_signal(signal.SIGKILL)
            child.wait(SECONDS)
            began = monotonic()
            sent = await_sent(sender)
            assert "has not confirmed step 10 in time" in sent.failed
            assert monotonic() - began < 5
            sender.send(other.address, STEP, NAMES, 0)
            assert await_sent(sender) == SentSnapshot(STEP, "")
            assert contents(other.store) == contents(sender.store)
    finally:
        child.kill()
        child.communicate()


def test_of_two_holders_the_one_that_is_alive_answers() -> None:
    with services_of(3) as (holder, own, gone):
        begin(holder, own)
        regions = encode_region_map(STEP, [(gone.address, NAMES), (holder.address, NAMES)])
        found = np.empty((700, 600))
        SnapshotReader(own, regions, seconds=1.0).read(PARAMETERS, [("w", NAMES[0].box, found)])
        assert np.array_equal(found, holder.store.whole_regions(STEP)[NAMES[0]])
