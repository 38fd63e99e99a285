"""KeptSnapshot: what is left of a snapshot after losses; and where a run then goes on."""

from __future__ import annotations

from pathlib import Path

from netpart.checkpoint.steps import step_file
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.kept_snapshot import HeldRegions, KeptSnapshot, keep_snapshot
from netpart.launch.coordinator.restart_point import find_restart_point
from netpart.launch.coordinator.snapshot_book import SnapshotBook
from netpart.launch.report.events import CHECKPOINT, MEMORY, START
from netpart.launch.snapshots.regions import PARAMETERS, Generation, RegionName
from netpart.proto.control_pb2 import SnapshotProto

ONE, TWO, THREE = (RegionName(PARAMETERS, name, ((0, 4),), "float64") for name in "abc")


def ring() -> KeptSnapshot:
    """Three seats, each with two of three regions."""
    held = {0: (ONE, TWO), 2: (TWO, THREE), 5: (THREE, ONE)}
    return keep_snapshot(Generation(3, 40), {s: HeldRegions(f"ipc://{s}", n) for s, n in held.items()}, (2, [1.0]))


def test_one_of_three_may_be_lost_and_not_two() -> None:
    kept = ring()
    assert kept.is_whole
    for seat in kept.held:
        assert kept.without(seat).is_whole
        assert not kept.without(seat).without(next(s for s in kept.held if s != seat)).is_whole


def test_a_seat_that_is_taken_again_holds_nothing() -> None:
    left = ring().without(2)
    assert set(left.region_map().address) == {"ipc://0", "ipc://5"}


def test_a_run_goes_on_from_the_newest_that_is_whole(tmp_path: Path) -> None:
    began = RunOptions(tmp_path, tmp_path, 1, "cpu", 5.0, 20)
    checkpoint = step_file(tmp_path, 30)
    assert find_restart_point(None, None, began).source == START
    assert find_restart_point(ring(), None, began).source == MEMORY
    assert find_restart_point(ring(), checkpoint, began).options.first_step == 40
    torn = ring().without(0).without(5)
    assert find_restart_point(torn, checkpoint, began).source == START  # the file is gone
    checkpoint.touch()
    found = find_restart_point(torn, checkpoint, began)
    assert (found.source, found.saved, found.options.first_step) == (CHECKPOINT, True, 30)
    assert found.options.restore == checkpoint


def test_sums_are_those_of_all_workers() -> None:
    book = SnapshotBook(2)
    assert book.hear(SnapshotProto(rank=1, step=10, outcome=SnapshotProto.STORED, batches=3, sum=[1.0, 2.0])) is None
    book.hear(SnapshotProto(rank=0, step=10, outcome=SnapshotProto.STORED, batches=3, sum=[0.5, 4.0]))
    assert book.committed == 10
    assert book.sums == (3, [1.5, 6.0])
