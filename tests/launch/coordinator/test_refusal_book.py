"""What a run says about frames that its workers dropped."""

from __future__ import annotations

from netpart.launch.coordinator.refusal_book import RefusalBook
from netpart.proto.cluster import Cluster
from netpart.proto.control_pb2 import RefusedProto


def test_both_sides_are_named_and_a_flood_gives_few_lines() -> None:
    said = list[str]()
    book = RefusalBook(Cluster(3), said.append)
    for count in range(1, 1000):
        book.note(1, [RefusedProto(peer=0, count=count, reason="no tag")])
    book.note(1, [RefusedProto(peer=0, count=999, reason="no tag"), RefusedProto(count=2, reason="a\nb")], last=True)
    book.note(1, [RefusedProto(peer=0, count=999, reason="no tag")], last=True)
    assert said[0] == "worker 1 dropped 1 frame in the name of worker 0; the latest: no tag"
    assert said[-2] == "worker 1 dropped 999 frames in the name of worker 0; the latest: no tag"
    assert said[-1].startswith("worker 1 dropped 2 frames; the latest: ")
    assert "\n" not in said[-1]
    assert len(said) == 12


def test_ranks_that_do_not_exist_are_not_noted() -> None:
    said = list[str]()
    book = RefusalBook(Cluster(3), said.append)
    book.note(1, [RefusedProto(peer=3, count=1), RefusedProto(peer=-2, count=1)])
    assert not said
