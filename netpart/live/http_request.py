"""Requests of a browser: the little of HTTP/1.1 that the page's server understands, and who is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

LOOPBACK_NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class HttpRequest:
    """The head of a request. ``headers`` have lower-case names."""

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpRefusal(Exception):
    """An answer with an error: its ``status`` and the ``text`` that says what to do."""

    status: str
    text: str


def parse_request(head: bytes) -> HttpRequest:
    """The request whose head is ``head``. Raises HttpRefusal for anything else."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise HttpRefusal("400 Bad Request", "expected a request of HTTP/1.1")
    try:
        url = urlsplit(words[1])
        query = parse_qs(url.query, max_num_fields=20)
    except ValueError:
        raise HttpRefusal("400 Bad Request", "expected a URL") from None
    return HttpRequest(words[0], url.path, query, _parse_headers(lines))


def _parse_headers(lines: list[str]) -> dict[str, str]:
    """Headers by their names in lower case. Raises HttpRefusal for a Host header that comes twice."""
    found: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or (name == "host" and name in found):
            raise HttpRefusal("400 Bad Request", "expected headers, and one Host")
        found[name] = value.strip()
    return found


def check_request(request: HttpRequest, port: int, token: str) -> None:
    """Raise HttpRefusal unless ``request`` only reads, names this server, and shows the ``token``.

    The Host header is checked because a page of another site can have a name that leads to 127.0.0.1; its requests
    then carry that name (DNS rebinding).
    """
    if request.method != "GET":
        raise HttpRefusal("405 Method Not Allowed", "expected GET: nothing can be changed here")
    if request.headers.get("host", "").lower() not in [f"{name}:{port}" for name in LOOPBACK_NAMES]:
        raise HttpRefusal("421 Misdirected Request", f"expected the host 127.0.0.1:{port}; forward the same port")
    if not compare_digest(_shown_token(request).encode(), token.encode()):
        raise HttpRefusal("403 Forbidden", "expected the token of this run: use the URL that netpart run printed")


def _shown_token(request: HttpRequest) -> str:
    """The token in the URL, or of the Authorization header; "" without one."""
    kind, _, shown = request.headers.get("authorization", "").partition(" ")
    return shown.strip() if kind.lower() == "bearer" else request.query.get("token", [""])[0]
