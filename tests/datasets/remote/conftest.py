"""What the tests of remote data share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import netpart
from netpart.data.make.image_store import write_images
from netpart.data.stores.mean import write_mean
from tests.datasets.remote.jobs import IMAGES, job_text, read_losses
from tests.datasets.remote.servers import FileServer, WebHdfsHandler, file_server, s3_server
from tests.datasets.samples import datum_store, photos, scans

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of the jobs."""
    path = tmp_path_factory.mktemp("data")
    labels = np.arange(len(IMAGES)) % 5
    write_images(path / "images.bin", IMAGES, labels)
    write_mean(path / "mean.bin", IMAGES.mean(axis=0))
    rows = [",".join(map(str, [label, *image.ravel()])) for image, label in zip(IMAGES, labels, strict=True)]
    (path / "images.csv").write_text("\n".join(rows) + "\n")
    scans(path, "nc")
    (path / "one.txt").write_bytes(np.random.default_rng(4).bytes(300))
    (path / "two.txt").write_bytes(np.random.default_rng(5).bytes(200))
    tokens = np.random.default_rng(6).integers(0, 256, 400, "uint16")
    tokens[:250].tofile(path / "tokens.bin")
    np.save(path / "tokens.npy", tokens[250:])
    np.savez(path / "a.npz", x=IMAGES / 255, y=labels)
    (path / "images.mdb").write_bytes((datum_store(path / "lmdb", IMAGES[:, None], labels) / "data.mdb").read_bytes())
    photos(path)
    lines = [f"{name.relative_to(path)},{n % 5}" for n, name in enumerate(sorted((path / "photos").rglob("*.*")))]
    (path / "photos.csv").write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, bytes]:
    """The same data by path on a server."""
    names = [path for path in folder.rglob("*") if path.is_file()]
    return {f"/bucket/d/{path.relative_to(folder)}": path.read_bytes() for path in names}


@pytest.fixture(scope="module")
def places(folder: Path, files: dict[str, bytes]) -> Iterator[dict[str, str]]:
    """Where the data is, by protocol; "" is this machine."""
    import fsspec

    with ExitStack() as stack, pytest.MonkeyPatch.context() as environment:
        web = stack.enter_context(file_server(files))
        hdfs = stack.enter_context(file_server(files, WebHdfsHandler))
        environment.setenv("AWS_ENDPOINT_URL", stack.enter_context(s3_server(files)))
        for name, value in (("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "s"), ("DEFAULT_REGION", "us-east-1")):
            environment.setenv(f"AWS_{name}", value)
        for path, content in files.items():
            fsspec.filesystem("memory").pipe_file(path, content)
        yield {
            "": str(folder), "memory": "memory://bucket/d", "http": f"http://{web.address}/bucket/d",
            "hdfs": f"hdfs://{hdfs.address}/bucket/d", "s3": "s3://bucket/d",
        }  # fmt: skip


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., list[float]]:
    """A function that trains a job with an input whose data is at a place, and returns the loss of each step."""

    def losses(
        kind: str, at: str, workers: int, launcher: str = "threads", steps: int = 9, more: str = ""
    ) -> list[float]:
        name = f"{kind}-{workers}-{abs(hash((at, more)))}"
        conf = tmp_path / f"{name}.conf"
        conf.write_text(job_text(kind, at, tmp_path / "cache", steps, more))
        netpart.run(conf, workers, launcher=launcher, workspace=tmp_path / name)
        return read_losses(tmp_path / name)

    return losses
