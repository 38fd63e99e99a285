"""A Summary in a notebook: everything is there, and nothing that a job is called is taken for HTML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from netpart.launch.report.events import Staleness, Summary

SUMMARY = Summary(
    "<b>net</b>", 2, 100, loss=0.25, accuracy=0.9, seconds=3.0, train_seconds=2.0, samples_per_second=1234.5,
    bytes_predicted=2048, bytes_counted=2048, memory_bytes=[1024, 2048], devices=["cpu", "cpu"],
    train={"loss/loss": 0.3}, test={"loss/loss": 0.25, "loss/accuracy": 0.9}, checkpoint="out/a&b.safetensors",
    bytes_by_edge={f"train edge{k}": 100 - k for k in range(20)}, tables={"table": [[3, 1], [0, 4]]},
    accuracies=[(50, 0.8), (100, 0.9)], staleness=Staleness(10, 0.5, 2, {0: 6, 1: 3, 2: 1}),
)  # fmt: skip


def cells(summary: Summary) -> list[list[str]]:
    root = ElementTree.fromstring(summary._repr_html_())
    return [[cell.text or "" for cell in row] for row in root.iter("tr")]


def test_a_notebook_shows_what_the_run_found() -> None:
    rows = cells(SUMMARY)
    assert ["loss", "0.25"] in rows
    assert ["moved", "2,048 bytes between workers; 2,048 predicted: as predicted"] in rows
    assert ["memory", "1.0 KiB, 2.0 KiB (worker by worker)"] in rows
    assert ["test", "loss/loss", "0.250000"] in rows
    assert ["", "loss/accuracy", "0.900000"] in rows
    assert ["1", "0", "4"] in rows
    assert ["staleness", "0.50 on average, 2 at most, of 10 updates"] in rows
    assert ["train edge0", "100"] in rows
    assert ["8 more", str(sum(100 - k for k in range(12, 20)))] in rows


def test_a_notebook_shows_how_links_were_sealed_and_what_was_dropped() -> None:
    rows = cells(replace(SUMMARY, sealing="aes-256-gcm", refused_frames=1234))
    assert ["sealed", "aes-256-gcm"] in rows
    assert ["dropped", "1,234 frames that were not of this run, or not authentic"] in rows
    assert ["sealed", "no"] in cells(replace(SUMMARY, sealing="plain"))
    assert not {"sealed", "dropped"} & {row[0] for row in cells(SUMMARY) if row}


def test_names_are_escaped() -> None:
    html = SUMMARY._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;net&lt;/b&gt;: 100 steps on 2 workers" in html
    assert "out/a&amp;b.safetensors" in html


def test_the_accuracies_of_several_tests_are_a_chart() -> None:
    root = ElementTree.fromstring(SUMMARY._repr_html_())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 3  # two tests, and one in the legend


def test_bytes_that_were_not_predicted_are_told() -> None:
    rows = cells(Summary("net", 1, 0, bytes_predicted=1, bytes_counted=2))
    assert ["moved", "2 bytes between workers; 1 predicted: not as predicted"] in rows
    assert not any("checkpoint" in row for row in rows)
