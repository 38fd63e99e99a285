"""Addresses of hosts: tcp://HOST:PORT, where HOST is a name, an IPv4 address, or an IPv6 address in brackets.

A name with both kinds of address stands for the IPv4 one, on every host.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any

from netpart.errors import ConfigError, os_error_text

TCP = "tcp://"
LIKE = "an address like tcp://10.0.0.1:5555"
ANY_PORT = "*"
DISCARD = 9
"""The port used to look up a route. Nothing is sent to it."""
FAR = "give the one by which the other hosts reach this host, as `ip address` shows it"
FREE_PORT, RUN_PORT = "choose one that is free", "use the port of the run's --listen"


def is_tcp_address(address: str) -> bool:
    """True for an address that other hosts may reach, so that its links are encrypted and monitored."""
    return address.startswith("tcp:")


def host_and_port(address: str, who: str, free: bool = False, hint: str = FREE_PORT) -> tuple[str, str]:
    """Split tcp://HOST:PORT, given by ``who``, into host (without brackets) and port. With ``free`` the port may be *.

    Raises ConfigError for any other text. If the port or the brackets of an IPv6 address are missing, the error shows
    how to write it. ``hint`` is the next step for a port that does not exist.
    """
    host, _, port = address.removeprefix(TCP).rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else ""
    if (
        not address.startswith(TCP)
        or not host
        or (bare and not _is_ipv6(bare))
        or (not bare and _is_malformed_host(host))
    ):
        meant = _suggest_address(address)
        raise ConfigError(who, LIKE, repr(address), f"write {meant}" if meant else "")
    if free and port == ANY_PORT:
        return bare or host, port
    if not (port.isascii() and port.isdecimal()):
        raise ConfigError(who, LIKE, repr(address))
    if len(port) > 5 or not 0 < int(port) < 1 << 16:
        raise ConfigError(who, "a port from 1 to 65535", f"{port[:20]} in {address[:80]}", hint)
    return bare or host, port


def _is_malformed_host(host: str) -> bool:
    """True for text that is neither a name nor an IPv4 address."""
    return any(mark in host for mark in ":[]%/ ") or not host.isprintable()


def _is_ipv6(host: str) -> bool:
    """True for an IPv6 address, also one with a scope: fe80::1%eth0."""
    with suppress(ValueError):
        return bool(IPv6Address(host))
    return False


def _suggest_address(address: str) -> str:
    """The address that was probably meant, if ``address`` lacks its port, or is an IPv6 address without brackets, port
    or scheme; "" otherwise."""
    rest = address.removeprefix(TCP)
    if rest != address and rest and not _is_malformed_host(rest):
        return f"{address}:PORT, with a port"
    # Two readings: the last group is the port, or the port is missing. The order says which one to try first.
    whole = (rest, "5555")
    parted = rest.rpartition(":")[::2]
    for host, port in (parted, whole) if rest != address or rest.startswith("[") else (whole, parted):
        bare = host.removeprefix("[").removesuffix("]")
        if _is_ipv6(bare) and (port.isdecimal() or port == ANY_PORT):
            return tcp_address(bare, port)
    return ""


def tcp_address(host: str, port: str | int) -> str:
    """The inverse of ``host_and_port``."""
    return f"{TCP}[{host}]:{port}" if ":" in host else f"{TCP}{host}:{port}"


def resolve_bind_address(address: str, who: str, free: bool = False) -> str:
    """``address``, given by ``who``, with a numeric host.

    Raises ConfigError for an unknown name, and for an address that other hosts could not use.
    """
    host, port = host_and_port(address, who, free)
    try:
        number = _resolve_host(host)[-1][0]
    except OSError as error:
        raise ConfigError(who, "a host that is known", f"{error} for {host}", "check its name") from None
    known = ip_address(number)
    # A host's own name may resolve to loopback (127.0.1.1 on Debian), which other hosts cannot reach.
    if known.is_unspecified or (known.is_loopback and not _is_ip_address(host) and host != "localhost"):
        raise ConfigError(who, "an address of this host", number, FAR)
    return tcp_address(number, port)


def check_listen_address(address: str, who: str) -> None:
    """Raise ConfigError unless this host can listen at ``address``, which has a numeric host, and a port or *."""
    host, port = host_and_port(address, who, free=True)
    number = 0 if port == ANY_PORT else int(port)
    try:
        family, _, _, _, target = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as ZeroMQ does
            probe.bind(target)
    except OSError as error:
        raise usable_address_error(who, address, error.errno, os_error_text(error)) from None


def usable_address_error(who: str, address: str, number: int | None, text: str) -> ConfigError:
    """The error for an address at which this host cannot listen, by the number and the text of the system's error."""
    elsewhere = number in (errno.EADDRNOTAVAIL, errno.ENODEV)
    hint = "use an address of this host" if elsewhere else "use a free port"
    return ConfigError(who, f"{address} to be usable", text, hint)


def resolve_peer_address(address: str, who: str) -> str:
    """``address`` in a form that ZeroMQ can resolve.

    ZeroMQ looks up names in IPv4 only, again for each attempt. So a name that has only an IPv6 address is replaced by
    that address. Raises ConfigError.
    """
    host, port = host_and_port(address, who, hint=RUN_PORT)
    if _is_ip_address(host) and ip_address(host).is_unspecified:
        raise ConfigError(who, "the address of one host", host, "use the address of the run's --listen")
    with suppress(OSError):  # the name may become known later
        family = _resolve_host(host)[0]
        number = _resolve_host(host)[-1][0]
        return tcp_address(number, port) if family == socket.AF_INET6 else address
    return address


def unknown_host_text(address: str) -> str:
    """Why the host of tcp://HOST:PORT is unknown, "" if it is known. It may become known later."""
    host, _ = host_and_port(address, "address")
    try:
        _resolve_host(host)
    except OSError as error:
        return f"{host} is not a known host: {os_error_text(error)}"
    return ""


def source_address(host: str, port: str | int = DISCARD) -> str:
    """The address of this host from which packets to ``host`` leave, according to its routes. Nothing is sent.

    Raises OSError if there is no route.
    """
    family, target = _resolve_host(host, port)
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        # Connecting a UDP socket sends nothing, but the kernel chooses the route and binds the local address.
        asking.connect(target)
        return numeric_host(asking.getsockname())


def _resolve_host(host: str, port: str | int = DISCARD) -> tuple[int, Any]:
    """Address family and socket address of a host, with its numeric form first; the IPv4 one if there is one. Raises
    OSError."""
    every = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    family, _, _, _, target = min(every, key=lambda each: each[0] != socket.AF_INET)
    return family, (numeric_host(target), *target[1:])


def numeric_host(target: Any) -> str:
    """The number of a socket address, with the name of its interface if it is valid on that interface only."""
    number = str(target[0])
    scoped = len(target) > 3 and target[3] and "%" not in number
    return f"{number}%{socket.if_indextoname(target[3])}" if scoped else number


def _is_ip_address(host: str) -> bool:
    """True for an IPv4 or IPv6 address."""
    with suppress(ValueError):
        return bool(ip_address(host))
    return False


def is_loopback_address(address: str) -> bool:
    """True for tcp://HOST:PORT with a host that is known, and a loopback address."""
    host, _ = host_and_port(address, "address", free=True)
    with suppress(OSError):
        return is_loopback(_resolve_host(host)[-1][0])
    return False


def is_loopback(number: str) -> bool:
    """True for 127.0.0.1, ::1 and other loopback addresses."""
    return ip_address(number).is_loopback
