"""Jobs whose data is at URLs have the losses of those whose data is on this machine, to the bit, on 1 and 2 workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import netpart
from netpart.cli.main import main
from netpart.data.make.image_store import write_images
from netpart.data.remote.url_path import UrlSettings
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.scan_table import read_scan_table
from netpart.data.stores.mean import write_mean
from netpart.launch.report.events import Measured
from netpart.proto.reader import read_job
from tests.datasets.remote.servers import FileServer, WebHdfsHandler, file_server, s3_server
from tests.datasets.samples import datum_store, photos, scans
from tests.thorough import sampled

PROTOCOLS = ("memory", "http", "hdfs", "s3")
IMAGES = np.random.default_rng(3).integers(0, 256, (23, 4, 4), "uint8")
CLASSIFIER = """
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }"""
TOKENS = """
  layer { name: "embed" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 256 feature_dim: 4 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } }
  layer { name: "ip" type: kInnerProduct srclayers: "embed" innerproduct_conf { num_output: 256 axis: 2 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }"""
SCALED = 'mean_file: "%(at)s/mean.bin" shuffle: true'
INPUTS = {
    "kRecordInput": f'store_conf {{ batchsize: 6 path: "%(at)s/images.bin" {SCALED} random_skip: 9 }}',
    "kCSVInput": 'store_conf { batchsize: 6 path: "%(at)s/images.csv" shape: [4, 4] shuffle: true }',
    "kNiftiInput": 'nifti_conf { batchsize: 3 path: "%(at)s/nc-test.csv" shape: [4, 5, 3] flip: true shuffle: true }',
    "kTextInput": 'text_conf { files: "%(at)s/one.txt" files: "%(at)s/two.txt" window: 7 batchsize: 6 }',
    "kTokenInput": 'token_conf { files: "%(at)s/tokens.bin" files: "%(at)s/tokens.npy" window: 7 batchsize: 6 }',
    "kArrayInput": 'array_conf { batchsize: 6 path: "%(at)s/a.npz" data: "x" label: "y" shuffle: true }',
    "kLMDBData": 'lmdbdata_conf { batchsize: 6 path: "%(at)s/images.mdb" }',
    "kTarInput": 'tar_conf { path: "%(at)s/photos-0.tar" } image_conf { batchsize: 3 shape: [1, 8, 8] shuffle: true }',
}


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
    (path / "photos-0.tar").write_bytes((photos(path / "photos") / "photos-0.tar").read_bytes())
    return path


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, bytes]:
    """The same data by path on a server."""
    return {f"/bucket/d/{path.name}": path.read_bytes() for path in folder.iterdir() if path.is_file()}


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

    def losses(kind: str, at: str, workers: int, launcher: str = "threads", steps: int = 9) -> list[float]:
        name = f"{kind}-{workers}-{abs(hash(at))}"
        net = (
            TOKENS if kind in ("kTextInput", "kTokenInput") else CLASSIFIER
        ) + f'layer {{ name: "data" type: {kind} {INPUTS[kind]} }}'
        text = (
            f'name: "n" train_steps: {steps} disp_freq: 1 train_one_batch {{ alg: kBP }} cluster {{ workspace: "ws" }}'
            "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.001 } }"
            f'data_cache {{ mib: 8 folder: "{tmp_path}/cache" }} neuralnet {{ {net} }}'
        )
        conf = tmp_path / f"{name}.conf"
        conf.write_text(text % {"at": at})
        netpart.run(conf, workers, launcher=launcher, workspace=tmp_path / name)
        lines = map(json.loads, (tmp_path / name / "metrics.jsonl").read_text().splitlines())
        return [line["metrics"]["loss/loss"] for line in lines]

    return losses


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", sampled(INPUTS, 3))
def test_losses_are_those_of_local_files(
    kind: str, workers: int, places: dict[str, str], train: Callable[..., list[float]]
) -> None:
    local = train(kind, places[""], workers)
    assert len(local) == 9
    assert len(set(local)) > 3
    for protocol in PROTOCOLS:
        assert train(kind, places[protocol], workers) == local, protocol


def test_a_local_table_may_list_urls(folder: Path, files: dict[str, bytes], tmp_path: Path) -> None:
    with file_server(files) as web:
        rows = [f"http://{web.address}/bucket/d/scan-{k}.nii.gz?sig=SECRET,{k}" for k in (0, 1, 2)]
        (tmp_path / "table.csv").write_text("\n".join(rows))
        found = read_scan_table(tmp_path / "table.csv", settings=UrlSettings(0))
        box = ((0, 5), (1, 3), (0, 6))
        for k in (0, 1):
            assert np.array_equal(NiftiScan(found[k].path).read(box), NiftiScan(folder / f"scan-{k}.nii.gz").read(box))
        with pytest.raises(
            netpart.NetpartError, match=r"^http://.*/scan-2\.nii\.gz: expected a scan, got nothing there"
        ):
            NiftiScan(found[2].path)
        web.files["/bucket/d/scan-2.nii.gz"] = files["/bucket/d/scan-0.nii.gz"][:90]
        with pytest.raises(netpart.NetpartError, match=r"^http://.*/scan-2\.nii\.gz: expected .*; copy the file anew"):
            NiftiScan(found[2].path).read(box)
    (tmp_path / "table.csv").write_text("ftp://h/x.nii,0\n")
    with pytest.raises(netpart.NetpartError, match=r"table\.csv:1: ftp://h/x\.nii: expected one of s3://"):
        read_scan_table(tmp_path / "table.csv")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_worker_processes_lose_no_row_from_a_server_that_fails(
    workers: int, folder: Path, files: dict[str, bytes], train: Callable[..., list[float]]
) -> None:
    with file_server(files) as web:
        web.mode = "flaky"
        at = f"http://{web.address}/bucket/d"
        assert train("kRecordInput", at, workers, "local") == train("kRecordInput", str(folder), workers, "local")


def test_a_job_with_a_secret_is_refused_at_its_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "a.conf"
    conf.write_text(
        'name: "n" train_steps: 1\nneuralnet {\n layer { name: "data" type: kRecordInput\n'
        '  store_conf { batchsize: 6 path: "s3://key:secret@bucket/x" } } }\n'
    )
    assert main(["check", str(conf)]) == 1
    said = capfd.readouterr().err
    assert "a.conf:4:" in said
    assert "data: s3://bucket/x: expected a URL without user and password" in said
    assert "secret" not in said.replace(str(conf), "")


def test_the_settings_of_a_job_reach_its_data(folder: Path, tmp_path: Path, files: dict[str, bytes]) -> None:
    with file_server(files) as web:
        check_settings(web, tmp_path)


def check_settings(web: FileServer, folder: Path) -> None:
    """The folder of the cache is used, and the deadline ends the wait for a server."""
    store = f'store_conf {{ batchsize: 6 path: "http://{web.address}/bucket/d/images.bin?sig=SECRET" }}'
    conf = folder / "a.conf"
    conf.write_text(
        f'data_cache {{ folder: "{folder}/kept" deadline: 0.5 }}'
        f'neuralnet {{ layer {{ name: "data" type: kRecordInput {store} }} }}'
    )
    job = read_job(conf)
    assert netpart.build(job).nodes[0].layer.output.shape == (6, 4, 4)
    assert list((folder / "kept").rglob("0"))
    web.mode = "silent"
    with pytest.raises(
        netpart.NetpartError, match=r"data: http://.*images\.bin: .*no answer after \d requests in 0\.5 s"
    ):
        netpart.build(job)


def break_server(web: FileServer) -> Callable[[object], None]:
    """A listener that lets the server refuse all from the first metrics on."""

    def hear(event: object) -> None:
        if isinstance(event, Measured):
            web.mode = "busy"

    return hear


@pytest.mark.slow
def test_a_server_that_fails_in_a_run_is_one_message(tmp_path: Path) -> None:
    """It names layer, URL and cause; what follows the question mark is in no log and no message of the run."""
    with file_server({"/a.txt": np.random.default_rng(1).bytes(6 << 20)}) as web:
        conf = tmp_path / "a.conf"
        text = f'text_conf {{ files: "http://{web.address}/a.txt?sig=SECRET" window: 7 batchsize: 6 }}'
        conf.write_text(
            'name: "n" train_steps: 1000000 disp_freq: 1 train_one_batch { alg: kBP } cluster { workspace: "ws" }'
            "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.001 } } data_cache { mib: 0 deadline: 1 }"
            f'neuralnet {{ {TOKENS} layer {{ name: "data" type: kTextInput {text} }} }}'
        )
        with pytest.raises(
            netpart.NetpartError, match=r"data.*http://.*/a\.txt: expected bytes .*, got HTTP 503"
        ) as found:
            netpart.run(conf, 2, workspace=tmp_path / "ws", listener=break_server(web))
        assert "Traceback" not in str(found.value)
        said = [str(found.value), *(path.read_text() for path in (tmp_path / "ws").rglob("*.log"))]
        assert not any("SECRET" in each for each in said)
