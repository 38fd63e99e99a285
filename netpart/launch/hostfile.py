"""Host files: a host per line, "node1:4" for four workers, # for comments; and the way from here to those hosts."""

from __future__ import annotations

import socket
from pathlib import Path

from netpart.errors import ConfigError, NetpartError, came
from netpart.files import read_file

DISCARD = 9
"""A port to ask the way to; nothing is sent there."""
HINT = 'write one, a host per line, as "node1:4"'


def read(path: Path) -> list[str]:
    """The names of the hosts in a file. Raises ConfigError if it cannot be read or names none."""
    try:
        lines = read_file(path).decode().splitlines()
    except OSError as error:
        raise ConfigError(f"--hosts {path}", "a host file", came(error), HINT) from None
    except UnicodeDecodeError:
        raise ConfigError(f"--hosts {path}", "a host file", "no UTF-8 text", HINT) from None
    hosts = [words[0].partition(":")[0] for line in lines if (words := line.partition("#")[0].split())]
    if not hosts:
        raise ConfigError(f"--hosts {path}", "a host file", "one that names none", HINT)
    return hosts


def control_address(path: Path) -> str:
    """Where the coordinator listens for workers on the hosts of a file: a free port of ``own_address``."""
    return f"tcp://{own_address(read(path))}:*"


def own_address(hosts: list[str]) -> str:
    """The address of this host that all of ``hosts`` reach it at; loopback if they are this host.

    Raises NetpartError for a host nobody knows, ConfigError if different hosts are reached from different addresses.
    """
    found = {address for host in hosts if not (address := way_to(host)).startswith("127.")}
    if len(found) > 1:
        several = ", ".join(sorted(found))
        raise ConfigError("--hosts", "one address to be reached at", several, "choose one with --listen")
    return found.pop() if found else "127.0.0.1"


def way_to(host: str) -> str:
    """The address of this host from which packets to ``host`` would leave. Raises NetpartError if there is no way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((host, DISCARD))
        except OSError as error:
            raise NetpartError(f"host {host}: expected to be reachable, got {error}; check its name") from None
        return str(asking.getsockname()[0])
