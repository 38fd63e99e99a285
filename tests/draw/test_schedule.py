"""Schedules: every turn is a box with the number of its micro-batch, and all texts stay within the drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from netpart.draw.font_metrics import text_width
from netpart.draw.schedule import TEXT, TITLE, schedule_svg
from netpart.plan.partition import partition_by_scheme
from netpart.program.schedules.delayed_pipeline import simulate_schedule
from tests.draw.conftest import job_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("workers", "micros", "title"), [(2, 2, "short"), (3, 4, "a title that is rather long " * 3)])
def test_all_texts_stay_within(workers: int, micros: int, title: str) -> None:
    job = job_of("schemes/five-layers")
    job.proto.neuralnet.micro_batches = micros
    cut = partition_by_scheme(job.proto, workers, job.folder, "PIPELINE", phases=("train",))
    played = simulate_schedule(cut)
    root = ElementTree.fromstring(schedule_svg(played, cut.graph.teams.members, title))
    _, _, wide, high = (float(side) for side in str(root.get("viewBox")).split())
    texts = list(root.iter(f"{SVG}text"))
    assert sorted(t.text or "" for t in texts if t.get("class") == "turn") == sorted(str(p.turn.micro) for p in played)
    for text in texts:
        bold = text.get("class") == "title"
        half = text_width(text.text or "", TITLE if bold else TEXT, bold)
        if text.get("class") != "turn":
            assert float(text.attrib["x"]) + half <= wide
        assert float(text.attrib["y"]) < high
