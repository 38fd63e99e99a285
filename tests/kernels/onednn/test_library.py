from __future__ import annotations

import gc

import numpy as np
import pytest

from netpart.errors import NetpartError
from netpart.kernels.onednn import library as module
from netpart.kernels.onednn.calls import Calls, PrimitiveStream
from netpart.kernels.onednn.library import HandleOwner, OneDnnRefused, load_onednn, missing_onednn
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, channels_last_strides, share_layout, tidy_strides
from netpart.kernels.onednn.names import Algorithm, Arg, PropKind
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Window
from tests.kernels.harness import normal, peak_bytes, play
from tests.kernels.onednn_kernels import fast, lying, near, needed


def test_a_missing_library_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SONAME", "libmissing.so.3")
    module._find_onednn.cache_clear()
    try:
        assert "libmissing.so.3" in missing_onednn()
        assert "pip install onednn-cpu-gomp" in missing_onednn()
        assert "\n" not in missing_onednn()
        with pytest.raises(NetpartError, match="pip install"):
            load_onednn()
    finally:
        module._find_onednn.cache_clear()


@needed
def test_what_onednn_cannot_do_is_refused() -> None:
    for shape, dtype in (((2, 0), "float32"), ((2, 2), "float64")):
        with pytest.raises(OneDnnRefused, match="expected elements"):
            MemoryDesc.of(np.zeros(shape, dtype))
    one, two = MemoryDesc.of(np.zeros((2, 3), "float32")), MemoryDesc.of(np.zeros((3, 2), "float32"))
    with pytest.raises(OneDnnRefused, match="dnnl_eltwise_forward_primitive_desc_create to be supported, got"):
        PrimitiveDesc("eltwise_forward", PropKind.FORWARD_TRAINING, Algorithm.RELU, one, two, 0.0, 0.0)


@needed
def test_plain_loops_are_refused() -> None:
    gaps = MemoryDesc.strided((4, 4, 4), (64, 9, 2))
    with pytest.raises(OneDnnRefused, match="only the implementation ref"):
        PrimitiveDesc("eltwise_forward", PropKind.FORWARD_TRAINING, Algorithm.RELU, gaps, gaps, 0.0, 0.0)


@needed
def test_temporaries_follow_the_scratch() -> None:
    x, y = normal(1, 4, 6).astype("float32"), np.zeros((4, 6), "float32")
    calls = Calls(PrimitiveStream())
    source, target = DnnlMemory.of(x), DnnlMemory.of(y)
    between = calls.temporary(MemoryDesc.strided((4, 6), (1, 4)))
    calls.reorder(source, between)
    calls.reorder(between, target)
    op = calls.op()
    del calls, source, target, between
    gc.collect()
    for _ in range(3):
        y.fill(77)
        play(op)
        assert np.array_equal(x, y)


@needed
def test_a_copy_is_made_only_where_the_order_differs() -> None:
    x, calls = normal(1, 2, 3, 4, 5).astype("float32"), Calls(PrimitiveStream())
    memory = DnnlMemory.of(x)
    assert calls.ordered(memory, MemoryDesc.of(x)) is memory
    assert calls.target(memory, MemoryDesc.of(x)) is memory
    assert calls.ordered(memory, MemoryDesc.last(x.shape)) is not memory
    assert len(calls.runs) == len(calls.temporaries) == 1


def test_strides_of_axes_of_one_do_not_matter() -> None:
    assert tidy_strides((2, 1, 4, 5), [20, 99, 5, 1]) == channels_last_strides((2, 1, 4, 5)) == [20, 1, 5, 1]
    assert tidy_strides((2, 3, 4), [12, 4, 1]) == [12, 4, 1]
    assert tidy_strides((2, 3, 4), [24, 8, 2]) == [24, 8, 2]


def test_arrays_lie_alike_in_whatever_order() -> None:
    x = np.zeros((2, 3, 4), "float32")
    assert share_layout(x, x.copy())
    assert share_layout(x.transpose(2, 0, 1), x.copy().transpose(2, 0, 1))
    assert not share_layout(x, lying("last", x))
    assert not share_layout(x[:, :2], x[:, :2])
    assert not share_layout(x, x[:1])


@needed
def test_an_owner_frees_what_it_owns() -> None:
    lib, freed = load_onednn(), []
    owner = HandleOwner(lib.create("dnnl_primitive_attr_create"), "dnnl_primitive_attr_destroy")
    destroy = owner._destroy
    owner._destroy = lambda handle: freed.append(destroy(handle))
    del owner
    gc.collect()
    assert freed == [0]


@needed
def test_post_operations_run_in_order() -> None:
    x, other = normal(1, 3, 5).astype("float32"), normal(2, 3, 5).astype("float32")
    y, calls = np.ones((3, 5), "float32"), Calls(PrimitiveStream())
    source = DnnlMemory.of(x)
    target = DnnlMemory.of(y)
    factor = DnnlMemory.of(other)
    post = Attributes().binary(Algorithm.BINARY_MUL, factor.desc).eltwise(Algorithm.LINEAR, 2.0, 1.0)
    desc = PrimitiveDesc("binary", Algorithm.BINARY_ADD, source.desc, source.desc, target.desc, attributes=post)
    calls.add(desc, {Arg.SRC: source, Arg.SRC_1: source, Arg.DST: target, Arg.POST_OP | Arg.SRC_1: factor})
    play(calls.op())
    near(y, 2 * (2 * x * other) + 1)


@needed
def test_a_run_allocates_nothing() -> None:
    x = lying("last", normal(1, 2, 16, 9, 9))
    w = normal(2, 8, 16, 3, 3).astype("float32")
    y = lying("last", normal(3, 2, 8, 7, 7))
    window = Window((3, 3), (1, 1), ((0, 0), (0, 0)))
    assert peak_bytes(fast().convolution(x, w, None, y, window)) < 4096
    assert peak_bytes(fast().convolution_weights(x, y, w, None, window)) < 4096
