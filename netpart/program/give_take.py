"""Give and Take: a worker's parts with each collective replaced by the two.

    bridges out of one tensor ────────────────▶ Give   starts the exchange of what this worker contributes
    bridges into it, Sums, Concates of them ──▶ Take   waits for it, and holds what came; its readers read boxes of it

In the backward pass the two change roles. A worker that contributes nothing, or takes nothing, still has both, because
it may have to forward blocks. Its Give stands at the earliest position where the collective can start, its Take where
the last member waits. So all starts of a collective precede all its waits in the one global order: no deadlock arises.
"""

from __future__ import annotations

from netpart.collectives.kinds import ALL_TO_ALL, SUMMING
from netpart.graph.graph import (
    BRIDGE_DST,
    BRIDGE_SRC,
    CONCATE,
    CROSSING,
    GIVE,
    SPLIT,
    SUM,
    TAKE,
    Collective,
    Part,
    PartInput,
)
from netpart.spec import Region, hull


def insert_give_take(parts: list[Part]) -> list[Part]:
    """``parts`` of one worker, in order, with the helpers of each collective replaced by a Give and a Take."""
    pieces: dict[int, list[Part]] = {}
    for part in parts:
        if part.collective is not None:
            pieces.setdefault(part.collective.first, []).append(part)
    if not pieces:
        return parts
    ends = {first: _give_and_take(of_one) for first, of_one in pieces.items()}
    rest = [_rewire_part(p, ends) for p in parts if not _is_replaced_bridge(p, ends)]
    return _relink_feeds(
        sorted([*rest, *(end for both in ends.values() for end in both)], key=lambda p: p.index), parts
    )


def _relink_feeds(parts: list[Part], originals: list[Part]) -> list[Part]:
    """``parts``, with every feed from a replaced part redirected to its replacement. Changes the list ``parts``."""
    # In order, so that a part that is copied because of its feeds is known before its own readers are visited.
    kept = {id(p) for p in originals}
    fresh = dict[int, Part]()
    for i, part in enumerate(parts):
        if any(f.part.index in fresh for f in part.feeds):
            feeds = [
                PartInput(fresh.get(f.part.index, f.part), f.region, f.k, f.output, f.gradient) for f in part.feeds
            ]
            part = parts[i] = _copy_part(part, part.kind, feeds)
        if id(part) not in kept:
            fresh[part.index] = part
    return parts


GiveTakePairs = dict[int, tuple[Part, Part]]
"""Give and Take of each collective, by its first part."""


def _is_replaced_bridge(part: Part, ends: GiveTakePairs) -> bool:
    """True for a bridge that a collective replaces, and for a Give or Take that has done so before."""
    mine = part.collective is not None and part.collective.first in ends
    return mine and part.kind in CROSSING


def _give_and_take(pieces: list[Part]) -> tuple[Part, Part]:
    """The Give and the Take of a worker for the collective that ``pieces`` belong to."""
    ends = [p for p in pieces if p.kind in (GIVE, TAKE)]
    if ends:  # of a compact graph
        return ends[0], ends[1]
    found = pieces[0].collective
    assert found is not None
    sent = [p for p in pieces if p.kind == BRIDGE_SRC]
    came = [p for p in pieces if p.kind != BRIDGE_SRC]
    # The worker's own addend of a Sum: it contributes to the collective without a bridge.
    own = [f for p in came if p.kind == SUM for f in p.feeds if f.part.kind != BRIDGE_DST]
    first, second = (came[0].index, came[1].index) if own and not sent else (found.first, found.last)
    give = _empty_give_or_take(GIVE, found, pieces[0], sent[0].index if sent else first)
    take = _empty_give_or_take(
        TAKE, found, pieces[0], second if own and not sent else came[0].index if came else found.last
    )
    for outlet in [*(p.feeds[0] for p in sent), *own][:1]:
        give.region = found.region if found.kind in SUMMING else _given_region(found, sent[0])
        give.feeds = [PartInput(outlet.part, give.region, 0, outlet.output, found.backward)]
    if came:
        sums = [p.region for p in came if p.kind == SUM]
        take.region = sums[0] if sums else _taken_region(found, take.worker)
    return give, take


def _given_region(found: Collective, bridge: Part) -> Region:
    """The region that the worker of a sending half contributes."""
    if found.kind != ALL_TO_ALL:
        return bridge.region
    n = len(found.members)
    place = found.members.index(bridge.worker)
    return hull([b for b in found.blocks[place * n : (place + 1) * n] if b is not None])


def _taken_region(found: Collective, worker: int) -> Region:
    """The region that a worker holds after a collective that does not sum."""
    if found.kind != ALL_TO_ALL:
        return found.region
    return hull([b for b in found.blocks[found.members.index(worker) :: len(found.members)] if b is not None])


def _empty_give_or_take(kind: str, found: Collective, piece: Part, index: int) -> Part:
    """A Give or Take with an empty region: that of a worker that contributes or takes nothing."""
    part = Part(kind, f"{found.kind} {found.name}", piece.worker, piece.node, (), piece.output)
    part.index = index
    part.live = found.backward
    part.collective = found
    return part


def _rewire_part(part: Part, ends: GiveTakePairs) -> Part:
    """``part``, which is not a bridge, reading from a Take what a collective brings."""
    if part.kind == SUM:
        return _replace_sum(part, ends) if part.collective is not None else part
    return _redirect_feeds(part, ends)


def _replace_sum(part: Part, ends: GiveTakePairs) -> Part:
    """A Split of the Take in place of a Sum whose addends come from a collective."""
    assert part.collective is not None
    take = ends[part.collective.first][1]
    back = any(f.gradient for f in part.feeds)
    own = [f for f in part.feeds if f.gradient and f.part.kind != BRIDGE_DST and not part.collective.backward]
    return _as_split(part, [PartInput(take, part.region, 0, 0, back and part.collective.backward), *own])


def _redirect_feeds(part: Part, ends: GiveTakePairs) -> Part:
    """``part`` with its feeds from a collective redirected to the Take."""
    came = {f.part.collective.first for f in part.feeds if f.part.collective and _is_replaced_bridge(f.part, ends)}
    if not came:
        return part
    if part.kind == CONCATE and len(came) == 1:
        give, take = ends[came.pop()]
        own = give.feeds[0].part if give.feeds else None
        if all(_is_replaced_bridge(f.part, ends) or f.part is own for f in part.feeds):
            return _replace_concate(part, take)
    return _copy_part(part, part.kind, [_feed_from_take(f, ends) for f in part.feeds])


def _replace_concate(part: Part, take: Part) -> Part:
    """A Split of the Take in place of a Concate whose boxes all came from one collective, or were given to it here."""
    own = [f for f in part.feeds if f.part.kind != BRIDGE_DST]
    came = [f for f in part.feeds if f.part.kind == BRIDGE_DST]
    back = any(f.gradient for f in came)
    return _as_split(part, [PartInput(take, part.region, 0, 0, back), *(f for f in own if f.gradient and not back)])


def _as_split(part: Part, feeds: list[PartInput]) -> Part:
    """``part`` as a Split: it holds the value of its first feed and passes its gradient to all feeds that need it."""
    return _copy_part(part, SPLIT, feeds)


def _feed_from_take(feed: PartInput, ends: GiveTakePairs) -> PartInput:
    """``feed``, reading from the Take of its collective if its bridge is replaced."""
    source = feed.part
    if source.collective is None or not _is_replaced_bridge(source, ends):
        return feed
    return PartInput(ends[source.collective.first][1], feed.region, feed.k, 0, feed.gradient)


def _copy_part(part: Part, kind: str, feeds: list[PartInput]) -> Part:
    """A copy of ``part`` with another kind and other feeds."""
    other = Part(kind, part.name, part.worker, part.node, part.region, part.output, part.shard)
    for name in ("index", "live", "term", "owned", "reports", "trains", "peer", "members", "collective"):
        setattr(other, name, getattr(part, name))
    other.feeds = feeds
    return other
