"""The listener "tensorboard": what TensorBoard reads of a real run, and the error without the package."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event as Signal

import numpy as np
import pytest

from netpart.draw.png import encode_png
from netpart.errors import ConfigError
from netpart.graph.partition import partition_job
from netpart.launch.report import tensorboard_events
from netpart.launch.report.events import Measured, Started
from netpart.launch.report.run_description import RunDescription
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.running import mlp
from tests.launch.report.event_records import file_records


def events_file(folder: Path) -> Path:
    (found,) = folder.glob("events.out.tfevents.*")
    return found


def test_each_report_is_in_the_file_and_each_record_has_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = encode_png(np.zeros((3, 5, 3), np.uint8))
    monkeypatch.setattr(tensorboard_events, "draw_graph_png", lambda _: picture)
    run_job(
        read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "run",
        listeners=[f"tensorboard={tmp_path / 'board'}"],
    )  # fmt: skip
    from tensorboardX.proto.event_pb2 import Event

    events = [Event.FromString(record) for record in file_records(events_file(tmp_path / "board").read_bytes())]
    scalars = {(e.step, v.tag): v.simple_value for e in events for v in e.summary.value if v.HasField("simple_value")}
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    reported = {
        (line["step"], f"{line['phase']}/{name}"): value
        for line in lines
        for name, value in {**line["metrics"], "samples_per_second": line["samples_per_second"]}.items()
    }
    assert scalars == pytest.approx(reported, rel=1e-6)
    assert any(v.tag == "job/text_summary" for e in events for v in e.summary.value)
    (image,) = (v.image for e in events for v in e.summary.value if v.HasField("image"))
    assert (image.encoded_image_string, image.height, image.width) == (picture, 3, 5)


def test_metrics_do_not_wait_for_the_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, released = Signal(), Signal()

    def draw_slowly(graph: object) -> bytes:
        asked.set()
        assert released.wait(20)
        return encode_png(np.zeros((3, 5, 3), np.uint8))

    monkeypatch.setattr(tensorboard_events, "draw_graph_png", draw_slowly)
    job = read_job(mlp(tmp_path))
    run = RunDescription(partition_job(job.proto, 2), tmp_path)
    with tensorboard_events.tensorboard_events(run) as hear:
        hear(Started("mlp", 2, 12, 0, 12, ("cpu", "cpu"), (1, 1), "shm", "fast", (1, 1)))
        assert asked.wait(20)
        hear(Measured("train", 1, {"loss/loss": 0.5}, 1.0, 1.0))
        assert b"train/loss/loss" in events_file(tmp_path).read_bytes()
        released.set()
    assert b"IHDR" in events_file(tmp_path).read_bytes()


def test_without_the_package_the_command_to_install_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ConfigError, match=r"--tensorboard: expected .* `pip install 'netpart\[tensorboard\]'`"):
        run_job(read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "r", listeners=["tensorboard"])


@pytest.mark.peers
def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run_job(read_job(mlp(tmp_path)), 2, launcher="threads", workspace=tmp_path / "run", listeners=["tensorboard"])
    board = EventAccumulator(str(tmp_path / "run"))
    board.Reload()
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    for phase in {line["phase"] for line in lines}:
        reports = [(line["step"], line["metrics"]["loss/loss"]) for line in lines if line["phase"] == phase]
        found = [(point.step, point.value) for point in board.Scalars(f"{phase}/loss/loss")]
        assert [step for step, _ in found] == [step for step, _ in reports]
        assert [value for _, value in found] == pytest.approx([value for _, value in reports], rel=1e-6)
    assert b"neuralnet {" in board.Tensors("job/text_summary")[0].tensor_proto.string_val[0]
    assert board.Images("graph")[0].width > 100
