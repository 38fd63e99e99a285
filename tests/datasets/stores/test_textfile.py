from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.stores.textfile import TextStore

LINES = st.lists(st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=12), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "lines.csv"


@given(lines=LINES, ending=st.sampled_from(["\n", "\r\n"]), closed=st.booleans())
def test_a_record_is_a_line_and_its_key_the_number(path: Path, lines: list[str], ending: str, closed: bool) -> None:
    closed = closed or not lines[-1]  # an empty last line is one only if it is ended
    path.write_bytes((ending.join(lines) + ending * closed).encode())
    with TextStore(path) as store:
        assert [store.value(i).decode() for i in range(len(store))] == lines
        assert [store.key(i) for i in range(len(store))] == [str(i).encode() for i in range(len(lines))]
