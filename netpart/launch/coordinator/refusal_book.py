"""RefusalBook: the frames that workers received and dropped, and when that is reported to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from netpart.launch.control.framing import REFUSAL, printable_text
from netpart.proto.cluster import Cluster
from netpart.proto.control_pb2 import RefusedProto
from netpart.units import plural_text


class RefusalBook:
    """The dropped frames of each worker by the worker that they claim to be from; ``say`` receives notices.

    A notice comes with the first frame, and when their number has doubled since: a flood gives few lines.
    """

    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.say = say
        self.said: dict[tuple[int, int], int] = {}

    def note(self, rank: int, refused: Iterable[RefusedProto], last: bool = False) -> None:
        """Note what worker ``rank`` has dropped so far; the ``last`` time with all notices that are still due."""
        for row in refused:
            if not -1 <= row.peer < self.cluster.size:
                continue
            key = rank, row.peer
            before = self.said.get(key, 0)
            if row.count >= max(1, 2 * before) or (last and row.count > before):
                self.said[key] = row.count
                self.say(self._notice(rank, row))

    def _notice(self, rank: int, row: RefusedProto) -> str:
        """Which worker dropped how many frames, of whom, and why."""
        claimed = f" in the name of {self.cluster.name(row.peer)}" if row.peer >= 0 else ""
        frames = plural_text(row.count, "frame")
        return f"{self.cluster.name(rank)} dropped {frames}{claimed}; the latest: {printable_text(row.reason, REFUSAL)}"
