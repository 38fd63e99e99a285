"""Texts of DOT files: they read back, names break where they are joined, and the heading has the traffic."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from netpart.draw.dot_text import dot_heading, quote_dot, wrap_name
from netpart.draw.graph_picture import make_picture
from netpart.graph.graph import Graph
from netpart.graph.net import Net

NAMES = st.text(st.sampled_from('ab1-."\\ é'), min_size=1, max_size=60)


def test_the_heading_says_title_and_traffic_in_lines(net: Net, lenet: Graph) -> None:
    shown = make_picture(lenet)
    title, *traffic, last = dot_heading(shown).split("\n")
    assert (title, "; ".join(traffic), last) == (shown.title, shown.traffic, " ")
    assert len(traffic) == 2
    assert dot_heading(make_picture(net)).count("\n") == 1


@given(NAMES)
def test_a_quoted_text_reads_back(text: str) -> None:
    inside = re.fullmatch(r'"((?:[^"\\]|\\.)*)"', quote_dot(text))
    assert inside is not None
    assert inside[1].replace('\\"', '"').replace("\\\\", "\\") == text


@given(NAMES)
def test_wrapping_loses_nothing_and_breaks_behind_hyphens(name: str) -> None:
    rows = wrap_name(name)
    assert "".join(rows) == name
    assert all(row.endswith("-") for row in rows[:-1])
    assert not any(re.match(r"\d", row) for row in rows[1:])


def test_names_break_where_they_are_joined() -> None:
    assert wrap_name("d-slice-pool1-00-concate-fc1-01") == ["d-slice-pool1-00-", "concate-fc1-01"]
    assert wrap_name("conv1-00") == ["conv1-00"]
