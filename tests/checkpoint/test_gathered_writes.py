"""Writes past the page cache: the file holds what was written, also where a file system refuses direct writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.checkpoint.gathered_writes import BLOCK, FEWEST, GatheredWrites, allocate_as_in_file, lies_in_pages
from netpart.checkpoint.header import PAGE
from tests.thorough import example_count

SOURCE = np.random.default_rng(3).integers(0, 256, 3 * BLOCK, np.uint8)
LENGTHS = st.sampled_from([1, 7, PAGE, FEWEST, BLOCK - 1, BLOCK]) | st.integers(0, 2 * BLOCK)
Parts = list[tuple[int, int, bool]]
"""A gap before the part, its bytes, and whether it lies in the pages of memory as in those of the file."""
MIXED: Parts = [(3, 5, False), (0, 2 * BLOCK, True), (0, 9, False), (0, FEWEST + PAGE, False), (PAGE, BLOCK + 1, True)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gathered") / "file"


@pytest.fixture
def file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    yield descriptor
    os.close(descriptor)


def check_parts(file: int, parts: Parts) -> GatheredWrites:
    """Write the parts one after the other, and compare the file; return the writer, closed."""
    os.ftruncate(file, 0)
    os.ftruncate(file, sum(gap + nbytes for gap, nbytes, _ in parts))  # as who creates a checkpoint does
    writes, expected, at = GatheredWrites(file), bytearray(), 0
    for gap, nbytes, as_in_file in parts:
        at += gap
        part = allocate_as_in_file(nbytes, at) if as_in_file else np.empty(nbytes + 1, np.uint8)[1:]
        part[:] = SOURCE[:nbytes]
        writes.write(part, at)
        expected += bytes(gap) + part.tobytes()
        at += nbytes
        part = part.copy()  # what is gathered does not change with the array
    writes.flush()
    writes.close()
    assert os.pread(file, at + 1, 0) == bytes(expected)
    return writes


@settings(max_examples=example_count(60))
@given(parts=st.lists(st.tuples(st.integers(0, 2 * PAGE), LENGTHS, st.booleans()), max_size=4))
def test_the_file_holds_what_was_written(path: Path, parts: Parts) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        check_parts(descriptor, parts)
    finally:
        os.close(descriptor)


def test_a_file_that_cannot_be_opened_for_direct_writes(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_DIRECT", os.O_DIRECTORY)
    check_parts(file, MIXED)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
@pytest.mark.parametrize("accepted", [0, 1])
def test_a_file_system_may_refuse_late(
    file: int, monkeypatch: pytest.MonkeyPatch, number: int, accepted: int
) -> None:  # fmt: skip
    plain, left = os.pwrite, [accepted]

    def write(to: int, part: Any, at: int) -> int:
        if to != file:
            if not left[0]:
                raise OSError(number, os.strerror(number))
            left[0] -= 1
        return plain(to, part, at)

    monkeypatch.setattr(os, "pwrite", write)
    assert check_parts(file, MIXED).direct == -1


def test_a_call_may_write_less(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda to, part, at: plain(to, part[: max(1, len(part) - 100)], at))
    check_parts(file, MIXED)


def test_another_error_is_told(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writes = GatheredWrites(file)
    writes.write(SOURCE[:FEWEST], 0)
    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        writes.flush()
    writes.close()


@given(nbytes=st.integers(BLOCK, 2 * BLOCK), at=st.integers(0, 3 * PAGE))
def test_memory_lies_as_in_the_file(nbytes: int, at: int) -> None:
    memory = allocate_as_in_file(nbytes, at)
    assert len(memory) == nbytes
    assert lies_in_pages(memory, at)
    assert not lies_in_pages(memory, at + 1)
