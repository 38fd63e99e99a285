from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.op import Op, chain_ops
from netpart.kernels.reference import Kernels
from tests.kernels.harness import K, normal, peak_bytes, play, rubbish


def test_moves_between_strided_views() -> None:
    whole, src = np.zeros((4, 6)), normal(1, 2, 3)
    view = whole[::2, ::2]
    play(K.copy(view, src))
    play(K.add(view, src))
    assert np.array_equal(whole[::2, ::2], 2 * src)
    assert not whole[1::2].any()
    play(K.zero(view))
    assert not whole.any()


def test_total_adds_in_the_order_of_the_list() -> None:
    dst, parts = rubbish(1), [np.array([v]) for v in (1e16, 1.0, -1e16)]
    play(K.total(dst, parts))
    assert dst.tolist() == [0.0]
    play(K.total(dst, [parts[0], parts[2], parts[1]]))
    assert dst.tolist() == [1.0]
    play(K.total(dst, []))
    assert dst.tolist() == [0.0]


def test_a_mean_is_brought_in_beside_what_has_changed_since() -> None:
    now = np.array([5.0, 7.0])
    total = np.array([9.0, 12.0])
    start = np.array([4.0, 7.0])
    play(K.bring_in(now, total, start, 3))
    assert (now.tolist(), total.tolist(), start.tolist()) == ([4.0, 4.0], [3.0, 4.0], [4.0, 7.0])


def test_ops_of_a_chain_share_the_scratch_that_is_alike() -> None:
    seen: list[list[str]] = []

    def op(*kinds: str) -> Op:
        return Op(lambda *scratch: seen.append([f"{a.dtype} {a[0]:g}" for a in scratch]), [((2,), k) for k in kinds])

    both = chain_ops(op("float32", "float64"), op(), op("float64", "float64"), op("float32"))
    assert both.scratch == [((2,), "float32"), ((2,), "float64"), ((2,), "float64")]
    both.run(*(np.full(shape, i, kind) for i, (shape, kind) in enumerate(both.scratch)))
    assert seen == [["float32 0", "float64 1"], [], ["float64 1", "float64 2"], ["float32 0"]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (0, 2), (7, 5), (3, 2**15), (2**16 + 3,)])
def test_squares_are_added_up_in_float64(dtype: type, shape: tuple[int, ...]) -> None:
    src, dst = normal(1, *shape).astype(dtype) * np.asarray(1e25, dtype), np.array([0.5])
    for view in (src, src[::2]):
        expected = dst[0] + float((view.astype(np.float64) ** 2).sum())
        play(K.add_squares(dst, view))
        np.testing.assert_allclose(dst[0], expected, rtol=1e-13)


def test_squares_allocate_nothing() -> None:
    assert peak_bytes(K.add_squares(np.zeros(1), normal(1, 300, 700).astype(np.float32))) < 4096


def test_empty_arrays_are_nothing_to_do() -> None:
    empty = np.zeros((0, 3))
    for op in (K.zero(empty), K.copy(empty, empty.copy()), K.add(empty, empty.copy()), K.total(empty, [empty.copy()])):
        play(op)


def test_allocates_nothing() -> None:
    dst, src = np.zeros((60, 70))[::2], normal(1, 30, 70)
    ops = [K.zero(dst), K.copy(dst, src), K.add(dst, src), K.total(dst, [src, src])]
    assert max(map(peak_bytes, ops)) < 4096


def test_an_allocation_would_be_seen() -> None:
    x = normal(1, 100, 100)
    assert peak_bytes(Op(lambda: np.copyto(x, x + 1))) >= x.nbytes


def test_only_two_dtypes_compute() -> None:
    with pytest.raises(ValueError, match="float32 or float64, got int32"):
        Kernels(np, "int32")
    assert repr(K) == "Kernels(numpy, float64)"
