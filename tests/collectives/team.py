"""A team plays a collective in one thread; values to bring, and to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from netpart.collectives import collective_schedule, count_blocks
from netpart.collectives.network import HostPath
from netpart.worker.collective_progress import CollectiveProgress, OutgoingMessage

Blocks = list[np.ndarray | None]


class Team:
    """The members of one collective in one thread; each takes a message whenever one is there, in any order."""

    def __init__(
        self, kind: str, algorithm: str, n: int, sizes: list[int], local: list[Blocks], paths: tuple[HostPath, ...] = ()
    ) -> None:
        self.schedule = collective_schedule(kind, algorithm, n, paths)
        count = count_blocks(kind, algorithm, n)
        sizes = sizes[:count]
        self.target: list[Blocks] = [[np.full(s, np.nan) for s in sizes] for _ in range(n)]
        self.members = [
            CollectiveProgress(self.schedule, i, sizes, local[i], self.target[i], np.empty(sum(sizes)))
            for i in range(n)
        ]
        self.posted: dict[int, np.ndarray] = {}
        self.sent: Counter[int] = Counter()
        self.staying: frozenset[int] = frozenset()

    def in_place(self, sizes: list[int], local: list[Blocks], staying: frozenset[int]) -> None:
        """Members sum up where they have their own, and messages ``staying`` are not copied."""
        packs = (np.empty(sum(sizes)) for _ in local)
        self.members = [
            CollectiveProgress(self.schedule, i, sizes, own, own, pack)
            for i, (own, pack) in enumerate(zip(local, packs, strict=True))
        ]
        self.target, self.staying = local, staying

    def play(self, seed: int) -> list[Blocks]:
        random = np.random.default_rng(seed)
        for i, member in enumerate(self.members):
            self.post(i, member.start())
        while waiting := [i for i, m in enumerate(self.members) if not m.done]:
            able = [i for i in waiting if self.arrived(i)]
            assert able, f"nobody can go on: {self.members}"
            self.take(int(random.choice(able)))
        assert not self.posted
        return self.target

    def arrived(self, i: int) -> bool:
        """Member i can go on."""
        expected = self.members[i].expects()
        return expected is not None and expected[1] in self.posted

    def take(self, i: int) -> None:
        """Member i takes the message that has arrived."""
        expected = self.members[i].expects()
        assert expected is not None
        assert self.schedule[expected[1]].source == expected[0]
        self.post(i, self.members[i].deliver(self.posted.pop(expected[1])))

    def post(self, source: int, sends: Iterable[OutgoingMessage]) -> None:
        for target, index, array in sends:
            assert self.schedule[index][:2] == (source, target)
            assert index not in self.posted
            self.posted[index] = array if index in self.staying else array.copy()
            self.sent[source] += array.size


def bring(n: int, sizes: list[int], has: Callable[[int, int], bool], seed: int) -> list[Blocks]:
    """Whole numbers, so that sums are exact in any order; ``has(i, b)``: member i brings block b."""
    random = np.random.default_rng(seed)
    return [
        [random.integers(-99, 99, s).astype(float) if has(i, b) else None for b, s in enumerate(sizes)]
        for i in range(n)
    ]


def there(block: np.ndarray | None) -> np.ndarray:
    assert block is not None
    return block


def total(local: list[Blocks], b: int) -> np.ndarray:
    """What all members bring of block b."""
    found: np.ndarray = np.add.reduce([there(blocks[b]) for blocks in local])
    return found


def same(found: np.ndarray | None, expected: np.ndarray | None) -> bool:
    return found is not None and expected is not None and np.array_equal(found, expected)
