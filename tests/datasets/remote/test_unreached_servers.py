"""Servers that cannot be reached: one message and one deadline for all their files, and none for what will not pass."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest

import netpart
from netpart.data.open_bytes import open_bytes
from netpart.data.remote.url_path import UrlSettings, parse_url
from netpart.errors import DataError
from tests.datasets.remote.servers import FileServer

LONG = UrlSettings(0, None, 60.0)
"""A deadline that no test waits for."""
TWO = """
data_cache {{ mib: 0 deadline: {deadline} }}
neuralnet {{
  layer {{ name: "data" type: kArrayInput include: kTrain array_conf {{ path: "{at}/a.npy" batchsize: 2 }} }}
  layer {{ name: "data" type: kArrayInput include: kVal include: kTest
    array_conf {{ path: "{at}/b.npy" batchsize: 2 }} }}
}}
"""


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., str]:
    """A function that builds a job with two inputs, and returns its error."""

    def error(at: str, deadline: float = 60.0) -> str:
        (tmp_path / "a.conf").write_text(TWO.format(at=at, deadline=deadline))
        with pytest.raises(netpart.NetpartError) as found:
            netpart.partition(tmp_path / "a.conf", 1)
        return str(found.value)

    return error


def test_a_dead_server_is_one_message_after_one_deadline(build: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    began = monotonic()
    said = build(f"http://127.0.0.1:{closed}", 1.5)
    # Three phases read it: without a memory of the server, 4.5 s and three lines.
    assert monotonic() - began < 4
    assert said.count("Connect call failed") == 1
    assert "a.npy" in said
    assert "in 1.5 s (data_cache.deadline)" in said


def test_a_server_that_is_back_is_read(web: FileServer) -> None:
    web.mode, web.files["/x"] = "reset", b"abc"
    url = parse_url(f"http://{web.address}/x", UrlSettings(0, None, 0.5))
    for tried in (r"requests in 0\.5 s", "after 1 request;"):
        with pytest.raises(DataError, match=tried) as found:
            open_bytes(url)
        assert found.value.server == f"http://{web.address}"
    web.mode = ""
    assert open_bytes(url).read(0, 3) == b"abc"


def test_tls_to_a_plain_server_ends_at_once(web: FileServer, keys: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"expected the size of a file, got an answer without TLS; write http://"):
        open_bytes(parse_url(f"https://{web.address}/x", LONG))
    keys.setenv("AWS_ENDPOINT_URL", f"https://{web.address}")
    with pytest.raises(DataError, match=rf"got an answer without TLS; set AWS_ENDPOINT_URL to http://{web.address}"):
        open_bytes(parse_url("s3://zoo/x", LONG))


def test_no_tls_to_a_server_that_expects_it_ends_at_once(web: FileServer, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path / "a.pem"))
    web.socket = context.wrap_socket(web.socket, server_side=True)
    with pytest.raises(DataError, match=r"expected the size of a file, got a server that expects TLS; write https://"):
        open_bytes(parse_url(f"http://{web.address}/x", LONG))
    with pytest.raises(DataError, match=r"got a certificate that is not trusted; name its authority in SSL_CERT_FILE"):
        open_bytes(parse_url(f"https://{web.address}/x", LONG))


def certificate(path: Path) -> Path:
    """A file with a key and a certificate that it signed itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(1)).sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    path.write_bytes(path.read_bytes() + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize("text", ["s3:/zoo/x", "s3:zoo/x", "s3//zoo/x"])
def test_a_url_without_its_slashes_is_named(text: str, build: Callable[..., str], tmp_path: Path) -> None:
    said = build(text)
    assert "a.conf:4:" in said
    assert f"data: {text}/a.npy: expected two slashes after s3: in a URL, got others; write s3://zoo/x/a.npy" in said
    (tmp_path / text).mkdir(parents=True)
    (tmp_path / text / "a.npy").write_text("")
    assert "a.npy: expected an array, got an empty file" in build(text)
