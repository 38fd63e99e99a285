"""Every socket has its limits: they are made in one place, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT

MADE = {
    "netpart/transport/sockets.py": 1,  # limited()
    "netpart/launch/teams/ray_cluster.py": 1,  # asks whether a head listens; nothing is sent or heard
    "netpart/launch/control/address.py": 2,  # ask the kernel for a route, and for a port; nothing is sent or heard
}
MAKERS = ("socket", "socketpair", "create_server", "create_connection", "fromfd")


def makers(path: Path) -> Iterator[ast.Call]:
    """The calls in a file that make a socket: context.socket(), socket.socket(), zmq.Socket()."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in MAKERS or ast.unparse(node.func) in ("zmq.Socket", "Socket"):
                yield node


def test_sockets_are_made_with_their_limits() -> None:
    files = sorted((ROOT / "netpart").rglob("*.py"))
    found = {str(path.relative_to(ROOT)): len(list(makers(path))) for path in files}
    assert {name: count for name, count in found.items() if count} == MADE
