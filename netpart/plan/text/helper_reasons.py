"""Reasons for helpers, in words: the region that is needed, the worker that holds it, and the bytes sent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netpart.collectives.kinds import GRADIENT
from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, LAYER, SLICE, SPLIT, SUM, Collective, Part
from netpart.graph.partition import Partition
from netpart.graph.passes.totals import is_total
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.worker_shares import region_text
from netpart.plan.text.helper_neighbours import HelperNeighbours
from netpart.program.instructions import Way


@dataclass(frozen=True)
class HelperReason:
    """A helper, its worker, the reason for it, and the bytes that it sends between workers, forward and backward.

    A collective has a HelperReason of its own, with the bytes of all its messages; its parts have no bytes.
    """

    helper: str
    where: str
    why: str
    forward: int = 0
    backward: int = 0


class ReasonFinder:
    """Lookup of the reason for each helper."""

    def __init__(self, partition: Partition, around: HelperNeighbours) -> None:
        self.around = around
        self.nodes = partition.graph.net.nodes
        self.forward, self.backward = _crossing_bytes(partition)

    def of(self, parts: Sequence[Part]) -> Iterator[HelperReason]:
        """The reasons for ``parts``; a collective comes before the first of its parts."""
        reported: set[Collective] = set()
        for part in parts:
            if part.collective is not None and part.collective not in reported:
                reported.add(part.collective)
                yield self.of_whole(part.collective, part)
            yield self.of_one(part)

    def of_whole(self, found: Collective, part: Part) -> HelperReason:
        """The reason for a collective, that ``part`` belongs to."""
        name = _collective_sentence(found)
        held = self.nodes[part.node].layer.outputs[part.output].whole
        why = f"carries {found.name} {region_text(found.region, held)}; the bytes are those of all its messages"
        why += f"; the gradient returns by {GRADIENT[found.kind]}" if found.backward else ""
        members = ", ".join(map(str, sorted(found.members)))
        return HelperReason(f"{found.kind} of {found.name}", members, why, self.forward[name], self.backward[name])

    def of_one(self, part: Part) -> HelperReason:
        """The reason for a single helper."""
        why = {
            SLICE: self.why_cut, SPLIT: self.why_cut, BRIDGE_DST: self.why_bridge, CONCATE: self.why_join,
            SUM: self.why_join, LAYER: self.why_inserted,
        }[part.kind]  # fmt: skip
        where = f"{part.feeds[0].part.worker} → {part.worker}" if part.kind == BRIDGE_DST else str(part.worker)
        member = f"; part of the {_collective_sentence(part.collective)}" if part.collective else ""
        return HelperReason(part.name, where, why(part) + member, self.forward[part.name], self.backward[part.name])

    def why_cut(self, part: Part) -> str:
        """For a Slice or a Split: the region that each reader needs of what one shard holds."""
        wishes: dict[str, list[str]] = defaultdict(list)
        for reader, feed in self.around.readers[part.index]:
            # A sending half is here; its reader is on the worker of the other half.
            there = reader.peer if reader.peer and reader.kind == BRIDGE_SRC else reader
            wishes[self.around.box(feed)] += [f"{name} on {there.worker}" for name in self.around.users(reader)]
        wanted = [
            f"{'all of it' if part.kind == SPLIT else box} for {', '.join(dict.fromkeys(users))}"
            for box, users in wishes.items()
        ]
        return f"{self.around.held(part)} is held here: {'; '.join(wanted)}"

    def why_bridge(self, part: Part) -> str:
        """For a bridge: the reader of a region that another worker holds."""
        return f"{self.describe_need(part)}, held by worker {part.feeds[0].part.worker}"

    def why_join(self, part: Part) -> str:
        """For a Concate or a Sum: the reader of boxes that several shards hold."""
        origins = [f.part.feeds[0].part.worker if f.part.kind == BRIDGE_DST else f.part.worker for f in part.feeds]
        workers = ", ".join(map(str, sorted(set(origins))))
        kind = "addends" if part.kind == SUM else "regions"
        return f"{self.describe_need(part)}, {len(origins)} {kind} from workers {workers}"

    def why_inserted(self, part: Part) -> str:
        """For a total: the addends that it adds up once for all readers. For an inner layer: the parts that need its
        results."""
        held = self.around.held(part)
        if is_total(self.nodes[part.node]):
            return f"{held} is added up here, once, and then sent to all who need it"
        return f"{held} is what {', '.join(dict.fromkeys(self.around.users(part)))} must know about the input here"

    def describe_need(self, part: Part) -> str:
        """The shards that a helper serves, and the region that they need."""
        return f"for {', '.join(dict.fromkeys(self.around.users(part)))}: {self.around.held(part)}"


def _collective_sentence(found: Collective) -> str:
    """A collective in words, the same for every micro-batch."""
    return f"{found.kind} of {found.name} among workers {', '.join(map(str, sorted(found.members)))}"


def _crossing_bytes(partition: Partition) -> tuple[Counter[str], Counter[str]]:
    """Bytes of a step, forward and backward, by the name of the collective, or of the receiving half of a bridge."""
    found = {Way.FORWARD: Counter[str](), Way.BACKWARD: Counter[str]()}
    for entry in compute_ledger(partition).flows:
        if entry.channel.way in found:
            part = partition.phases["train"][entry.channel.micro].graph.part_at(entry.channel.edge)
            name = _collective_sentence(part.collective) if part.collective else part.name
            found[entry.channel.way][name] += entry.nbytes
    return found[Way.FORWARD], found[Way.BACKWARD]
