"""Copies by several threads are copies, of whatever shape and order."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from netpart.data import parallel_copy
from netpart.data.parallel_copy import copy_in_pieces
from netpart.kernels.op import Array


@pytest.mark.parametrize("threads", ["1", "3", "16"])
@pytest.mark.parametrize("shape", [(), (0,), (1, 4096), (5, 700), (64, 33)])
def test_all_is_copied(threads: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(parallel_copy, "PIECE", 1 << 10)
    values = np.random.default_rng(1).random(shape)
    for given in (values, values.T, values.astype("float32")):
        target = np.full(given.shape, np.nan)
        copy_in_pieces(target, given)
        assert np.array_equal(target, given)


def test_several_threads_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(parallel_copy, "PIECE", 1 << 10)
    both, seen = threading.Barrier(2), set[int]()

    def copied(target: Array, values: Array) -> None:
        both.wait(30)  # a thread that copied both pieces would wait for itself
        seen.add(threading.get_ident())

    monkeypatch.setattr(np, "copyto", copied)
    copy_in_pieces(np.empty((4, 1024)), np.ones((4, 1024)))
    assert len(seen) == 2
    assert threading.get_ident() not in seen


def test_a_small_array_is_copied_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(parallel_copy, "_copy_threads", None)
    target = np.zeros((1000, 1000))
    copy_in_pieces(target, np.ones((1000, 1000)))
    assert target.all()
