"""Summary page: a Summary as HTML for a notebook, with tables of what the run measured and sent, and a chart of its
tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from netpart.units import bytes_text, plural_text, seconds_text

if TYPE_CHECKING:
    from netpart.launch.report.events import Summary

EDGES = 12
"""Maximum number of edges listed; those with the most bytes."""
LEFT, RIGHT = 'style="text-align: left"', 'style="text-align: right"'


def summary_html(summary: Summary) -> str:
    """The whole ``summary`` as one HTML element. Every text in it is escaped."""
    parts = [f"<h4>{escape(_summary_title(summary))}</h4>", _html_table(("", ""), _summary_facts(summary), LEFT)]
    if metrics := list(_metric_rows(summary)):
        parts.append(_html_table(("", "metric", "value"), metrics))
    parts += (_confusion_html(name, counts) for name, counts in summary.tables.items())
    if len(summary.accuracies) > 1:
        parts.append(_accuracy_chart(summary))
    if summary.bytes_by_edge:
        parts.append(
            _html_table((f"edge ({len(summary.bytes_by_edge)} in all)", "bytes of the run"), _edge_rows(summary))
        )
    return f"<div>{''.join(parts)}</div>"


def _summary_title(summary: Summary) -> str:
    """The job, its steps and its workers."""
    who = summary.cluster or plural_text(summary.workers, "worker")
    return f"{summary.name}: {plural_text(summary.steps, 'step')} on {who}"


def _summary_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """The rows that every run has once."""
    for name, value in (("loss", summary.loss), ("accuracy", summary.accuracy)):
        if value is not None:
            yield name, f"{value:.6g}"
    yield "time", f"{seconds_text(summary.seconds)}, {seconds_text(summary.train_seconds)} of it in training"
    yield "speed", f"{summary.samples_per_second:,.0f} samples/s"
    agree = "as predicted" if summary.bytes_counted == summary.bytes_predicted else "not as predicted"
    yield "moved", f"{summary.bytes_counted:,} bytes between workers; {summary.bytes_predicted:,} predicted: {agree}"
    yield "memory", ", ".join(map(bytes_text, summary.memory_bytes)) + " (worker by worker)"
    yield "devices", ", ".join(dict.fromkeys(summary.devices))
    if summary.staleness is not None:
        stale = summary.staleness
        yield "staleness", f"{stale.mean:.2f} on average, {stale.most} at most, of {stale.updates:,} updates"
    if summary.stopped:
        yield "stopped", summary.stopped
    if summary.best:
        yield "best", f"{summary.best['metric']} at step {summary.best['step']}: {summary.best_checkpoint}"
    if summary.checkpoint:
        yield "checkpoint", summary.checkpoint


def _metric_rows(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """The metrics of every phase. Only the first row of a phase has the phase's name."""
    phases = {"training": summary.train, "validation": summary.validation, "test": summary.test}
    for phase, metrics in phases.items():
        for k, (name, value) in enumerate(metrics.items()):
            yield "" if k else phase, name, f"{value:.6f}"


def _confusion_html(name: str, counts: list[list[int]]) -> str:
    """A confusion matrix as an HTML table."""
    headings = (f"{name}: class", *(f"taken for {k}" for k in range(len(counts[0]) if counts else 0)))
    return _html_table(headings, ((str(k), *map(str, row)) for k, row in enumerate(counts)))


def _edge_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """The edges with the most bytes, and a row for the rest."""
    largest = sorted(summary.bytes_by_edge.items(), key=lambda edge: -edge[1])
    yield from ((name, f"{nbytes:,}") for name, nbytes in largest[:EDGES])
    if rest := largest[EDGES:]:
        yield f"{len(rest)} more", f"{sum(nbytes for _, nbytes in rest):,}"


def _accuracy_chart(summary: Summary) -> str:
    """The accuracy of every test against its step, as SVG."""
    from netpart.draw.chart import Curve, marked_chart

    return marked_chart(summary.name, "training steps", "accuracy", {"test": Curve(summary.accuracies)})


def _html_table(headings: Sequence[str], rows: Iterable[Sequence[str]], look: str = RIGHT) -> str:
    """An HTML table whose first column is left-aligned. ``look`` is the style of the others."""
    head = "".join(f"<th {look if k else LEFT}>{escape(name)}</th>" for k, name in enumerate(headings))
    body = "".join(
        f"<tr>{''.join(f'<td {look if k else LEFT}>{escape(cell)}</td>' for k, cell in enumerate(row))}</tr>"
        for row in rows
    )
    shown = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"<table>{shown}<tbody>{body}</tbody></table>"
