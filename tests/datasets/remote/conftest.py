"""What the tests of remote data share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.datasets.remote.servers import FileServer, WebHdfsHandler, file_server

KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture
def web() -> Iterator[FileServer]:
    """An HTTP server without files."""
    with file_server({}) as found:
        yield found


@pytest.fixture
def hdfs() -> Iterator[FileServer]:
    """A WebHDFS server without files."""
    with file_server({}, WebHdfsHandler) as found:
        yield found


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of a user of S3."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return monkeypatch
