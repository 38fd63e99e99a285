"""BoxIndex finds what comparing with every box finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.box_index import BoxIndex, are_boxes_disjoint, group_overlapping
from netpart.spec import Region, contains, intersect

SPANS = st.tuples(st.integers(0, 9), st.integers(1, 5)).map(lambda span: (span[0], span[0] + span[1]))
RANKS = st.integers(0, 3)
CASES = RANKS.flatmap(
    lambda rank: st.tuples(st.lists(st.tuples(*[SPANS] * rank), max_size=12), st.tuples(*[SPANS] * rank))
)


@given(CASES)
def test_index_finds_the_boxes_that_touch_or_contain_a_region(case: tuple[list[Region], Region]) -> None:
    boxes, region = case
    index = BoxIndex(boxes)
    assert index.find_touching(region) == [i for i, b in enumerate(boxes) if intersect(b, region) is not None]
    assert index.find_containing(region) == [i for i, b in enumerate(boxes) if contains(b, region)]


@given(CASES)
def test_disjoint_boxes_are_those_of_which_no_two_share_an_element(case: tuple[list[Region], Region]) -> None:
    boxes, _ = case
    pairs = ((a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert are_boxes_disjoint(boxes) == all(intersect(a, b) is None for a, b in pairs)


@given(CASES)
def test_groups_share_no_element_and_have_every_box_once_in_order(case: tuple[list[Region], Region]) -> None:
    boxes, _ = case
    groups = list(group_overlapping(boxes))
    assert sorted(box for group in groups for box in group) == sorted(boxes)
    for i, group in enumerate(groups):
        assert all(intersect(a, b) is None for other in groups[:i] for a in group for b in other)
        assert len(list(group_overlapping(group))) == 1


def test_a_long_chain_of_boxes_is_searched_and_not_compared() -> None:
    n = 20_000
    boxes = [((0, 3), (i, i + 1)) for i in range(n)]
    # Comparing all pairs would take minutes.
    assert are_boxes_disjoint(boxes)
    assert not are_boxes_disjoint([*boxes, ((1, 2), (n // 2, n // 2 + 1))])
