"""Writes all packets of a network interface to a file: ``python capture.py INTERFACE FILE``, as root.

It prints a line when it listens, and ends with SIGTERM. ``flows`` reads the file.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ALL, FORCE_RECEIVE_BUFFER, ETHERNET = 3, 33, 14
"""ETH_P_ALL, SO_RCVBUFFORCE, and the bytes in front of a packet of IP."""
LARGEST = 1 << 17
Flow = tuple[bytes, int, bytes, int]
"""Address and port that send, address and port that receive."""


def capture(interface: str, path: Path) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as packets, path.open("wb", 0) as file:
        packets.setsockopt(socket.SOL_SOCKET, FORCE_RECEIVE_BUFFER, 1 << 28)
        packets.bind((interface, 0))
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        while True:
            packet = packets.recv(LARGEST)
            file.write(struct.pack("<I", len(packet)) + packet)


def packets_of(path: Path) -> Iterator[bytes]:
    """The packets in a file that may still grow."""
    read = path.read_bytes()
    at = 0
    while at + 4 <= len(read) and at + 4 + (size := struct.unpack_from("<I", read, at)[0]) <= len(read):
        yield read[at + 4 : at + 4 + size]
        at += 4 + size


def flows(path: Path) -> dict[Flow, bytes]:
    """What each side of each connection of TCP over IPv4 sent, as it came by."""
    found = defaultdict[Flow, bytearray](bytearray)
    for packet in packets_of(path):
        body = packet[ETHERNET:]
        if packet[12:14] != b"\x08\x00" or body[9] != socket.IPPROTO_TCP:
            continue
        tcp = body[4 * (body[0] & 15) : struct.unpack_from(">H", body, 2)[0] or None]
        source, target = struct.unpack_from(">HH", tcp)
        found[body[12:16], source, body[16:20], target] += tcp[4 * (tcp[12] >> 4) :]
    return {flow: bytes(sent) for flow, sent in found.items()}


if __name__ == "__main__":
    capture(sys.argv[1], Path(sys.argv[2]))
