"""What travels with netpart but is no code: its folders graphs (the zoo), proto, workers, and its version."""

from __future__ import annotations

import site
import sysconfig
from pathlib import Path

from netpart.errors import ConfigError


def zoo_folder() -> Path:
    """Returns the folder of the zoo's job configs, one sub-folder per family; raises ConfigError if it is missing."""
    return resource_folder("graphs")


def resource_folder(name: str) -> Path:
    """Returns the folder ``name`` of the project: that of the checkout (or editable install), or an installed copy.

    Raises ConfigError with the places that were searched.
    """
    places = [root / name for root in _resource_roots()]
    for place in places:
        if place.is_dir():
            return place
    searched = ", ".join(map(str, places))
    raise ConfigError(f"folder {name}", f"one of {searched}", "none of them", "install netpart again with pip")


def installed_version() -> str:
    """Returns the version of the installed netpart, 0+unknown for a checkout that was never installed."""
    from importlib import metadata

    try:
        return metadata.version("netpart")
    except metadata.PackageNotFoundError:
        return "0+unknown"


def _resource_roots() -> list[Path]:
    """A checkout comes first: an editable install also leaves a copy in share/, and that copy grows stale."""
    above = Path(__file__).resolve().parents[1]
    if (above / "setup.cfg").is_file():
        return [above]
    prefixes: list[str | Path] = [sysconfig.get_path("data"), above, site.getuserbase()]
    return [Path(prefix) / "share" / "netpart" for prefix in prefixes]
