"""Place roles: places of a collective that send and receive alike, whatever the sizes of their messages.

In a tree, a place may have to wait for a message before it sends where another does not; so it is where some blocks are
empty, as their messages are not sent. A place takes messages in their order, and sends a block when the last message
with it has come. The depth of a message is above that of all messages which its source takes until then. A role has the
depths of all messages that a place sends, and that it receives, in order. So where one place stands for another of its
role, messages still wait only for those of less depth: some can always go on.
"""

from __future__ import annotations

from functools import lru_cache

from netpart.collectives.schedule import Schedule


@lru_cache(maxsize=64)
def find_place_roles(schedule: Schedule, n: int) -> tuple[int, ...]:
    """The role of each of ``n`` places, as a number."""
    sent: list[list[int]] = [[] for _ in range(n)]
    received: list[list[int]] = [[] for _ in range(n)]
    deepest: list[list[int]] = [[0] for _ in range(n)]  # by number of received messages, the least depth that follows
    brought: list[dict[int, int]] = [{} for _ in range(n)]
    for m in schedule:
        taken = 0 if m.own else max([brought[m.source].get(b, 0) for b in m.blocks])
        depth = deepest[m.source][taken]
        sent[m.source].append(depth)
        received[m.target].append(depth)
        deepest[m.target].append(max(depth + 1, deepest[m.target][-1]))
        brought[m.target] |= dict.fromkeys(m.blocks, len(received[m.target]))
    numbers: dict[object, int] = {}
    roles = ((tuple(out), tuple(into)) for out, into in zip(sent, received, strict=True))
    return tuple(numbers.setdefault(role, len(numbers)) for role in roles)
