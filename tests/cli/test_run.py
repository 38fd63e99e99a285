"""netpart run: what its first line says of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpart.cli.run import line, matrix, sooner, staleness_text
from netpart.launch.events import Staleness, Started
from netpart.launch.speedup import Speedup
from tests.cli.conftest import JOB, Netpart


@pytest.mark.parametrize(
    ("transport", "words"), [("shm", "shared memory"), ("zeromq", "ZeroMQ"), ("memory", "this process's memory")]
)
def test_the_first_line_tells_what_tensors_go_through(transport: str, words: str) -> None:
    started = Started("net", 2, 10, 0, 32, ("cpu", "cpu"), (1024, 2048), transport, "reference kernels", (1, 1))
    expected = "net: 2 workers on cpu, reference kernels, 1 + 1 threads; batch 32, 10 steps; memory 1.0 KiB + 2.0 KiB; "
    assert line(started) == f"{expected}tensors through {words}"


def test_groups_and_servers_are_told_of() -> None:
    job = "net", 4, 10, 0, 32, ("cpu",) * 4, (1024,) * 4, "shm", "reference kernels", (1,) * 4
    assert line(Started(*job, "2 groups of 1 worker, 2 servers")).startswith("net: 2 groups of 1 worker, 2 servers on")


def test_staleness_is_told_in_one_line_however_long_its_histogram() -> None:
    assert staleness_text(Staleness(4, 0.5, 1, {0: 2, 1: 2})) == "0.50 on average, 1 at most, of 4 updates (0: 2, 1: 2)"
    long = staleness_text(Staleness(40, 19.5, 39, dict.fromkeys(range(40), 1)))
    assert long.endswith("(0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, ..., 39: 1)")


def test_a_confusion_matrix_is_printed_with_its_classes() -> None:
    assert matrix("confusion/confusion", [[9, 1], [0, 10]]).splitlines()[1:] == [
        "   class 0   9  1",
        "   class 1   0 10",
    ]


def test_a_speed_up_says_what_is_unknown() -> None:
    text = sooner(Speedup(2.0, 1.5, 1.0, None), 0.9)
    assert "speed-up  2.00 in training time" in text
    assert "eq. 13  unknown = 1.50 a step x 1.00 steps an epoch x unknown epochs to an accuracy of 0.9" in text


def test_a_run_is_held_against_a_serial_one(tmp_path: Path, netpart: Netpart) -> None:
    job, one = tmp_path / "job.conf", tmp_path / "one.json"
    confusion = 'layer { name: "table" type: kConfusion srclayers: ["ip", "data"] include: kTest }\n}'
    job.write_text(f"test_steps: 2\n{JOB.rstrip()[:-1]}{confusion}\n")
    run = "run", job, "--launcher", "threads", "--workspace", tmp_path / "out"
    assert netpart(*run, "--summary", one).code == 0
    summary = json.loads(one.read_text())
    table = summary["tables"]["table/confusion"]
    assert sum(map(sum, table)) == 16
    assert summary["test"]["table/accuracy"] == summary["accuracies"][-1][1]
    answer = netpart(*run, "--workers", 2, "--against", one, "--reach", 0)
    assert answer.code == 0
    assert "table/confusion of the test: rows are classes" in answer.out
    assert "  speed-up  " in answer.out
    assert netpart(*run, "--against", tmp_path / "absent.json").code == 1
    assert netpart(*run, "--reach", 2).code == 2
