"""Servers on this machine that serve files from memory, well or badly: HTTP with ranges, and WebHDFS."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

SIGNED = "AWS4-HMAC-SHA256 Credential=k/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
"""By it moto knows that a request is for S3; it checks no signature."""
FAILURES = ("busy", "reset", "short")


class FileServer(ThreadingHTTPServer):
    """``files`` by path, served as ``mode`` says; ``requests`` are the method and range of each request.

    Modes: "" well; "flaky" 5 % of requests each fail in one of FAILURES; "busy" 503; "refused" 403; "loop" redirects to
    itself; "silent" no answer; "reset" closes connections; "short" half of each answer; "whole" ignores ranges.
    """

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.files = files
        self.mode = ""
        self.rate = 0.0
        self.requests: list[tuple[str, str]] = []
        self.failed = 0
        self.closing = threading.Event()
        self.arrived = threading.Event()
        self._random = Random(5)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def fault(self) -> str:
        """What goes wrong with the next request."""
        if self.mode != "flaky":
            return self.mode
        found = self._random.choice(FAILURES) if self._random.random() < 0.05 else ""
        self.failed += bool(found)
        return found

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients that give up are no errors here."""


class HttpHandler(BaseHTTPRequestHandler):
    """GET and HEAD with ranges."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer in two pieces waits for the client
    server: FileServer

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        self.server.requests.append((self.command, self.headers.get("Range", "")))
        self.server.arrived.set()
        content = self.server.files.get(unquote(urlsplit(self.path).path))
        fault = self.server.fault()
        if self.failed(fault) or content is None:
            return None if self.failed_with(fault) else self.plain(404)
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if match and fault != "whole":
            first, last = int(match[1]), min(int(match[2]), len(content) - 1)
            return self.content(206, content[first : last + 1], body, fault)
        return self.content(200, content, body, fault)

    def failed_with(self, fault: str) -> bool:
        return fault in ("busy", "refused", "loop", "silent", "reset")

    def failed(self, fault: str) -> bool:
        """True if the request was answered with a failure."""
        if fault == "busy":
            self.plain(503)
        elif fault == "refused":
            self.plain(403)
        elif fault == "loop":
            self.send_response(302)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif fault == "silent":
            self.server.closing.wait()
        elif fault == "reset":
            # Without lingering: the client gets a reset and no end of file.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        return self.failed_with(fault)

    def plain(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def content(self, status: int, content: bytes, body: bool, fault: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        if not body:
            return
        if self.server.rate:
            self.server.closing.wait(len(content) / self.server.rate)
        if fault == "short":
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class WebHdfsHandler(HttpHandler):
    """The operations GETFILESTATUS, LISTSTATUS and OPEN; OPEN answers in two steps, as name nodes do."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        path = unquote(parts.path).removeprefix("/webhdfs/v1")
        self.server.requests.append((query.get("op", "data"), query.get("offset", "")))
        fault = self.server.fault()
        if self.failed(fault):
            return
        content = self.server.files.get(path)
        folder = path.rstrip("/") + "/"
        if content is None and not any(each.startswith(folder) for each in self.server.files):
            said = {"exception": "FileNotFoundException", "message": f"File does not exist: {path}"}
            return self.json(404, {"RemoteException": said})
        if query.get("op") == "GETFILESTATUS":
            return self.json(200, {"FileStatus": self.status(path)})
        if query.get("op") == "LISTSTATUS":
            inside = [each.removeprefix(folder) for each in self.server.files if each.startswith(folder)]
            found = [self.status(folder + name) for name in sorted({each.partition("/")[0] for each in inside})]
            return self.json(200, {"FileStatuses": {"FileStatus": found}})
        if query.get("op") == "OPEN":
            self.send_response(307)
            offset, length = query.get("offset", "0"), query.get("length", "0")
            self.send_header("Location", f"http://{self.server.address}{quote(path)}?offset={offset}&length={length}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        first, count = int(query["offset"]), int(query["length"])
        return self.content(200, (content or b"")[first : first + count], True, fault)

    def status(self, path: str) -> dict[str, Any]:
        content = self.server.files.get(path)
        kind = {"length": len(content or b""), "type": "DIRECTORY" if content is None else "FILE"}
        return kind | {"pathSuffix": path.rpartition("/")[2], "modificationTime": 1700000000000}

    def json(self, status: int, value: Any) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def file_server(files: dict[str, bytes], handler: type[BaseHTTPRequestHandler] = HttpHandler) -> Iterator[FileServer]:
    """A server of ``files`` during the block."""
    server = FileServer(handler, files)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def s3_server(files: dict[str, bytes]) -> Iterator[str]:
    """A server of S3 with ``files`` (by "/bucket/key") during the block; returns its address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        _fill(host, port, files)
        yield address
    finally:
        server.stop()


@contextmanager
def gs_server(files: dict[str, bytes]) -> Iterator[str]:
    """A server of Google Cloud Storage with ``files`` (by "/bucket/key") during the block; returns its address."""
    from gcp_storage_emulator.server import create_server

    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    port = server._api._httpd.server_address[1]
    try:
        client = HTTPConnection("127.0.0.1", port)
        for bucket in {path.split("/")[1] for path in files}:
            _request(client, "POST", "/storage/v1/b?project=p", json.dumps({"name": bucket}).encode())
        for path, content in files.items():
            _, bucket, name = path.split("/", 2)
            _request(
                client, "POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, '')}", content
            )
        client.close()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


def _request(client: HTTPConnection, method: str, path: str, content: bytes) -> None:
    kind = "application/octet-stream" if "uploadType" in path else "application/json"
    client.request(method, path, content, {"Content-Type": kind})
    answer = client.getresponse()
    answer.read()
    assert answer.status == 200, answer.reason


def _fill(host: str, port: int, files: dict[str, bytes]) -> None:
    """Make the buckets and put the files."""
    client = HTTPConnection(host, port)
    buckets = {f"/{path.split('/')[1]}": b"" for path in files}
    for path, content in (buckets | files).items():
        client.request("PUT", quote(path), content, {"Authorization": SIGNED})
        answer = client.getresponse()
        answer.read()
        assert answer.status == 200, answer.reason
    client.close()
