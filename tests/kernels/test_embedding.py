from __future__ import annotations

import numpy as np
import pytest

from netpart.errors import DataError
from tests.kernels.harness import K, close, normal, peak_bytes, play, rubbish

TOKENS = np.array([[2, 0, 2], [1, 3, 2]], "int32")


def test_rows_of_the_table_and_their_gradient() -> None:
    w = normal(1, 4, 5)
    y = rubbish(2, 3, 5)
    dy = normal(2, 2, 3, 5)
    dw = rubbish(4, 5)
    play(K.embedding(TOKENS, w, y, 0, 4))
    assert np.array_equal(y, w[TOKENS])
    play(K.embedding_gradient(TOKENS, dy, dw, 0))
    close(dw, [dy[token == TOKENS].sum(axis=0) for token in range(4)])


def test_the_parts_of_a_table_make_addends() -> None:
    w, dy = normal(1, 4, 5), normal(2, 2, 3, 5)
    parts, gradients = [rubbish(2, 3, 5) for _ in range(2)], [rubbish(3, 5), rubbish(1, 5)]
    for (lo, hi), y, dw in zip(((0, 3), (3, 4)), parts, gradients, strict=True):
        play(K.embedding(TOKENS, np.ascontiguousarray(w[lo:hi]), y, lo, 4))
        play(K.embedding_gradient(TOKENS, dy, dw, lo))
    assert np.array_equal(parts[0] + parts[1], w[TOKENS])
    close(gradients[1][0], dy[1, 1])


@pytest.mark.parametrize(("token", "vocabulary"), [(-1, 4), (4, 4), (3, 3)])
def test_a_token_outside_the_vocabulary_is_an_error(token: int, vocabulary: int) -> None:
    tokens = np.array([token, 0], "int32")
    with pytest.raises(DataError, match=f"token: expected 0 to {vocabulary - 1}, got {token}"):
        play(K.embedding(tokens, normal(1, 2, 5), rubbish(2, 5), 0, vocabulary))


def test_allocates_nothing() -> None:
    tokens = np.arange(1000, dtype="int32") % 70
    w = normal(1, 70, 20)
    y = normal(2, 1000, 20)
    assert peak_bytes(K.embedding(tokens, w, y, 0, 70)) < 4096
    assert peak_bytes(K.embedding_gradient(tokens, y, w, 0)) < 8192  # where each row begins
