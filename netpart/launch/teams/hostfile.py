"""Host files: one host per line, "node1:4" for four workers, # for comments; and the address from which they are
reached."""

from __future__ import annotations

from pathlib import Path

from netpart.errors import ConfigError, os_error_text
from netpart.files import read_file
from netpart.launch.control import address
from netpart.launch.control.address import ANY_PORT, is_loopback, tcp_address

HINT = 'write one, a host per line, as "node1:4"'


def read_hostfile(path: Path) -> list[str]:
    """The names of the hosts in a file.

    Raises ConfigError if it cannot be read or names no host, or for an IPv6 address: mpiexec would read it as a name
    and a number of workers.
    """
    try:
        lines = read_file(path).decode().splitlines()
    except OSError as error:
        raise ConfigError(f"--hosts {path}", "a host file", os_error_text(error), HINT) from None
    except UnicodeDecodeError:
        raise ConfigError(f"--hosts {path}", "a host file", "no UTF-8 text", HINT) from None
    words = [found[0] for line in lines if (found := line.partition("#")[0].split())]
    for word in words:
        if word.count(":") > 1 or "[" in word:
            hint = "give the host a name, in /etc/hosts or DNS"
            raise ConfigError(f"--hosts {path}", "names or IPv4 addresses, as mpiexec reads them", word, hint)
    hosts = [word.partition(":")[0] for word in words]
    if not hosts:
        raise ConfigError(f"--hosts {path}", "a host file", "one that names none", HINT)
    return hosts


def remote_control_address(path: Path) -> str:
    """Where the coordinator listens for workers on the hosts of a file: a free port at ``common_source_address``."""
    return tcp_address(common_source_address(read_hostfile(path)), ANY_PORT)


def common_source_address(hosts: list[str]) -> str:
    """The one address of this host at which all of ``hosts`` reach it; loopback if they are all this host.

    Raises ConfigError for an unknown host, and if different hosts are reached from different addresses.
    """
    found = {way for host in hosts if not is_loopback(way := require_source_address(host))}
    if len(found) > 1:
        several = ", ".join(sorted(found))
        raise ConfigError("--hosts", "one address to be reached at", several, "choose one with --listen")
    return found.pop() if found else "127.0.0.1"


def require_source_address(host: str) -> str:
    """The address of this host from which packets to ``host`` would leave. Raises ConfigError if there is no route."""
    try:
        return address.source_address(host)
    except OSError as error:
        raise ConfigError(f"host {host}", "to be reachable", str(error), "check its name") from None
