"""What the page and /metrics show of the events of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import Partition, partition_job
from netpart.launch.report.events import (
    Ended,
    Halted,
    Joined,
    Measured,
    Noticed,
    Restarted,
    Saved,
    Staleness,
    Started,
    Summary,
)
from netpart.launch.report.queued_listener import RunFailed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.watch_events import (
    NextAttempt,
    SampledAction,
    SampledWorker,
    StepSampled,
    WorkerPosition,
    WorkerPositions,
)
from netpart.live.metrics_text import escape_label, metrics_text
from netpart.live.page_listener import LONGEST_NAME, MOST_METRICS, SHOWN, PageEvents, page_listener, parse_port
from netpart.live.run_feed import RunFeed
from tests.graph.jobs import data, job, layer, product

RUN = RunDescription(cast(Partition, None), Path("out"))
STARTED = Started("net", 2, 10, 0, 4, ("cpu", "cpu"), (1000, 2000), "shm", "fast", (1, 1))
STEP = StepSampled(0, 7, (
    SampledWorker(0, (
        SampledAction("forward a", 1.0, 1.004), SampledAction("wait receive d-x", 1.005, 1.007),
        SampledAction("receive d-x", 1.004, 1.007), SampledAction("backward a", 1.007, 1.008),
        SampledAction("step", 1.0, 1.01),
    ), {"train x": 64}, {1: 64}, 5000, 1100),
    SampledWorker(
        1, (SampledAction("send s-x", 1.001, 1.002), SampledAction("step", 1.001, 1.009)), {}, {0: 32}, 6000, None
    ),
))  # fmt: skip
EVENTS = (
    STARTED, Joined(1, "elsewhere", ()), Noticed("a notice"),
    Measured("train", 5, {"loss/loss": 0.5}, 2.0, 10.0), Measured("test", 5, {"loss/loss": float("nan")}, 2.5, 20.0),
    WorkerPositions(
        (WorkerPosition(0, "train", 7, "forward a", 0.1), WorkerPosition(1, "train", 6, "receive d-x", 2.5))
    ),
    STEP, Staleness(4, 0.5, 2, {0: 3, 2: 1}), Saved(5, Path("out/5")), Halted(9),
)  # fmt: skip


def shown(*events: Any) -> tuple[RunFeed, dict[str, Any]]:
    """The feed, and what a new page receives."""
    feed = RunFeed()
    hear = PageEvents(feed, RUN)
    for event in events:
        hear(event)
    return feed, state_of(feed)


def state_of(feed: RunFeed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(feed.since(None)[0][1])
    return found


def test_the_state_of_a_run() -> None:
    _, state = shown(*EVENTS)
    assert (state["run"]["steps"], state["run"]["memory"]) == (10, [1000, 2000])
    assert state["curves"]["train/loss/loss"] == [[5, 2.0, 0.5]]
    assert state["curves"]["train/samples_per_second"] == [[5, 2.0, 10.0]]
    assert state["curves"]["test/loss/loss"] == [[5, 2.5, None]]
    assert "test/samples_per_second" not in state["curves"]
    assert state["positions"][1] == [1, "train", 6, "receive d-x", 2.5]
    assert state["memory"] == {"0": [5000, 1100], "1": [6000, None]}
    assert state["sent"] == {"0 → 1": 64, "1 → 0": 32}
    assert state["staleness"]["histogram"] == {"0": 3, "2": 1}
    lines = [text for _, text, _ in state["log"]]
    assert lines == [
        "2 workers ready, 10 steps", "worker 1 joined (elsewhere)", "a notice", "train at step 5: loss/loss = 0.5",
        "test at step 5: loss/loss = nan", "saved out/5",
        "ends at step 9: SIGUSR1 asked for a checkpoint; continue with --resume",
    ]  # fmt: skip


def test_the_chart_of_a_step() -> None:
    _, state = shown(STEP)
    chart = state["charts"]["0"]
    assert (chart["step"], chart["micros"]) == (7, 8000.0)
    first, second = chart["workers"]
    assert [bar[:2] for bar in first["bars"]] == [
        ["forward", "forward a"], ["talk", "receive d-x"], ["wait", "wait receive d-x"], ["backward", "backward a"],
    ]  # fmt: skip
    assert first["bars"][3][2:] == [7000.0, 1000.0, 1]
    assert second["bars"] == [["talk", "send s-x", 1000.0, 1000.0, 1]]
    assert first["own"] == pytest.approx({"forward": 4000, "talk": 1000, "wait": 2000, "backward": 1000})
    assert chart["waits"] == pytest.approx({"receive d-x": 0.002})
    assert chart["parts"] == {"a": [4000.0, 1000.0, 0.0], "d-x": [0.0, 0.0, 3000.0], "s-x": [0.0, 0.0, 1000.0]}


def test_the_end_and_a_failure() -> None:
    _, state = shown(STARTED, Ended(Summary("net", 2, 10, loss=0.5, step_seconds=[0.1])))
    assert set(state["end"]["summary"]) == set(SHOWN)
    feed = RunFeed()
    PageEvents(feed, RUN).fail(RunFailed("worker 1: died", 1))
    state = state_of(feed)
    assert state["end"] == {"failed": "worker 1: died", "rank": 1}
    assert state["log"][-1][1:] == ["worker 1: died", "error"]


def test_a_summary_has_a_largest_size() -> None:
    metrics = {f"{number}{'x' * 10_000}": 0.5 for number in range(10_000)}
    long = Summary(
        "net", 2, 10, train=metrics, test=metrics, validation=metrics, stopped="x" * 10**6, classes={"x": ["y"] * 10**6}
    )
    _, state = shown(STARTED, Ended(long))
    assert len(state["end"]["summary"]["test"]) == MOST_METRICS
    assert len(json.dumps(state["end"])) < 3 * MOST_METRICS * (LONGEST_NAME + 50) + 10_000
    feed = RunFeed()
    PageEvents(feed, RUN).fail(RunFailed("x" * 10**6))
    assert len(json.dumps(state_of(feed))) < 10_000


def test_a_restart_keeps_the_curves_and_says_from_where() -> None:
    def at(step: int) -> Measured:
        return Measured("train", step, {"loss/loss": float(step)}, step, 1.0)

    again = Restarted(1, 3, 4, 2, "worker 1: died", "out/step4")
    feed, state = shown(STARTED, at(2), at(4), at(6), at(8), *EVENTS[5:7], NextAttempt(RUN), again, at(6))
    assert [point[0] for point in state["curves"]["train/loss/loss"]] == [2, 4, 6]
    (attempt,) = state["attempts"]
    assert (attempt["number"], attempt["most"], attempt["step"], attempt["workers"]) == (2, 4, 4, 2)
    assert [point[0] for point in attempt["repeated"]["train/loss/loss"]] == [4, 6, 8]
    assert not {"positions", "charts", "memory", "sent", "end"} & set(state), "those of workers that are gone"
    assert [text for _, text, _ in state["log"]][-3:] == [
        "attempt 1 failed: worker 1: died", "attempt 2 begins from step 4, out/step4, on 2 workers",
        "train at step 6: loss/loss = 6",
    ]  # fmt: skip
    assert "netpart_restarts_total 1.0" in metrics_text(feed).splitlines()


def test_the_graph_is_that_of_the_present_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.live.page_listener.graph_bytes", lambda run: run.argument.encode())
    events = PageEvents(RunFeed(), replace(RUN, argument="first"))
    assert events.request_graph().result(10) == b"first"
    events(NextAttempt(replace(RUN, argument="second")))
    assert events.request_graph().result(10) == b"second"


def test_metrics_as_lines() -> None:
    text = metrics_text(shown(*EVENTS)[0])
    for line in (
        "netpart_up 1.0", "netpart_step 5.0", 'netpart_metric{phase="train",name="loss/loss"} 0.5',
        'netpart_metric{phase="test",name="loss/loss"} NaN', 'netpart_samples_per_second{phase="train"} 10.0',
        'netpart_worker_step{worker="1"} 6.0', 'netpart_worker_silent_seconds{worker="1"} 2.5',
        'netpart_memory_planned_bytes{worker="1"} 2000.0', 'netpart_memory_grown_bytes{worker="0"} 1100.0',
        'netpart_memory_resident_bytes{worker="1"} 6000.0', 'netpart_sent_bytes_total{source="0",target="1"} 64.0',
        'netpart_wait_seconds{group="0",edge="receive d-x"} 0.0020000000000000018', "netpart_staleness_mean 0.5",
    ):  # fmt: skip
        assert line in text.splitlines(), line
    assert 'netpart_memory_grown_bytes{worker="1"}' not in text
    assert metrics_text(RunFeed()) == (
        "# HELP netpart_up 1 while the run goes on, 0 after its end.\n# TYPE netpart_up gauge\nnetpart_up 1.0\n"
        "# HELP netpart_restarts_total Restarts after a failure.\n# TYPE netpart_restarts_total counter\n"
        "netpart_restarts_total 0.0\n"
    )


HARD = 'a "quoted" \\ and\nbroken name'


@pytest.mark.peers
def test_a_parser_of_prometheus_reads_them() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    feed, _ = shown(*EVENTS, Measured("train", 6, {HARD: 1e300, "loss/loss": float("-inf")}, 3.0, 1.0))
    found = {family.name: family for family in text_string_to_metric_families(metrics_text(feed))}
    assert all(family.documentation and family.type in {"gauge", "counter"} for family in found.values())
    values = {(each.labels["phase"], each.labels["name"]): each.value for each in found["netpart_metric"].samples}
    assert values["train", HARD] == 1e300
    assert values["train", "loss/loss"] == float("-inf")
    (sent, _) = found["netpart_sent_bytes"].samples
    assert (sent.labels, sent.value) == ({"source": "0", "target": "1"}, 64.0)


def test_labels_are_escaped() -> None:
    assert escape_label(HARD) == 'a \\"quoted\\" \\\\ and\\nbroken name'


def test_a_port() -> None:
    assert (parse_port(""), parse_port("8080")) == (0, 8080)
    for text in ("x", "-1", "65536", "٣"):
        with pytest.raises(ConfigError, match="a port, 0 to 65535"):
            parse_port(text)


def test_an_elastic_run_has_no_page(tmp_path: Path) -> None:
    conf = job(data(), product("fc", "data", 4), layer("loss", "kSoftmaxLoss", "fc", "data"))
    conf.elastic.min_workers, conf.elastic.max_workers = 1, 2
    run = RunDescription(partition_job(conf, 2), tmp_path)
    with pytest.raises(ConfigError, match="--page: expected a run that is not elastic"), page_listener(run):
        pass
