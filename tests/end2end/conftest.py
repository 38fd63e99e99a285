"""Real processes take real seconds: `make check` omits every test here."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/end2end/"):
            item.add_marker(pytest.mark.slow)
