from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.graph.partition import partition_job
from netpart.kernels.arguments import AttentionArguments
from netpart.kernels.choose import kernel_class
from netpart.kernels.cuda import fused_attention
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.reference import Kernels
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.reader import read_job
from tests.cuda.agreement import DTYPES, ORDERS, afresh, agree, fast, play
from tests.cuda.module import cupy, provide
from tests.kernels.harness import normal, rubbish
from tests.trained.texts import gpt

ALL = True, True, True
WANTED = st.sampled_from([ALL, (True, False, False), (False, True, False), (False, False, True)])


def both_ways(
    queries: int, keys: int, width: int, values: int, first: int | None = None, lead: tuple[int, ...] = (1, 2),
    wanted: tuple[bool, bool, bool] = ALL, heads_inside: bool = False, scale: float = 0.7, size: float = 1,
    dtype: str = "float64", order: str = "plain", tolerance: float = 0,
    precision: str = "float32",
) -> None:  # fmt: skip
    """Asserts that attention and its wanted gradients are those of the reference.

    ``heads_inside``: memory has the axes of heads and rows in the other order.
    """
    shapes = [(*lead, n, m) for n, m in ((queries, width), (keys, width), (keys, values), (queries, values))]
    q, k, v, dy = (normal(i, *shape) for i, shape in enumerate(shapes))
    gradients = [rubbish(*shape) if w else None for shape, w in zip(shapes, wanted, strict=False)]

    def turned(x: Array | None) -> Array | None:
        return x.swapaxes(-2, -3) if heads_inside and x is not None else x

    def bind(kernels: Kernels, *arrays: Array) -> Op:
        q, k, v, y, dy, dq, dk, dv = map(turned, arrays)
        kept = kernels.xp.zeros(kernels.attention_keeps((*lead, queries, keys), width, values), dtype)
        forward = kernels.attention(AttentionArguments(q, k, v, y, kept, scale, first))
        return chain_ops(
            forward, kernels.attention_gradient(AttentionArguments(q, k, v, y, kept, scale, first), dy, dq, dk, dv)
        )

    given = [np.ascontiguousarray(turned(x)) for x in (size * q, size * k, v, rubbish(*dy.shape), dy)]
    agree(bind, *given, *map(turned, gradients), dtype=dtype, order=order, tolerance=tolerance, precision=precision)


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 5)] * 4), st.sampled_from([None, 0, 2]), WANTED, DTYPES, ORDERS, st.booleans())
def test_agrees_with_the_reference(
    extents: tuple[int, int, int, int], first: int | None, wanted: tuple[bool, bool, bool], dtype: str, order: str,
    heads_inside: bool,
) -> None:  # fmt: skip
    queries, keys, width, values = extents
    both_ways(
        queries, max(1, keys), width, values, first, (2, 3), wanted, heads_inside, dtype=dtype, order=order
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "values", "first"),
    [
        (70, 70, 16, 16, 0),  # a tile and a bit
        (33, 130, 8, 20, 97),  # the last queries of a part
        (130, 40, 33, 17, None),  # widths that no pack divides
        (65, 97, 64, 32, 20),  # the last queries see all keys
        (40, 3, 128, 128, 0),
        (1, 200, 12, 48, None),
        (40, 50, 8, 130, 10),  # too wide for tiles
    ],
)
def test_agrees_over_several_tiles(
    queries: int, keys: int, width: int, values: int, first: int | None, dtype: str
) -> None:  # fmt: skip
    both_ways(queries, keys, width, values, first, dtype=dtype, scale=width**-0.5)


def test_where_blocks_are_many_each_has_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_attention, "FULL", 1)
    both_ways(70, 70, 4, 4, 0, dtype="float32")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("whose", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("queries", "keys", "width"), [(70, 70, 16), (33, 50, 6), (5, 40, 34), (20, 20, 64)])
def test_rows_are_rotated_while_they_are_read(
    queries: int, keys: int, width: int, whose: tuple[bool, bool], dtype: str
) -> None:
    shapes = (2, queries, width), (2, keys, width), (2, keys, 8), (2, queries, 8)
    q, k, v, dy = (normal(i, *shape) for i, shape in enumerate(shapes))
    rows = zip((queries, keys), whose, strict=True)
    angles = [normal(5 + i, n, width // 2) if each else None for i, (n, each) in enumerate(rows)]

    def by_reference(kernels: Any, args: AttentionArguments, dy: Array, *made: Array) -> Op:
        turned = [rubbish(*x.shape, dtype=dtype) for x in (args.q, args.k)]
        back = [rubbish(*x.shape, dtype=dtype) for x in (args.q, args.k)]
        pairs = [(x, t, b, d, a) for x, t, b, d, a in zip(args[:2], turned, back, made, angles, strict=False)]
        ahead = [kernels.copy(t, x) if a is None else kernels.rotate(x, t, a) for x, t, _, _, a in pairs]
        after = [kernels.copy(d, b) if a is None else kernels.rotate(b, d, a, -1) for _, _, b, d, a in pairs]
        given = args._replace(q=turned[0], k=turned[1])
        return chain_ops(
            *ahead, kernels.attention(given), kernels.attention_gradient(given, dy, *back, made[2]), *after
        )

    def bind(kernels: Any, q: Array, k: Array, v: Array, y: Array, dy: Array, *made: Array) -> Op:
        kept = kernels.xp.zeros(kernels.attention_keeps((2, queries, keys), width, 8), dtype)
        args = AttentionArguments(q, k, v, y, kept, 0.3, keys - queries if keys > queries else 0)
        if not kernels.turns_rows:
            return by_reference(kernels, args, dy, *made)
        by_queries, by_keys = (None if a is None else kernels.xp.asarray(a) for a in angles)
        args = args._replace(turns=(by_queries, by_keys))
        return chain_ops(kernels.attention(args), kernels.attention_gradient(args, dy, *made))

    gradients = [rubbish(*shape) for shape in shapes[:3]]
    agree(bind, q, k, v, rubbish(*dy.shape), dy, *gradients, dtype=dtype)


@pytest.mark.parametrize("values", [4, 130])
def test_large_scores(values: int) -> None:
    both_ways(40, 70, 8, values, 30, (1, 1), size=100, scale=1)


def test_batches_of_several_axes() -> None:
    both_ways(3, 4, 5, 6, 1, (2, 1, 3, 2))


@pytest.mark.parametrize("keys", [0, 1])
def test_of_no_keys_nothing_and_of_one_its_value(keys: int) -> None:
    xp, kernels = cupy(), fast("float64")
    q, k, v = (xp.asarray(normal(i, 1, 3, 2)[:, :n]) for i, n in enumerate((3, keys, keys)))
    y = xp.asarray(rubbish(1, 3, 2))
    dq = xp.asarray(rubbish(1, 3, 2))
    kept = xp.zeros((1, 3))
    play(chain_ops(
        kernels.attention(AttentionArguments(q, k, v, y, kept, 1.0, None)),
        kernels.attention_gradient(AttentionArguments(q, k, v, y, kept, 1.0), y, dq, None, None),
    ))  # fmt: skip
    assert np.array_equal(y.get(), np.broadcast_to(v.get() if keys else 0, (1, 3, 2)))
    np.testing.assert_allclose(
        dq.get(), 0, atol=1e-15
    )  # of one key 0 but for the rounding of two sums that a GPU fuses


@pytest.mark.parametrize(("precision", "bits"), [("float32", 23), ("tf32", 10), ("bfloat16", 7)])
def test_of_one_key_its_value_in_the_precision_of_products(precision: str, bits: int) -> None:
    xp, kernels = cupy(), fast("float32", precision)
    q, v = (xp.asarray(normal(i, 1, 1, 40).astype("float32")) for i in range(2))
    y, kept = xp.asarray(rubbish(1, 1, 40, dtype="float32")), xp.zeros((1, 1), "float32")
    play(kernels.attention(AttentionArguments(q, q, v, y, kept, 1.0, None)))
    mantissa, exponent = np.frexp(v.get().astype("float64"))
    assert np.array_equal(y.get(), np.ldexp(np.rint(np.ldexp(mantissa, bits + 1)), exponent - bits - 1))


def test_keeps_a_number_for_each_query() -> None:
    kernels = fast("float64")
    assert kernels.attention_keeps((2, 8, 4096, 4096), 64, 128) == (2, 8, 4096)
    assert kernels.attention_keeps((2, 8, 4096, 4096), 64, 129) == (2, 8, 4096, 4096)


def test_gives_the_same_bits_twice() -> None:
    xp = cupy()
    kernels = fast("float32")
    found = []
    q, k, v, dy = (xp.asarray(normal(i, 1, 2, 70, 8).astype("float32")) for i in range(4))
    for _ in range(2):
        y, dq, dk, dv = (xp.asarray(rubbish(1, 2, 70, 8, dtype="float32")) for _ in range(4))
        kept = xp.zeros((1, 2, 70), "float32")
        play(chain_ops(
            kernels.attention(AttentionArguments(q, k, v, y, kept, 0.4, 0)),
            kernels.attention_gradient(AttentionArguments(q, k, v, y, kept, 0.4, 0), dy, dq, dk, dv),
        ))  # fmt: skip
        found.append([x.get() for x in (y, kept, dq, dk, dv)])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_a_gpu_with_too_little_shared_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, xp = afresh(), cupy()
    monkeypatch.setattr(kernels.device, "properties", {"major": 7, "sharedMemPerBlockOptin": 20000})
    x, kept = xp.asarray(normal(1, 1, 3, 128)), xp.zeros((1, 3))
    with pytest.raises(NetpartError, match=r"^attention 128 wide: expected .* bytes of shared memory, got 20000"):
        kernels.attention(AttentionArguments(x, x, x, x, kept, 1.0, None))


@pytest.mark.parametrize("values", [4, 130])
def test_a_captured_gradient_is_replayed_with_its_scratch(values: int) -> None:
    xp, kernels = cupy(), fast("float64")
    q, k, v, y, dy = (xp.asarray(normal(i, 2, 4, width)) for i, width in enumerate((4, 4, values, values, values)))
    p = xp.asarray(normal(5, *kernels.attention_keeps((2, 4, 4), 4, values)))
    gradients = [xp.asarray(rubbish(*x.shape)) for x in (q, k, v)]
    op = kernels.attention_gradient(
        AttentionArguments(q, k, v, y, p, 0.5), dy, gradients[0], gradients[1], gradients[2]
    )
    scratch = [xp.empty(shape, dtype) for shape, dtype in op.scratch]
    op.run(*scratch)
    kernels.device.stream.begin_capture()
    op.run(*scratch)
    graph = kernels.device.stream.end_capture()
    dy.set(normal(9, 2, 4, values))
    graph.launch()
    found = [g.get() for g in gradients]
    play(op)
    assert all(np.array_equal(a, b.get()) for a, b in zip(found, gradients, strict=True))


@pytest.mark.parametrize(("precision", "near"), [("tf32", 2.0**-9), ("bfloat16", 2.0**-6)])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "values", "first"), [(70, 70, 16, 32, 0), (20, 90, 33, 48, 70), (40, 5, 64, 7, None)]
)
def test_tensor_cores_round_what_they_multiply(
    queries: int, keys: int, width: int, values: int, first: int | None, precision: str, near: float
) -> None:  # fmt: skip
    both_ways(
        queries, keys, width, values, first, scale=width**-0.5, dtype="float32", precision=precision, tolerance=near
    )  # fmt: skip


def test_plans_count_what_the_kernels_of_the_device_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provide(monkeypatch)
    monkeypatch.setattr("netpart.program.compile.LINGER", 0)
    held, arenas = [], []
    for device in ("CPU", "CUDA"):
        job = read_job(gpt(tmp_path), [f"device={device}", "kernels=AUTO"]).proto
        cut = partition_job(job, 1, tmp_path)
        held.append({row.name: row.memory for row in tabulate_partition(cut).layers})
        arenas.append(compile_worker(cut, 0, kernels=job_kernel_class(job)).phases["train"].arena)
    layer = next(node.layer for node in cut.graph.net.nodes if node.layer.types == ("kAttention",))
    (pairs, _), (queries, _) = (layer.aux(kernel_class(name), layer.output.whole)[0] for name in ("reference", "cuda"))
    assert pairs == (*queries, queries[-1])
    assert held[0][layer.name] - held[1][layer.name] == 4 * (prod(pairs) - prod(queries))
    assert arenas[1] < arenas[0]
