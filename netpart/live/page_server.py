"""PageServer: serves a page, its feed and metrics over HTTP on loopback, on a thread of its own.

A browser is a stranger: it may be slow, open many connections, or send anything. Each connection is one task with a
deadline for its request and for each write, so none of them holds up another, or the run. A request has an answer and
the connection ends; only a feed stays open (Server-Sent Events, https://html.spec.whatwg.org/#server-sent-events).
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from time import monotonic

from netpart.errors import ConfigError, NetpartError, os_error_text
from netpart.live.http_request import HttpRefusal, HttpRequest, check_request, parse_request
from netpart.live.run_feed import RunFeed

HOST = "127.0.0.1"
HEAD_BYTES = 8192
"""Largest head of a request."""
HEAD_SECONDS = 5.0
"""Time in which a request has to arrive."""
WRITE_SECONDS = 10.0
"""Time in which a client has to take PIECE_BYTES of what was written."""
PIECE_BYTES = 1 << 16
GRAPH_SECONDS = 150.0
"""Time in which the graph has to be there: its thread looks at its own deadline between two layouts."""
CONNECTIONS = 32
"""Connections at a time. Further ones are closed."""
ALIVE_SECONDS = 15.0
"""Time after which a feed without news sends an empty line, which shows whether the client is still there."""
CLOSING_SECONDS = 5.0
"""How long the server stays after the end of a run for pages that have not read it: also for one that is just being
loaded again."""
COMMON = (
    "Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
    "X-Frame-Options: DENY", "Cross-Origin-Resource-Policy: same-origin", "Connection: close",
)  # fmt: skip
HTML, TEXT, FEED = "text/html; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8", "text/event-stream"


class PageServer:
    """Server of ``page`` at /, of ``feed`` at /feed, of the text that ``metrics`` returns at /metrics, and of the bytes
    that ``graph`` will have at /graph.

    Every request needs ``token``. Port 0 takes a free one. A ``with`` block starts and stops it.
    """

    def __init__(
        self, port: int, token: str, page: bytes, feed: RunFeed, metrics: Callable[[], str],
        graph: Callable[[], Future[bytes]],
    ) -> None:  # fmt: skip
        self.port = port
        self.token = token
        self.page = page
        self.feed = feed
        self.metrics = metrics
        self.graph = graph
        self._opened: Future[int] = Future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Event] = set()
        self._left: float | None = None
        self._over = False
        self._thread = Thread(target=self._run_loop, name="netpart-page", daemon=True)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def __enter__(self) -> PageServer:
        """Open the port. Raises ConfigError if that fails."""
        self._thread.start()
        try:
            self.port = self._opened.result()
        except OSError as error:
            hint = "use another one, or --page without a number for a free one"
            raise ConfigError(f"--page {self.port}", f"a free port of {HOST}", os_error_text(error), hint) from error
        self.feed.wake = lambda: self._tell_loop(self._wake_feeds)
        return self

    def __exit__(self, *error: object) -> None:
        """Let the feeds send what they have not sent, and close all connections."""
        self.feed.wake = lambda: None
        self._tell_loop(self._end_feeds)
        self._thread.join(CLOSING_SECONDS + 1)

    def _tell_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)

    def _run_loop(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # of any kind: without it, the thread that opens the server would wait for ever
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _serve(self) -> None:
        """Accept connections until the run is over and the pages have read its end."""
        self._loop = asyncio.get_running_loop()
        self._ended, self._moved = asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, self.port, limit=HEAD_BYTES, backlog=CONNECTIONS)
        self._opened.set_result(server.sockets[0].getsockname()[1])
        await self._ended.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until_read(), CLOSING_SECONDS)
        server.close()

    async def _until_read(self) -> None:
        """Wait until no page is left that reads the feed, or was reading it CLOSING_SECONDS ago: it may come back."""
        while self._waiting or self._grace() > 0:
            self._moved.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), None if self._waiting else self._grace())

    def _grace(self) -> float:
        """How many seconds a page that was reading the feed has left to come back."""
        return 0.0 if self._left is None else self._left + CLOSING_SECONDS - monotonic()

    def _wake_feeds(self) -> None:
        for waiting in self._waiting:
            waiting.set()

    def _end_feeds(self) -> None:
        self._over = True
        self._wake_feeds()
        self._ended.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection and close it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writer.transport.set_write_buffer_limits(0)  # so that drain waits until the client has taken all
        try:
            if len(self._tasks) <= CONNECTIONS:
                await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or is too slow, or the loop ends
        finally:
            self._tasks.discard(task)
            # What a client does not take is dropped: a flush would wait for it.
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._read_request(reader)
            if request.path == "/feed":
                return await self._stream_feed(request, writer)
            kind, body = await self._find_content(request.path)
            await _write_answer(writer, "200 OK", kind, body)
        except HttpRefusal as refusal:
            await _write_answer(writer, refusal.status, TEXT, f"{refusal.text}\n".encode())

    async def _read_request(self, reader: asyncio.StreamReader) -> HttpRequest:
        """The next request, if it is allowed. Raises HttpRefusal."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
        except asyncio.LimitOverrunError:
            raise HttpRefusal("431 Request Header Fields Too Large", f"expected {HEAD_BYTES} bytes at most") from None
        request = parse_request(head)
        check_request(request, self.port, self.token)
        return request

    async def _find_content(self, path: str) -> tuple[str, bytes]:
        """The type and the bytes of what is at ``path``. Raises HttpRefusal if nothing is."""
        if path == "/":
            return HTML, self.page
        if path == "/metrics":
            return TEXT, self.metrics().encode()
        if path == "/graph":
            try:
                # Shielded: a client that leaves, or a deadline, does not end what others wait for.
                found = asyncio.shield(asyncio.wrap_future(self.graph()))
                return TEXT, await asyncio.wait_for(found, GRAPH_SECONDS)
            except TimeoutError as error:
                late = f"it is not laid out after {GRAPH_SECONDS:.0f} s; ask again later"
                raise HttpRefusal("503 Service Unavailable", late) from error
            except NetpartError as error:
                raise HttpRefusal("503 Service Unavailable", str(error)) from error
            except Exception as error:
                raise HttpRefusal("500 Internal Server Error", f"the graph could not be drawn: {error!r}") from error
        raise HttpRefusal("404 Not Found", "expected /, /feed, /graph or /metrics")

    async def _stream_feed(self, request: HttpRequest, writer: asyncio.StreamWriter) -> None:
        """Send the state, and each change of it, until the run is over."""
        number = _last_number(request)
        await _write_head(writer, "200 OK", FEED)
        news = asyncio.Event()
        self._waiting.add(news)
        self._left = monotonic()  # until it has read the end, whatever ends this connection
        try:
            while True:
                over = self._over  # before the changes are read: none comes after it
                if over and _has_left(writer):
                    return
                news.clear()
                changes = self.feed.since(number)
                text = "".join(f"id: {at}\ndata: {change}\n\n" for at, change in changes)
                await _write_bytes(writer, (text or ": alive\n\n").encode())
                number = changes[-1][0] if changes else number
                if over:
                    self._left = None
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), ALIVE_SECONDS)
        finally:
            self._waiting.discard(news)
            self._moved.set()
            if self._left is not None:
                self._left = monotonic()


def _last_number(request: HttpRequest) -> int | None:
    """The number of the last change that a client which reconnects has, None for a new one."""
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _has_left(writer: asyncio.StreamWriter) -> bool:
    """Whether the client has closed its end. The socket says so before the loop does, and a write would not fail yet.
    From a client that reads a feed nothing else comes."""
    if writer.is_closing():
        return True
    ends = select.poll()
    ends.register(writer.get_extra_info("socket"), select.POLLIN)
    return bool(ends.poll(0))


async def _write_answer(writer: asyncio.StreamWriter, status: str, kind: str, body: bytes) -> None:
    await _write_head(writer, status, kind, f"Content-Length: {len(body)}")
    await _write_bytes(writer, body)


async def _write_head(writer: asyncio.StreamWriter, status: str, kind: str, *more: str) -> None:
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", *COMMON, *more)
    await _write_bytes(writer, "".join(f"{line}\r\n" for line in (*lines, "")).encode())


async def _write_bytes(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write ``data``. Raises TimeoutError if the client does not take it in time, OSError if it has gone."""
    for at in range(0, len(data), PIECE_BYTES):
        writer.write(data[at : at + PIECE_BYTES])
        await asyncio.wait_for(writer.drain(), WRITE_SECONDS)
