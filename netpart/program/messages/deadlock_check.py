"""DeadlockCheck: simulates the communication of all workers before the run, on counters instead of tensors.

Each worker keeps its order, as the Player does. A receive waits for its message. A wait for a collective ends once all
members have started it (pair_messages.py explains why): a member advances its collectives between its instructions and
during every wait. (A member that needs only some of the others could continue earlier; here it waits for all.) Step s
of a worker begins when all workers that it sends to have finished step s - AHEAD, so that no channel holds more than
AHEAD messages. A send waits for nothing. If it waited for its receiver, most plans would deadlock: two workers that
swap tensors both send first. AHEAD + 1 steps are simulated, the fewest in which the end of one step lets another begin.

The order in which workers are advanced makes no difference. No action of a worker can prevent a possible action of
another one. So if one order completes all steps, every order does, and every deadlock is found.

The phases are checked one by one. All workers execute the same steps in the same order, and a message stays within its
step. So a step can be delayed only by the earlier steps of its phase.
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
"""Mismatches that are shown; the others are counted."""
REPORT = "this is a fault of netpart, not of the job: please report it with the job"


class CounterAction(NamedTuple):
    """Count an event ``key`` or, if ``wanted`` is not 0, wait until it has been counted ``wanted`` times in every
    step up to the one ``lag`` steps before. Events are messages and starts of collectives by a member (``key`` is the
    channel), and finished steps of a worker (``key`` is its rank)."""

    key: Channel | int
    wanted: int
    lag: int
    text: str | Communication


def check_deadlocks(workers: Sequence[Phases], together: bool = False) -> None:
    """Check the communications of all workers, phase by phase.

    ``together``: a member that starts a collective continues only when all members have started it, as GPU streams do
    in NCCL. Raises ProgramRefused for a message without its other end, and for workers that would wait for each other
    forever.
    """
    for phase in dict.fromkeys(phase for each in workers for phase in each):
        announced = [each.get(phase, []) for each in workers]
        found = pairing_faults(announced)
        mistakes = list(islice(found, SHOWN))
        if mistakes:
            more = sum(1 for _ in found)
            lines = [*mistakes, f"and {more} more"] if more else mistakes
            raise ProgramRefused("\n  ".join([f"{phase}: the workers' Programs do not fit together; {REPORT}", *lines]))
        DeadlockCheck(announced, together=together).play(phase)


class DeadlockCheck:
    """All workers of one phase: the position of each, the events counted, and the workers that sleep until an event."""

    def __init__(
        self, announced: Sequence[list[Communication]], steps: int = AHEAD + 1, together: bool = False
    ) -> None:  # fmt: skip
        self.together = together
        self.steps = steps + max((c.lag for each in announced for c in each), default=0)
        self.members = {channel: [w for w, _ in found] for channel, found in started_collectives(announced).items()}
        self.acts = [list(self.acts_of(worker, found)) for worker, found in enumerate(announced)]
        self.step = [0] * len(announced)
        self.at = [0] * len(announced)
        self.counts = Counter[Channel | int]()
        self.sleepers: dict[tuple[Channel | int, int], list[int]] = {}

    def acts_of(self, worker: int, announced: list[Communication]) -> Iterator[CounterAction]:
        """The actions of one step of a worker."""
        sent = {c.peer for c in announced if c.verb == MessageVerb.SEND}
        sent = sent.union(*(c.receivers(worker) for c in announced if c.verb == MessageVerb.START))
        yield from (CounterAction(reader, 1, AHEAD, "the start of the step") for reader in sorted(sent))
        for c in announced:
            if c.verb == MessageVerb.RECEIVE:
                yield CounterAction(c.channel, 1, c.lag, c)
                continue
            if c.verb != MessageVerb.WAIT:
                yield CounterAction(c.channel, 0, 0, c)
            if c.verb == MessageVerb.WAIT or (c.verb == MessageVerb.START and self.together):
                yield CounterAction(c.channel, len(self.members[c.channel]), 0, c)
        yield CounterAction(worker, 0, 0, "the end of the step")

    def play(self, phase: str) -> None:
        """Advance workers until all are done; raise ProgramRefused if no worker can continue."""
        ready = list(range(len(self.acts)))
        while ready:
            ready += self.advance(ready.pop())
        if any(step < self.steps for step in self.step):
            raise ProgramRefused(f"{phase}: {self.cycle()}" + ("" if self.together else f"\n{REPORT}"))

    def advance(self, worker: int) -> list[int]:
        """Advance a worker as far as it can go; return the workers that this wakes."""
        woken: list[int] = []
        while self.step[worker] < self.steps:
            act = self.acts[worker][self.at[worker]]
            if not act.wanted:
                self.counts[act.key] += 1
                woken += self.sleepers.pop((act.key, self.counts[act.key]), ())
            elif self.counts[act.key] < (needed := act.wanted * (self.step[worker] + 1 - act.lag)):
                # By the count that is needed: of n members that wait for a collective, the last start wakes all.
                self.sleepers.setdefault((act.key, needed), []).append(worker)
                break
            self.at[worker] += 1
            if self.at[worker] == len(self.acts[worker]):
                self.step[worker] = self.step[worker] + 1
                self.at[worker] = 0
        return woken

    def cycle(self) -> str:
        """A ring of workers of which each waits for the next, one line each."""
        # Every stuck worker waits for another stuck one, so following them must repeat a worker at some point.
        path = [next(w for w, step in enumerate(self.step) if step < self.steps)]
        while (following := self.awaited(path[-1])[0]) not in path:
            path.append(following)
        ring = path[path.index(following) :]
        first = ring.index(min(ring))
        who = "a worker waits for itself" if len(ring) == 1 else f"{len(ring)} workers wait for each other in a ring"
        return "\n  ".join([f"{who}:", *(self.line(w) for w in ring[first:] + ring[:first])])

    def line(self, worker: int) -> str:
        """The line of a stuck worker: its position, and the worker and action that it waits for."""
        act = self.acts[worker][self.at[worker]]
        (other, missing) = self.awaited(worker)
        where = f" ({describe_channel(act.text.channel)})" if isinstance(act.text, Communication) else ""
        return f"worker {worker} stands at {act.text}{where} until worker {other} reaches {missing.text}"

    def awaited(self, worker: int) -> tuple[int, CounterAction]:
        """The first worker that has not yet counted the event that ``worker`` waits for, and its action that will."""
        act = self.acts[worker][self.at[worker]]
        due = self.step[worker] - act.lag
        return next(
            (other, each)
            for other, acts in enumerate(self.acts)
            for at, each in enumerate(acts)
            if each.key == act.key and not each.wanted and (self.step[other], self.at[other]) <= (due, at)
        )
