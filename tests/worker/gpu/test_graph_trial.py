"""A trial: graphs take turns until their times are there, and nobody waits for these."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from netpart.worker.gpu.graph_trial import TRIED, GraphTrial


class Device:
    """A stream, its events and its clock: what is enqueued is ``done`` when it is said so."""

    def __init__(self) -> None:
        self.clock, self.done = 0.0, False
        self.launched = list[str]()
        self.cuda = SimpleNamespace(Event=lambda: SimpleNamespace(time=0.0), get_elapsed_time=self.elapsed)

    def record(self, event: Any) -> Any:
        event.time, event.done = self.clock, self.done
        return event

    def elapsed(self, start: Any, end: Any) -> float:
        return float(end.time - start.time)

    def graph(self, name: str, *times: float) -> Any:
        left = list(times)

        def launch(stream: Device) -> None:
            self.launched.append(name)
            self.clock += left.pop(0) if len(left) > 1 else left[0]

        return SimpleNamespace(launch=launch)


@pytest.mark.parametrize(("times", "fastest"), [((2.0, 3.0), "a"), ((3.0, 2.0), "b"), ((2.0, 2.0), "a")])
def test_the_fastest_stays_once_all_were_timed(times: tuple[float, float], fastest: str) -> None:
    device = Device()
    device.done = True
    trial = GraphTrial(device, [device.graph("a", 99, times[0]), device.graph("b", 50, times[1])])
    for _ in range(2 * TRIED + 3):
        trial.launch(device)
    assert device.launched == ["a", "b"] * TRIED + [fastest] * 3


def test_turns_go_on_while_the_device_is_behind() -> None:
    device = Device()
    trial = GraphTrial(device, [device.graph("a", 1), device.graph("b", 2)])
    for _ in range(2 * TRIED + 3):
        trial.launch(device)
    assert device.launched == (["a", "b"] * (TRIED + 2))[: 2 * TRIED + 3]
    assert len(trial.events) == 2 * TRIED
    trial.events[-1][1].done = True
    for _ in range(2):
        trial.launch(device)
    assert device.launched[-2:] == ["a", "a"]
