"""Every file of devices in workers/ can be planned with."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.plan.price.devices import read_devices
from netpart.resources import resource_folder


@pytest.mark.parametrize("path", sorted(resource_folder("workers").glob("*.conf")), ids=lambda path: path.stem)
def test_it_names_devices(path: Path) -> None:
    assert len(read_devices(path)) > 1
