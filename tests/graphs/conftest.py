from __future__ import annotations

from pathlib import Path

import pytest

from netpart.data.make.digits import make_digits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place from which ../../data holds the digits and a text, as it does from graphs/FAMILY."""
    pytest.importorskip("sklearn")
    root = tmp_path_factory.mktemp("zoo")
    make_digits(root / "data" / "digits")
    (root / "data" / "python.txt").write_bytes(20 * Path(__file__).read_bytes())
    (root / "graphs" / "family").mkdir(parents=True)
    return root / "graphs" / "family"
