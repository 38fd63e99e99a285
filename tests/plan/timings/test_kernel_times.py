"""Kernel times: timed once, looked up afterwards, and estimated when the budget is spent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.kernels.reference import Kernels
from netpart.layers.layer import Layer
from netpart.plan.timings import call_times
from netpart.plan.timings.copy_calls import window_call
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.kernel_times import KernelTimes
from netpart.plan.timings.part_question import PartQuestion
from netpart.plan.timings.product_speed import CoreWait
from netpart.proto.updater_pb2 import ChangeMethod, LRGenProto, UpdaterProto, UpdaterType
from netpart.spec import Spec
from tests.laws.cases import Case

FIGURES = HostFigures(1e9, 1e9)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def product(rows: int) -> Layer:
    conf = "innerproduct_conf { num_output: 64 } param { } param { }"
    return Case("kInnerProduct", conf, (Spec((rows, 64)),)).layer()


def question(rows: int) -> PartQuestion:
    layer = product(rows)
    return PartQuestion(layer, layer.output.whole, wanted=(True,), trains=True)


def times(budget: float = 60.0) -> KernelTimes:
    return KernelTimes(Kernels, "float32", 1, FIGURES, budget)


def test_a_part_is_timed_once() -> None:
    first = times()
    found = first.part_seconds(question(8))
    assert all(0 < seconds < 0.1 for seconds in found)
    assert (first.timed, first.estimated) == (3, 0)
    assert first.part_seconds(question(8)) == found
    first.save()
    again = times(0)
    assert again.part_seconds(question(8)) == found
    assert (again.timed, again.estimated) == (0, 0)


def test_without_a_budget_the_nearest_is_taken() -> None:
    first = times()
    found = first.part_seconds(question(512))  # fewer rows take little more than a call that does nothing
    first.budget = 0
    more = first.part_seconds(question(1024))
    assert first.estimated == 3
    assert all(1.2 < b / a < 2.2 for a, b in zip(found, more, strict=True))


def test_updates_are_timed_by_rule_and_size() -> None:
    rate = LRGenProto(type=ChangeMethod.kFixed, base_lr=0.1)
    rules = [UpdaterProto(type=UpdaterType.kSGD, momentum=0.9), UpdaterProto(type=UpdaterType.kAdamW)]
    for rule in rules:
        rule.learning_rate.CopyFrom(rate)
    found = times()
    small, large = (found.update_seconds(rules[0], n) for n in (100, 1 << 20))
    assert 0 < small < large
    assert found.update_seconds(rules[1], 1 << 20) > large
    rules[0].learning_rate.base_lr = 3.0
    assert found.update_seconds(rules[0], 100) == small
    assert (found.timed, found.estimated) == (3, 0)


def test_a_large_part_is_timed_in_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list[int]()

    def note_rows(op: object, recent: list[object], *more: object) -> float:
        rows.append(recent[0].shape[0])  # type: ignore[attr-defined]
        return 1.0

    monkeypatch.setattr(call_times, "time_op", note_rows)
    asked = question(1 << 20)
    assert times().part_seconds(asked).forward == pytest.approx((1 << 20) / rows[0])
    assert rows[0] == asked.with_fewer_rows().region[0][1] < 1 << 20


def test_a_copy_into_narrow_windows_takes_longer_than_one_of_a_run() -> None:
    found = times()
    run = found.window_seconds((64, 2048), (128, 2048), ())
    narrow = found.window_seconds((1 << 14, 8), (1 << 14, 16), ())
    assert 0 < run < narrow
    assert found.window_seconds((64, 2048), (128, 2048), ()) == run
    assert (found.timed, found.estimated) == (2, 0)


def test_of_a_large_copy_fewer_rows_are_timed() -> None:
    call = window_call(Kernels(np, np.float32), (1 << 20, 32), (1 << 20, 64), ())
    assert [array.shape for array in call.recent] == [(1 << 18, 32)]
    assert call.ratio == 4.0


def test_a_call_is_timed_again_if_the_core_is_slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([3.0, 2.0, 4.0])
    slowed = iter([True, True, False])
    monkeypatch.setattr(call_times, "time_op", lambda *args: next(seconds))
    monkeypatch.setattr(CoreWait, "wait", lambda self: next(slowed))
    assert times().window_seconds((1,), (1,), ()) == 2.0
