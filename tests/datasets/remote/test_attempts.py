"""Repeated requests end with the process that sent them."""

from __future__ import annotations

import subprocess
import sys
from time import monotonic

from tests.datasets.remote.servers import FileServer

READER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from netpart.data.open_bytes import open_bytes
from netpart.data.remote.attempts import stop_requests
from netpart.data.remote.url_path import UrlSettings, parse_url

thread = ThreadPoolExecutor(1)
found = thread.submit(open_bytes, parse_url(sys.argv[1], UrlSettings(0, None, 300.0)))
sys.stdin.readline()
stop_requests()
print(found.exception())
"""


def test_a_process_does_not_wait_for_a_server_that_fails(web: FileServer) -> None:
    """Its thread that reads ahead is in a pause between two requests, and would go on for 300 seconds."""
    web.mode, web.files["/a"] = "busy", b"x"
    command = [sys.executable, "-c", READER, f"http://{web.address}/a"]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while len(web.requests) < 7:
        web.arrived.wait(60)
        web.arrived.clear()
    start = monotonic()
    said, _ = reader.communicate("\n", timeout=100)
    assert "got HTTP 503 (Service Unavailable) after" in said
    assert monotonic() - start < 3
