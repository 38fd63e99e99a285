"""ServerPlayer: a server takes the gradients of a group as they arrive, updates its parameters, and answers with the
values.

    push of group g ──▶ update (version v becomes v + 1) ──▶ wait, if g must ──▶ values for g

A group computes its next gradient on the values of the answer. The number of updates that the server has made since
then is the staleness of that gradient. Groups meet where something is saved or tested. No step after such a point
begins before all earlier ones are complete, so a checkpoint of step c has exactly the updates of the steps below c.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from netpart.program.server import UPDATE, pull_phase, push_phase
from netpart.worker.player import Player
from netpart.worker.wait_reasons import WaitReason

if TYPE_CHECKING:
    from netpart.proto.cluster import Cluster


class AppliedUpdate(NamedTuple):
    """One update: the gradient of ``step`` by ``group``, computed on version ``read``, applied to ``version``.

    If groups average their parameters: ``group`` has brought in an average that began after its first ``read`` steps,
    when it had done ``version`` steps.
    """

    group: int
    step: int
    read: int
    version: int

    @property
    def staleness(self) -> int:
        """Number of updates made in between."""
        return self.version - self.read


class VersionKeeper(Protocol):
    """What a server does with the versions of its parameters, beside serving them."""

    def reached(self, version: int) -> None:
        """Take a version at once, before any group has it."""

    def is_judged(self, version: int) -> bool:
        """True if all groups wait after ``version`` for a verdict."""

    def answered(self, version: int) -> bool:
        """Take a version that has been sent to every group that may go on; return whether the run stops there."""


@dataclass
class ServedGroup:
    """A group as its server sees it: the steps that it pushes, how many it has done, the version on which it computes.

    ``taking`` is its push while that arrives. ``owed`` is True while it waits for values.
    """

    group: int
    steps: Sequence[int]
    read: int
    done: int = 0
    owed: bool = False
    taking: Iterator[WaitReason] | None = None

    @property
    def step(self) -> int | None:
        """The step that it pushes next; None if it has pushed its last."""
        return self.steps[self.done] if self.done < len(self.steps) else None


class ServerPlayer:
    """Player of a server for the steps from ``first`` to before ``end``.

    ``meetings`` are the steps at which groups meet, ascending, including ``end``. ``applied`` is called with every
    update, ``keeper`` with every version, including ``first``.
    """

    def __init__(
        self, player: Player, cluster: Cluster, first: int, end: int, meetings: Sequence[int],
        applied: Callable[[AppliedUpdate], None], keeper: VersionKeeper,
    ) -> None:  # fmt: skip
        self.player = player
        self.cluster = cluster
        self.version = first
        self.end = end
        self.meetings = meetings
        self.applied = applied
        self.keeper = keeper
        self.stopped = False
        groups = range(cluster.groups)
        self.clients = [ServedGroup(g, cluster.steps(g, first, end), first) for g in groups]
        self.first_channels = [
            [action.channel for _, action in player.bound[push_phase(g)].turns[0][:1]] for g in groups
        ]

    def play(self) -> Iterator[WaitReason]:
        """Serve until every step is received and answered; yield what it waits for."""
        self.keeper.reached(self.version)
        self.stopped = self.keeper.answered(self.version)
        while not self.stopped and any(client.owed or client.step is not None for client in self.clients):
            waiting: WaitReason | None = None
            for client in self.listened():
                waiting = yield from self.take(client)
                if waiting is None:
                    # Moved to the end, so that a fast group cannot starve the others.
                    self.clients.append(self.clients.pop(self.clients.index(client)))
                    break
            if waiting is not None:
                yield waiting

    def listened(self) -> list[ServedGroup]:
        """The groups whose push may be taken now."""
        asked = [client for client in self.clients if not client.owed and client.step is not None]
        return [client for client in asked if client.step == self.version] if self.cluster.in_turns else asked

    def take(self, client: ServedGroup) -> Generator[WaitReason, None, WaitReason | None]:
        """Take the next push of a group, whole. Return what it waits for if no part of the push has arrived."""
        step = client.step
        assert step is not None
        client.taking = client.taking or self.player.play(push_phase(client.group), step)
        first = self.first_channels[client.group]
        for waiting in client.taking:
            # No part has arrived, so another group may be served first. Once the first message is in, the push must be
            # completed: all groups share the gradient buffers.
            if waiting.channel in first:
                return waiting
            yield waiting
        client.taking = None
        client.owed = True
        client.done = client.done + 1
        yield from self.update(client, step)
        return None

    def update(self, client: ServedGroup, step: int) -> Iterator[WaitReason]:
        """Apply what a group has pushed, at the learning rate of its step, and answer every group that may continue."""
        yield from self.player.play(UPDATE, step)
        self.applied(AppliedUpdate(client.group, step, client.read, self.version))
        self.version += 1
        self.keeper.reached(self.version)
        for other in self.clients:
            if other.owed and self.may_go_on(other):
                yield from self.player.play(pull_phase(other.group), self.version)
                other.owed = False
                other.read = self.version
        self.stopped = self.keeper.answered(self.version)

    def may_go_on(self, client: ServedGroup) -> bool:
        """True if the updates and the other groups are far enough for a group's next step."""
        at = bisect_right(self.meetings, self.end if client.step is None else client.step)
        if at and self.version < self.meetings[at - 1]:
            return False
        if self.keeper.is_judged(self.version):
            return True  # the other groups wait for a verdict, which needs the values of this version
        bound = self.cluster.staleness
        return bound is None or client.done - min(c.done for c in self.clients) <= bound
