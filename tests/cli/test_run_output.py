"""What a run says in words."""

from __future__ import annotations

import pytest

from netpart.cli.run_output import confusion_text, event_line, speedup_text, staleness_text
from netpart.launch.coordinator.oversubscribed_hosts import OversubscribedHost
from netpart.launch.report.events import Measured, Staleness, Started
from netpart.launch.report.speedup import Speedup


@pytest.mark.parametrize(
    ("transport", "words"), [("shm", "shared memory"), ("zeromq", "ZeroMQ"), ("memory", "this process's memory")]
)
def test_the_first_line_tells_what_tensors_go_through(transport: str, words: str) -> None:
    started = Started("net", 2, 10, 0, 32, ("cpu", "cpu"), (1024, 2048), transport, "reference kernels", (1, 1))
    expected = "net: 2 workers on cpu, reference kernels, 1 + 1 threads; batch 32, 10 steps; memory 1.0 KiB + 2.0 KiB; "
    assert event_line(started) == f"{expected}tensors through {words}"


@pytest.mark.parametrize(
    ("sealing", "told"),
    [
        ("", ""), ("aes-256-gcm", ", sealed with AES-256-GCM"), ("plain", ", NOT sealed"),
        ("curve", ", sealed with CURVE (slow; `pip install 'netpart[secure]'` on all hosts for AES-256-GCM)"),
    ],
)  # fmt: skip
def test_the_first_line_tells_how_tensors_are_sealed(sealing: str, told: str) -> None:
    job = "net", 2, 10, 0, 32, ("cpu",) * 2, (1024,) * 2, "zeromq", "reference kernels", (1, 1)
    assert event_line(Started(*job, sealing=sealing)).endswith(f"tensors through ZeroMQ{told}")


def test_workers_that_take_more_than_their_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.worker.memory_limit.host_memory_limit", lambda: 4096)
    for memory, told in (((2048, 2048), False), ((2048, 2049), True)):
        started = Started("net", 2, 10, 0, 32, ("cpu", "cpu"), memory, "shm", "reference kernels", (1, 1))
        assert (", more than the 4.0 KiB that their host allows, so one may be killed" in event_line(started)) == told


def test_workers_that_have_more_threads_than_cores() -> None:
    job = "net", 3, 10, 0, 32, ("cpu",) * 3, (1024,) * 3, "zeromq", "reference kernels", (2, 2, 8), ""
    told = "2 + 2 + 8 threads, too many for the 2 cores of workers 0, 2: use --threads 1; batch"
    assert told in event_line(Started(*job, (OversubscribedHost((0, 2), 2),)))
    assert "2 + 2 + 8 threads; batch" in event_line(Started(*job))


def test_groups_and_servers_are_told_of() -> None:
    job = "net", 4, 10, 0, 32, ("cpu",) * 4, (1024,) * 4, "shm", "reference kernels", (1,) * 4
    assert event_line(Started(*job, "2 groups of 1 worker, 2 servers")).startswith(
        "net: 2 groups of 1 worker, 2 servers on"
    )


@pytest.mark.parametrize(
    ("idle", "told"), [((), ""), ((1,), "; worker 1 has nothing"), ((1, 2), "; workers 1, 2 have nothing")]
)
def test_workers_without_work_are_named(idle: tuple[int, ...], told: str) -> None:
    job = "net", 3, 10, 0, 32, ("cpu",) * 3, (1024,) * 3, "shm", "reference kernels", (1, 1, 1)
    rest = f"{told} to do: `netpart check` explains why" if idle else ""
    assert event_line(Started(*job, idle=idle)).endswith(f"tensors through shared memory{rest}")


def test_what_has_diverged_is_shown_by_its_power_of_ten() -> None:
    values = {"a/loss": 1e30, "b/loss": -2.5e9, "c/loss": float("inf"), "d/loss": float("nan"), "e/loss": 99999.5}
    told = "a/loss = 1.000000e+30, b/loss = -2.500000e+09, c/loss = inf, d/loss = nan, e/loss = 99999.500000"
    assert event_line(Measured("test", 80, values, 1.0, 2.0, {})) == f"Test @ step 80  {told}"


@pytest.mark.parametrize("metrics", [{"loss/loss": 0.5, "loss/accuracy": 0.25}, {"a/loss": 1.0, "b/loss": 2.0}])
def test_metrics_have_the_names_of_the_api(metrics: dict[str, float]) -> None:
    told = event_line(Measured("test", 80, metrics, 1.0, 2.0, {}))
    assert told == f"Test @ step 80  {', '.join(f'{name} = {value:.6f}' for name, value in metrics.items())}"


def test_staleness_is_told_in_one_line_however_long_its_histogram() -> None:
    assert staleness_text(Staleness(4, 0.5, 1, {0: 2, 1: 2})) == "0.50 on average, 1 at most, of 4 updates (0: 2, 1: 2)"
    long = staleness_text(Staleness(40, 19.5, 39, dict.fromkeys(range(40), 1)))
    assert long.endswith("(0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, ..., 39: 1)")


def test_a_confusion_matrix_is_printed_with_its_classes() -> None:
    assert confusion_text("confusion/confusion", [[9, 1], [0, 10]]).splitlines()[1:] == [
        "   class 0   9  1",
        "   class 1   0 10",
    ]


def test_a_speed_up_says_what_is_unknown() -> None:
    text = speedup_text(Speedup(2.0, 1.5, 1.0, None), 0.9)
    assert "speed-up  2.00 in training time" in text
    assert "eq. 13  unknown = 1.50 a step x 1.00 steps an epoch x unknown epochs to an accuracy of 0.9" in text
