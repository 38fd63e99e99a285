"""netpart run, held against another run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import JOB, Netpart


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
