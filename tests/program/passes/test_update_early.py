"""Early updates: never before the last use of what they touch, and behind sends, which others wait for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.instructions import Channel, Copy, Instruction, Send, Update, Way, Zero
from netpart.program.passes.update_early import update_early

BUFFERS = [
    Buffer("w", (4,), "float", FIXED),
    Buffer("bucket", (8,), "float", FIXED),
    Buffer("dw", (4,), "float", ALIAS, 1, 0),
    Buffer("other", (4,), "float", ARENA),
]
W, BUCKET, DW, OTHER = (View(b, tuple((0, n) for n in buffer.shape)) for b, buffer in enumerate(BUFFERS))
UPDATE, OTHER_UPDATE = Update(0, W, (DW,)), Update(1, W, (BUCKET,))
SEND = Send(OTHER, 1, Channel(1, Way.FORWARD, 0, 0), "other")


def test_an_update_follows_the_last_use_and_the_sends_behind_it() -> None:
    before: list[Instruction] = [Copy(DW, W), SEND, SEND, Zero(OTHER), Zero(OTHER), UPDATE]
    assert update_early(BUFFERS, before) == [*before[:3], UPDATE, *before[3:5]]


def test_an_update_that_needs_the_norm_stays() -> None:
    before: list[Instruction] = [Copy(DW, W), Zero(OTHER), Update(0, W, (DW,), OTHER)]
    assert update_early(BUFFERS, before) == before


def test_who_touches_the_bucket_touches_its_gradients() -> None:
    before: list[Instruction] = [Zero(DW), Zero(BUCKET), Zero(OTHER), UPDATE]
    assert update_early(BUFFERS, before) == [Zero(DW), Zero(BUCKET), UPDATE, Zero(OTHER)]


@given(st.lists(st.sampled_from([Zero(W), Zero(BUCKET), Zero(DW), Zero(OTHER), SEND]), max_size=12))
def test_everything_else_keeps_its_order_and_nothing_is_used_after_its_update(found: list[Instruction]) -> None:
    after = update_early(BUFFERS, [*found, UPDATE, OTHER_UPDATE])
    assert [i for i in after if not isinstance(i, Update)] == found
    first = after.index(UPDATE)
    assert after.index(OTHER_UPDATE) == first + 1
    assert not {Zero(W), Zero(BUCKET), Zero(DW)} & set(after[first:])
