"""The server of the page: who is refused, and that no client holds up another one or the end of a run."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from time import monotonic

import pytest

from netpart.errors import ConfigError
from netpart.live import page_server
from netpart.live.page_server import CONNECTIONS, HEAD_BYTES, PageServer
from netpart.live.run_feed import RunFeed

TOKEN = "secret-token"
SECONDS = 20.0


@pytest.fixture
def feed() -> RunFeed:
    return RunFeed()


@pytest.fixture
def server(feed: RunFeed) -> Iterator[PageServer]:
    graph: Future[bytes] = Future()
    graph.set_result(b"graph")
    with PageServer(0, TOKEN, b"<p>page</p>", feed, lambda: "netpart_up 1.0\n", lambda: graph) as opened:
        yield opened


def connect(server: PageServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), SECONDS)


def ask(server: PageServer, path: str, *headers: str, host: str = "", method: str = "GET") -> str:
    """The whole answer to a request."""
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{server.port}'}", *headers, "", "")
    return send(server, "\r\n".join(lines).encode())


def send(server: PageServer, request: bytes) -> str:
    with connect(server) as stranger:
        stranger.sendall(request)
        return b"".join(iter(lambda: stranger.recv(1 << 16), b"")).decode()


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1]) if answer else 0


def test_the_page_its_metrics_and_its_graph(server: PageServer) -> None:
    page = ask(server, f"/?token={TOKEN}")
    assert status(page) == 200
    assert page.endswith("<p>page</p>")
    assert all(header in page for header in ("no-store", "no-referrer", "nosniff", "DENY", "same-origin"))
    metrics = ask(server, "/metrics", f"Authorization: Bearer {TOKEN}")
    assert status(metrics) == 200
    assert "version=0.0.4" in metrics
    assert metrics.endswith("netpart_up 1.0\n")
    assert ask(server, f"/graph?token={TOKEN}").endswith("\r\n\r\ngraph")
    assert status(ask(server, f"/?token={TOKEN}", host=f"localhost:{server.port}")) == 200
    assert server.url == f"http://127.0.0.1:{server.port}/?token={TOKEN}"


@pytest.mark.parametrize("path", ["/", "/feed", "/metrics", "/graph", "/../../etc/passwd"])
@pytest.mark.parametrize("shown", ["", "token=", "token=secret-tokeN", "token=%FF%00", f"token=x&token={TOKEN}"])
def test_without_the_token_nothing_is_told(server: PageServer, path: str, shown: str) -> None:
    answer = ask(server, f"{path}?{shown}")
    assert status(answer) == 403
    assert "page" not in answer
    assert "netpart_up" not in answer
    assert TOKEN not in answer


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{}.evil.example"]
)
def test_another_host_is_refused(server: PageServer, host: str) -> None:
    """DNS rebinding: the name of a foreign page leads to this host, with the token of a link that was shared."""
    assert status(ask(server, f"/?token={TOKEN}", host=host.format(server.port))) == 421


def test_nor_are_two_hosts_or_none(server: PageServer) -> None:
    good = f"Host: 127.0.0.1:{server.port}"
    assert status(ask(server, f"/?token={TOKEN}", good)) == 400
    assert status(send(server, f"GET /?token={TOKEN} HTTP/1.1\r\n\r\n".encode())) == 421


@pytest.mark.parametrize(
    "path", ["/../setup.cfg", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/feed/", "/assets/run.js", "/page\0"]
)
def test_there_is_nothing_but_four_paths(server: PageServer, path: str) -> None:
    assert status(ask(server, f"{path}?token={TOKEN}")) == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get"])
def test_nothing_can_be_changed(server: PageServer, method: str) -> None:
    assert status(ask(server, f"/?token={TOKEN}", method=method)) == 405


@pytest.mark.parametrize(
    "request_text", [b"\r\n\r\n", b"hello\r\n\r\n", b"GET / FTP/1\r\n\r\n", b"GET http://[ HTTP/1.1\r\n\r\n",
                     b"\x16\x03\x01\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                     b"GET /?" + b"a=1&" * 30 + b" HTTP/1.1\r\n\r\n"]
)  # fmt: skip
def test_what_is_no_request_is_refused(server: PageServer, request_text: bytes) -> None:
    assert status(send(server, request_text)) == 400


def test_a_huge_head_is_refused(server: PageServer) -> None:
    long = "X: " + "a" * (HEAD_BYTES + 100)
    with connect(server) as stranger:
        stranger.sendall(f"GET / HTTP/1.1\r\n{long}".encode())
        assert stranger.recv(1 << 16).startswith(b"HTTP/1.1 431")
    assert status(ask(server, f"/?token={TOKEN}")) == 200


def test_a_slow_request_is_closed_and_holds_up_nobody(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "HEAD_SECONDS", 0.2)
    with connect(server) as slow:
        slow.sendall(b"GET / HT")
        assert status(ask(server, f"/?token={TOKEN}")) == 200
        assert slow.recv(100) == b""


def test_there_is_a_limit_of_connections(server: PageServer) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            idle = stack.enter_context(connect(server))
            idle.sendall(b"GET")
        assert any(status(ask_or_nothing(server)) == 0 for _ in range(5)), "further ones are closed"
    assert until_answered(server)


def ask_or_nothing(server: PageServer) -> str:
    try:
        return ask(server, f"/?token={TOKEN}")
    except ConnectionError:
        return ""


def until_answered(server: PageServer) -> bool:
    until = monotonic() + SECONDS
    while monotonic() < until:
        if status(ask_or_nothing(server)) == 200:
            return True
    return False


def open_feed(server: PageServer, *headers: str) -> socket.socket:
    reader = connect(server)
    lines = (f"GET /feed?token={TOKEN} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *headers, "", "")
    reader.sendall("\r\n".join(lines).encode())
    return reader


def read_until(reader: socket.socket, text: bytes) -> bytes:
    found = b""
    while text not in found:
        got = reader.recv(1 << 16)
        assert got, f"ended without {text!r}: {found[-200:]!r}"
        found += got
    return found


def test_a_feed_tells_each_change_and_goes_on_where_it_was(server: PageServer, feed: RunFeed) -> None:
    feed.put(a=1)
    with open_feed(server) as reader:
        assert b'"reset"' in read_until(reader, b'"a":1')
        feed.put(b=2)
        assert b'data: {"b":2}\n\n' in read_until(reader, b'"b":2')
    feed.put(c=3)
    with open_feed(server, "Last-Event-ID: 2") as reader:
        found = read_until(reader, b'"c":3')
        assert b'"reset"' not in found
        assert b'"b":2' not in found
    with open_feed(server, "Last-Event-ID: -1; drop") as reader:
        assert b'"reset"' in read_until(reader, b'"c":3')


def open_server(feed: RunFeed) -> PageServer:
    return PageServer(0, TOKEN, b"", feed, str, Future)


def test_pages_get_the_end_before_the_server_ends(feed: RunFeed) -> None:
    with open_server(feed) as server:
        reader = open_feed(server)
        read_until(reader, b"reset")
        feed.put(end={"summary": {}})
    with reader:
        assert b'data: {"end":{"summary":{}}}' in b"".join(iter(lambda: reader.recv(1 << 16), b""))


def test_without_a_page_the_run_ends_at_once(feed: RunFeed) -> None:
    with open_server(feed) as server:
        idle = connect(server)  # browsers open connections ahead of use
        began = monotonic()
    idle.close()
    assert monotonic() - began < 2
    assert not server._thread.is_alive()


def test_a_page_that_is_just_being_loaded_again_gets_the_end(feed: RunFeed) -> None:
    with ExitStack() as run:
        server = run.enter_context(open_server(feed))
        with open_feed(server) as reader:
            read_until(reader, b"reset")
        feed.put(end=1)
        server._tell_loop(server._end_feeds)
        with open_feed(server) as again:
            assert json.loads(b"".join(iter(lambda: again.recv(1 << 16), b"")).split(b"data: ")[1])["end"] == 1
        began = monotonic()
    assert monotonic() - began < 2


def test_a_page_that_does_not_come_back_is_waited_for_a_stated_time(
    feed: RunFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "CLOSING_SECONDS", 0.3)
    with open_server(feed) as server:
        stuck = open_feed(server)
        read_until(stuck, b"reset")
        feed.put(large="x" * (16 << 20))  # more than the sockets hold: it is never read
        began = monotonic()
    assert monotonic() - began < 5
    assert not server._thread.is_alive()
    stuck.close()


def test_a_port_in_use_is_said(server: PageServer, feed: RunFeed) -> None:
    with pytest.raises(ConfigError, match=f"--page {server.port}.*free port"):
        PageServer(server.port, TOKEN, b"", feed, str, Future).__enter__()


def test_a_graph_that_cannot_be_drawn_is_said(feed: RunFeed) -> None:
    graph: Future[bytes] = Future()
    graph.set_exception(ConfigError("the graph", "Graphviz", "none", "install it"))
    with PageServer(0, TOKEN, b"", feed, str, lambda: graph) as server:
        answer = ask(server, f"/graph?token={TOKEN}")
    assert status(answer) == 503
    assert "Graphviz" in answer
