"""Titles of fields: no arrow runs through them, and they stay in their fields."""

from __future__ import annotations

import re

import pytest

from netpart.draw.font_metrics import text_width
from netpart.draw.svg import to_svg
from netpart.draw.titles import EDGE, arrow_boxes, path_points, place_titles

TITLE = re.compile(r'<text class="title" text-anchor="middle" x="([-\d.]+)" y="([-\d.]+)" font-size="([\d.]+)">(.*?)<')


@pytest.mark.parametrize("example", ["stages", "lenet", "layerp", "naive"])
def test_no_arrow_crosses_a_title(example: str, request: pytest.FixtureRequest) -> None:
    svg = to_svg(request.getfixturevalue(example))
    arrows = [box for edge in EDGE.findall(svg) for box in arrow_boxes(edge)]
    titles = TITLE.findall(svg)
    assert len(titles) == len(re.findall("cluster_worker_", svg))
    for x, y, size, text in titles:
        half, bottom = text_width(text, float(size)) / 2, float(y)
        left = float(x) - half
        right = float(x) + half
        top = bottom - float(size)
        crossed = [a for a in arrows if a[0] < right and a[1] > left and a[2] < bottom and a[3] > top]
        assert crossed == [], text


def test_a_title_that_is_crossed_everywhere_stays_at_the_left() -> None:
    field = (
        '<g id="c" class="cluster">\n<title>cluster_worker_0</title>\n<path fill="none" d="M0,0C0,0 100,0 100,0"/>\n'
        '<text text-anchor="middle" x="50.00" y="-10.00" font-size="10.00">worker 0</text>\n</g>\n'
    )
    edge = '<g id="e" class="edge">\n<path fill="none" d="M0,-12C30,-12 60,-12 100,-12"/>\n</g>\n'
    assert 'x="50.00"' not in place_titles(field + edge)
    half = text_width("worker 0", 10) / 2
    assert f'x="{10 + half + 4:.2f}"' in place_titles(field + edge)


def test_points_lie_on_the_curve() -> None:
    found = list(path_points("M0,0C0,10 10,10 10,0"))
    assert [found[0], *map(pytest.approx, (found[6], found[-1]))] == [(0, 0), (5, 7.5), (10, 0)]
