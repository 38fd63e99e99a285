"""Addresses of hosts: tcp://HOST:PORT, where HOST is a name, an IPv4 address, or an IPv6 address in brackets.

A name with both kinds of address stands for the IPv4 one, on every host.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any

from netpart.errors import ConfigError, NetpartError

TCP = "tcp://"
LIKE = "an address like tcp://10.0.0.1:5555"
ANY_PORT = "*"
DISCARD = 9
"""The port used to look up a route. Nothing is sent to it."""
FAR = "give the one by which the other hosts reach this host, as `ip address` shows it"


def is_tcp_address(address: str) -> bool:
    """True for an address that other hosts may reach, so that its links are encrypted and monitored."""
    return address.startswith("tcp:")


def host_and_port(address: str, who: str, free: bool = False) -> tuple[str, str]:
    """Split tcp://HOST:PORT, given by ``who``, into host (without brackets) and port. With ``free`` the port may be *.

    Raises ConfigError for any other text. If an IPv6 address lacks its brackets, the error shows how to write it.
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
        raise ConfigError(who, "a port from 1 to 65535", f"{port[:20]} in {address[:80]}", "choose one that is free")
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
    """The address that was probably meant, if ``address`` is an IPv6 address without brackets, port or scheme; ""
    otherwise."""
    rest = address.removeprefix(TCP)
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

    Raises ConfigError for an address that other hosts could not use, NetpartError for an unknown name.
    """
    host, port = host_and_port(address, who, free)
    try:
        number = _resolve_host(host)[-1][0]
    except OSError as error:
        raise NetpartError(f"{who}: expected a host that is known, got {error} for {host}; check its name") from None
    known = ip_address(number)
    # A host's own name may resolve to loopback (127.0.1.1 on Debian), which other hosts cannot reach.
    if known.is_unspecified or (known.is_loopback and not _is_ip_address(host) and host != "localhost"):
        raise ConfigError(who, "an address of this host", number, FAR)
    return tcp_address(number, port)


def resolve_peer_address(address: str, who: str) -> str:
    """``address`` in a form that ZeroMQ can resolve.

    ZeroMQ looks up names in IPv4 only, again for each attempt. So a name that has only an IPv6 address is replaced by
    that address. Raises ConfigError.
    """
    host, port = host_and_port(address, who)
    with suppress(OSError):  # the name may become known later
        family = _resolve_host(host)[0]
        number = _resolve_host(host)[-1][0]
        return tcp_address(number, port) if family == socket.AF_INET6 else address
    return address


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


def is_loopback(number: str) -> bool:
    """True for 127.0.0.1, ::1 and other loopback addresses."""
    return ip_address(number).is_loopback
