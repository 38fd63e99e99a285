"""Rehearse: plays the communication of all workers against each other before the run, on counters instead of tensors.

Each worker keeps its order, as the Player does. A receive waits for its message. A wait for a collective ends once all
members have started it (match.py says why): who has started one takes it on between its instructions and whatever else
it waits for. (Who needs only some of the members could leave earlier; here it stays.) Step s begins when everyone this
worker sends to has finished step s - AHEAD, so that no channel holds more than AHEAD messages. A send waits for
nothing: if it waited for its receiver most plans would stop, as two workers that swap tensors both send first.
AHEAD + 1 steps are played, the fewest in which the end of one step lets another begin.

Who is played first makes no difference. Nothing that a worker can do is ever taken from it by what another one does,
so if one order of turns ends with all done, every order does: a cycle that is there is found.

The phases are rehearsed one by one. All workers play the same steps in the same order and a message never leaves its
step, so only the earlier steps of a phase can hold up a later one, and never the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from netpart.errors import ProgramRefused
from netpart.program.instructions import Channel
from netpart.program.messages.communication import Communication, MessageVerb, Phases
from netpart.program.messages.pair_messages import describe_channel, pairing_faults, started_collectives
from netpart.program.messages.wire_memory import AHEAD

SHOWN = 5
"""Mismatches that are told; the others are counted."""
REPORT = "this is a fault of netpart, not of the job: please report it with the job"


class CounterAction(NamedTuple):
    """Counts an event ``key``, or, if ``wanted``, waits until it has been counted ``wanted`` times per step that is
    not among the last ``lag``. An event is a message or a member's start of a collective (its channel), or that a
    worker has finished a step (its rank)."""

    key: Channel | int
    wanted: int
    lag: int
    text: str | Communication


def check_deadlocks(workers: Sequence[Phases], together: bool = False) -> None:
    """Plays what all workers say and hear, phase by phase; ``together``: who starts a collective goes on when all its
    members have, as streams of GPUs do in NCCL.

    Raises ProgramRefused for a message without its other end, and for workers that would wait for each other for ever.
    """
    for phase in dict.fromkeys(phase for each in workers for phase in each):
        spoken = [each.get(phase, []) for each in workers]
        found = pairing_faults(spoken)
        mistakes = list(islice(found, SHOWN))
        if mistakes:
            more = sum(1 for _ in found)
            lines = [*mistakes, f"and {more} more"] if more else mistakes
            raise ProgramRefused("\n  ".join([f"{phase}: the workers' Programs do not fit together; {REPORT}", *lines]))
        DeadlockCheck(spoken, together=together).play(phase)


class DeadlockCheck:
    """All workers of one phase: where each is, what has been counted, and who sleeps until something is."""

    def __init__(
        self, spoken: Sequence[list[Communication]], steps: int = AHEAD + 1, together: bool = False
    ) -> None:  # fmt: skip
        self.together = together
        self.steps = steps + max((c.lag for each in spoken for c in each), default=0)
        self.members = {channel: [w for w, _ in found] for channel, found in started_collectives(spoken).items()}
        self.acts = [list(self.acts_of(worker, found)) for worker, found in enumerate(spoken)]
        self.step = [0] * len(spoken)
        self.at = [0] * len(spoken)
        self.counts = Counter[Channel | int]()
        self.sleepers: dict[Channel | int, list[int]] = {}

    def acts_of(self, worker: int, spoken: list[Communication]) -> Iterator[CounterAction]:
        """One step of a worker."""
        sent = {c.peer for c in spoken if c.verb == MessageVerb.SEND}
        sent |= {leg.peer for c in spoken for leg in c.legs if leg.sent}
        yield from (CounterAction(reader, 1, AHEAD, "the start of the step") for reader in sorted(sent))
        for c in spoken:
            if c.verb == MessageVerb.RECEIVE:
                yield CounterAction(c.channel, 1, c.lag, c)
                continue
            if c.verb != MessageVerb.WAIT:
                yield CounterAction(c.channel, 0, 0, c)
            if c.verb == MessageVerb.WAIT or (c.verb == MessageVerb.START and self.together):
                yield CounterAction(c.channel, len(self.members[c.channel]), 0, c)
        yield CounterAction(worker, 0, 0, "the end of the step")

    def play(self, phase: str) -> None:
        """Plays until all are done; raises ProgramRefused if no worker can go on."""
        ready = list(range(len(self.acts)))
        while ready:
            ready += self.advance(ready.pop())
        if any(step < self.steps for step in self.step):
            raise ProgramRefused(f"{phase}: {self.cycle()}" + ("" if self.together else f"\n{REPORT}"))

    def advance(self, worker: int) -> list[int]:
        """Lets a worker go as far as it can; returns whom that wakes."""
        woken: list[int] = []
        while self.step[worker] < self.steps:
            act = self.acts[worker][self.at[worker]]
            if not act.wanted:
                self.counts[act.key] += 1
                woken += self.sleepers.pop(act.key, ())
            elif self.counts[act.key] < act.wanted * (self.step[worker] + 1 - act.lag):
                self.sleepers.setdefault(act.key, []).append(worker)
                break
            self.at[worker] += 1
            if self.at[worker] == len(self.acts[worker]):
                self.step[worker] = self.step[worker] + 1
                self.at[worker] = 0
        return woken

    def cycle(self) -> str:
        """A ring of workers of which each waits for the next, one line each."""
        path = [next(w for w, step in enumerate(self.step) if step < self.steps)]
        while (following := self.awaited(path[-1])[0]) not in path:
            path.append(following)
        ring = path[path.index(following) :]
        first = ring.index(min(ring))
        who = "a worker waits for itself" if len(ring) == 1 else f"{len(ring)} workers wait for each other in a ring"
        return "\n  ".join([f"{who}:", *(self.line(w) for w in ring[first:] + ring[:first])])

    def line(self, worker: int) -> str:
        """What a worker that is stuck waits for."""
        act = self.acts[worker][self.at[worker]]
        (other, missing) = self.awaited(worker)
        where = f" ({describe_channel(act.text.channel)})" if isinstance(act.text, Communication) else ""
        return f"worker {worker} stands at {act.text}{where} until worker {other} comes to {missing.text}"

    def awaited(self, worker: int) -> tuple[int, CounterAction]:
        """The first worker that has not done what ``worker`` waits for, and what that is."""
        act = self.acts[worker][self.at[worker]]
        due = self.step[worker] - act.lag
        return next(
            (other, each)
            for other, acts in enumerate(self.acts)
            for at, each in enumerate(acts)
            if each.key == act.key and not each.wanted and (self.step[other], self.at[other]) <= (due, at)
        )
