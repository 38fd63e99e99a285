"""Place roles: places of one role send and receive as many messages, and wait for as many before each."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.choices import DIRECT, DOUBLING, RING, TREE
from netpart.collectives.kinds import ALL_REDUCE
from netpart.program.exchange import Exchange, plan_exchange
from tests.thorough import example_count


def exchange_of(algorithm: str, members: int, elements: int) -> Exchange:
    return plan_exchange(ALL_REDUCE, tuple(range(members)), ((0, elements),), (), algorithm, 4)


@pytest.mark.parametrize("algorithm", [RING, DOUBLING, DIRECT])
def test_of_equal_blocks_all_places_have_one_role(algorithm: str) -> None:
    assert set(exchange_of(algorithm, 12, 24).roles) == {0}


def test_the_root_of_a_tree_has_a_role_of_its_own() -> None:
    roles = exchange_of(TREE, 16, 4).roles
    assert roles.count(roles[0]) == 1
    assert 1 < len(set(roles)) < 16


def test_the_two_places_of_a_tree_differ() -> None:
    assert len(set(exchange_of(TREE, 2, 4).roles)) == 2, "one of them waits for the other"


def test_of_empty_blocks_at_even_distances_few_places_differ() -> None:
    assert len(set(exchange_of(DOUBLING, 128, 16).roles)) <= 8


@settings(max_examples=example_count(100), deadline=None)
@given(
    algorithm=st.sampled_from([RING, DOUBLING, DIRECT, TREE]), members=st.integers(2, 20), elements=st.integers(1, 24)
)
def test_a_place_that_stands_for_another_never_waits_for_itself(algorithm: str, members: int, elements: int) -> None:
    """Each message is sent by the first place of its source's role: played so, all messages are sent and taken."""
    found = exchange_of(algorithm, members, elements)
    assert is_played(found, found.roles)


def test_places_that_differ_cannot_stand_for_each_other() -> None:
    assert not is_played(exchange_of(TREE, 8, 4), (0,) * 8)


@dataclass
class Place:
    """What a place ``takes``, as (place, turn there), and how many of these it needs before each that it sends."""

    takes: list[tuple[int, int]] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    brought: dict[int, int] = field(default_factory=dict)
    taken: int = 0
    sent: int = 0

    def advance(self, places: list[Place]) -> bool:
        """Take and send what can be; return whether anything could."""
        before = self.taken, self.sent
        while self.taken < len(self.takes) and places[self.takes[self.taken][0]].sent > self.takes[self.taken][1]:
            self.taken += 1
        while self.sent < len(self.needs) and self.needs[self.sent] <= self.taken:
            self.sent += 1
        return (self.taken, self.sent) != before


def is_played(found: Exchange, roles: tuple[int, ...]) -> bool:
    """True if all messages are sent and taken where the first place of each role stands for all of it."""
    first = {role: place for place, role in reversed(list(enumerate(roles)))}
    places = [Place() for _ in roles]
    for m in found.schedule:
        source, target = places[m.source], places[m.target]
        target.takes.append((first[roles[m.source]], len(source.needs)))
        source.needs.append(0 if m.own else max(source.brought.get(b, 0) for b in m.blocks))
        target.brought |= dict.fromkeys(m.blocks, len(target.takes))
    models = [places[place] for place in first.values()]
    while any(place.advance(places) for place in models):
        pass
    return all(place.taken == len(place.takes) and place.sent == len(place.needs) for place in models)
