"""The folders beside the code are found wherever netpart was installed from (tests/house/test_wheel.py: a wheel)."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart import resources
from netpart.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]


def test_a_checkout_serves_its_own_folders() -> None:
    assert resources.zoo_folder() == ROOT / "graphs"
    assert resources.resource_folder("proto") == ROOT / "proto"


def test_an_installed_copy_is_found_under_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = tmp_path / "share" / "netpart" / "graphs"
    zoo.mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "netpart" / "resources.py"))
    assert resources.zoo_folder() == zoo


def test_a_folder_that_is_nowhere_is_reported_with_the_places_searched() -> None:
    with pytest.raises(ConfigError, match=r"folder graffs: expected one of \S+graffs, got none of them"):
        resources.resource_folder("graffs")
