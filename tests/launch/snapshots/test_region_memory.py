"""The memory of snapshots: what a process takes of it, and gives back, is what is forecast."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from netpart.launch.snapshots.region_memory import lay_out_regions, map_memory
from netpart.launch.snapshots.regions import PARAMETERS, Generation, RegionName
from netpart.launch.snapshots.store import GENERATIONS, SnapshotStore

PAGE_ERROR = 0.02


def regions(count: int, floats: int) -> list[RegionName]:
    """So many regions, each of about so many elements."""
    return [RegionName(PARAMETERS, f"p{n}", ((0, floats + n % 7),), "float64") for n in range(count)]


def resident() -> int:
    """Bytes of this process that no file has."""
    status = Path("/proc/self/status").read_text()
    return sum(1024 * int(kilobytes) for kilobytes in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.M))


def test_a_process_takes_what_the_store_counts_and_gives_it_back() -> None:
    """Many small regions, of which a heap would keep holes and ends; then few large ones, by another team."""
    store = SnapshotStore()
    for names in (regions(2000, 500), regions(3, 1_500_000), []):
        before, had = resident(), store.nbytes
        store.prepare(names)
        assert store.nbytes == GENERATIONS * sum(name.nbytes for name in names)
        assert abs((resident() - before) - (store.nbytes - had)) <= PAGE_ERROR * max(store.nbytes, had)


def test_an_earlier_snapshot_is_kept_beside_two_of_the_next_team() -> None:
    store, old, new = SnapshotStore(), regions(3, 10), regions(4, 20)
    sizes = [sum(name.nbytes for name in names) for names in (old, new)]
    store.prepare(old)
    store.begin(Generation(0, 10))
    for name in old:
        store.write(Generation(0, 10), name, np.ones(name.nbytes // 8))
    store.commit(Generation(0, 10))
    store.adopt(Generation(0, 10))
    store.prepare(new)
    assert store.nbytes == sizes[0] + GENERATIONS * sizes[1]
    store.begin(Generation(1, 10))
    for name in new:
        store.write(Generation(1, 10), name, np.ones(name.nbytes // 8))
    store.commit(Generation(1, 10))
    assert store.nbytes == GENERATIONS * sizes[1]


def test_the_same_regions_take_no_more_memory_in_the_next_team() -> None:
    store, names = SnapshotStore(), regions(3, 10)
    for team in range(3):
        store.prepare(names)
        for step in (10, 20, 30):
            store.begin(Generation(team, step))
            for name in names:
                store.write(Generation(team, step), name, np.full(name.nbytes // 8, step, float))
            store.commit(Generation(team, step))
        store.adopt(Generation(team, 30))
        assert store.nbytes == GENERATIONS * sum(name.nbytes for name in names)


def test_regions_lie_one_after_another() -> None:
    names = regions(5, 8)
    memory = map_memory(sum(name.nbytes for name in names))
    for number, region in enumerate(lay_out_regions(memory, names).values()):
        region.memory.fill(number)
    assert memory.tolist() == [number for number, name in enumerate(names) for _ in range(name.nbytes)]
