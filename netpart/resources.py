"""Resources that are installed with netpart: the folders graphs (the zoo), proto and workers, and the version."""

from __future__ import annotations

import os
import site
import sysconfig
from pathlib import Path

from netpart.errors import ConfigError


def zoo_folder() -> Path:
    """Return the folder of the zoo's jobs, one sub-folder per family. Raises ConfigError if it is missing."""
    return resource_folder("graphs")


def resource_folder(name: str) -> Path:
    """Return the folder ``name`` of the project: of the checkout (or editable install), or an installed copy.

    Raises ConfigError with the places that were searched.
    """
    places = [root / name for root in _resource_roots()]
    for place in places:
        if place.is_dir():
            return place
    searched = ", ".join(map(str, places))
    raise ConfigError(f"folder {name}", f"one of {searched}", "none of them", "install netpart again with pip")


def installed_version() -> str:
    """Return the version of the installed netpart, "0+unknown" for a checkout that was never installed."""
    from importlib import metadata

    try:
        return metadata.version("netpart")
    except metadata.PackageNotFoundError:
        return "0+unknown"


def _resource_roots() -> list[Path]:
    """The folders that may hold resources, in the order in which they are searched."""
    # A checkout is the only candidate: an editable install also puts a copy into share/, which becomes outdated.
    above = Path(__file__).resolve().parents[1]
    if (above / "setup.cfg").is_file():
        return [above]
    prefixes: list[str | Path] = [sysconfig.get_path("data"), above, site.getuserbase()]
    return [Path(prefix) / "share" / "netpart" for prefix in prefixes]


def user_cache_folder(*names: str) -> Path:
    """The folder of the user's caches, $XDG_CACHE_HOME/netpart or else ~/.cache/netpart, or one in it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "netpart", *names)
