"""A small file of each format that netpart reads, where its numbers are, and what reads it."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import tarfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path

import h5py
import numpy as np

from netpart.data.make.mnist import convert_mnist
from netpart.data.scans.nifti import save_volume
from netpart.data.stores.record import Record, encode_record
from netpart.errors import combine_faults
from netpart.graph.ready import find_run_faults
from netpart.launch.control.token import find_token
from netpart.launch.report.events import Summary
from netpart.launch.report.speedup import compute_speedup, read_summary
from netpart.launch.run import run_job
from netpart.launch.teams.hostfile import read_hostfile as read_hosts
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import read_devices
from netpart.plan.price.net_profile import read_profile
from netpart.proto.reader import read_job_text
from tests.datasets.samples import datum_store, encoded, photo
from tests.fuzz.job_texts import HEAD, IP, SGD, net
from tests.fuzz.mutate import Field

ROWS, STEPS = 2, 3
Reader = Callable[[Path, Callable[[], object]], object]
"""Reads the files of a folder; calls what it is given when they are open, before it reads them to their end."""


@dataclass(frozen=True)
class Format:
    """``files`` by name, of which the first is damaged; ``fields`` are its numbers. ``text``: it is one.
    ``others``: what an answer may name in place of it."""

    files: dict[str, bytes]
    read: Reader
    fields: tuple[Field, ...] = ()
    text: bool = False
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of the file that is damaged."""
        return next(iter(self.files))


def job(layer: str, rest: str = IP % "data") -> Reader:
    """Reads the files of a net whose input is ``layer``, as a run does: checks the data, and reads some steps."""
    text = HEAD + SGD + net(layer + rest)

    def read(folder: Path, opened: Callable[[], object]) -> None:
        cut = partition_by_scheme(read_job_text(text, "job.conf").proto, 1, folder)
        if found := find_run_faults(cut):
            raise combine_faults(found)
        opened()
        for node in cut.phases["train"][0].graph.net.nodes:
            if node.layer.is_input and hasattr(node.layer, "open"):
                source = node.layer.open(ROWS, 1, 1)
                data = np.empty((ROWS, *source.shape), np.float32)
                labels = np.empty((ROWS, *source.labels(tuple((0, n) for n in source.shape))), np.int32)
                for step in range(STEPS):
                    source.read(step, 0, ROWS, data, labels if len(node.layer.outputs) > 1 else None)

    return read


def played(layer: str, rest: str) -> Reader:
    """Reads the files of a net by a run of it: for layers that read by themselves."""
    text = HEAD + SGD + net(layer + rest)

    def read(folder: Path, opened: Callable[[], object]) -> None:
        job = replace(read_job_text(text, "job.conf", ["train_steps=1"]), path=folder / "job.conf")
        run_job(job, 1, launcher="threads", listener=lambda event: None, workspace=folder / "ws")

    return read


def compared(path: Path) -> None:
    """Reads a summary, and compares a run with it."""
    compute_speedup(read_summary(path), WHOLE, 0.5)


def alone(function: Callable[[Path], object], name: str) -> Reader:
    """Reads one file with ``function``."""
    return lambda folder, opened: function(folder / name)


def records(*contents: bytes) -> bytes:
    """A kvfile."""
    parts = (part for i, content in enumerate(contents) for part in (b"%08d" % i, content))
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def store(conf: str, kind: str = "kRecordInput") -> str:
    """An input layer that reads a store."""
    return f'layer {{ name: "data" type: {kind} store_conf {{ batchsize: {ROWS} {conf} }} }}\n'


PIXELS = np.arange(12, dtype=np.uint8).reshape(3, 4)
RECORDS = records(*(encode_record(Record.from_array(PIXELS + i, i)) for i in range(3)))
FLOATS = records(*(encode_record(Record.from_array(PIXELS / np.float32(7), i)) for i in range(3)))
SQUARES = records(*(encode_record(Record.from_array(PIXELS[:, :3] + i, i)) for i in range(3)))
MEAN = records(encode_record(Record.from_array(np.ones((3, 4), np.float32))))
LENGTHS: tuple[Field, ...] = ((0, "<Q"), (16, "<Q"), (24, "<B"), (26, "<B"), (28, "<B"), (30, "<B"), (31, "<B"))
CSV = b"0,1.5,2,3\n1,4,5e3,6\n2,-7,8,9\n"
TEXT = b"It is a truth universally acknowledged that a text has a beginning.\n" * 3
SHARD = f"""layer {{ name: "shard" type: kShardData sharddata_conf {{ path: "shard" batchsize: {ROWS} }} }}
layer {{ name: "data" type: kMnist srclayers: "shard" mnist_conf {{ norm_a: 127.5 norm_b: 1 }} }}
layer {{ name: "label" type: kLabel srclayers: "shard" }}
"""
LABELLED = IP.replace('"data"', '"label"') % "data"
NIFTI = f"""layer {{ name: "data" type: kNiftiInput
  nifti_conf {{ path: "table.csv" batchsize: {ROWS} shape: [4, 4, 4] %s }} }}
"""
TEXT_INPUT = f"""layer {{ name: "data" type: kTextInput
  text_conf {{ files: "%s" batchsize: {ROWS} window: 8 held_out: 0.2 }} }}
"""
IMAGE_INPUT = f"""layer {{ name: "data" type: %s
  image_conf {{ %s batchsize: {ROWS} shape: [3, 4, 5] least_area: 0.5 mirror: true contrast: 0.5 }} }}
"""
ARRAY = f"""layer {{ name: "data" type: kArrayInput array_conf {{ path: "%s" batchsize: {ROWS} %s }} }}
"""
TOKEN_INPUT = f"""layer {{ name: "data" type: kTokenInput
  token_conf {{ files: "%s" batchsize: {ROWS} window: 8 held_out: 0.2 }} }}
layer {{ name: "table" type: kEmbedding srclayers: "data" embedding_conf {{ vocab_size: 100 feature_dim: 4 }}
  param {{ init {{ type: kConstant value: 1 }} }} }}
"""
LMDB = f"""layer {{ name: "data" type: kLMDBData lmdbdata_conf {{ path: "a.mdb" batchsize: {ROWS} }} }}
"""
QUOTED = b'name,"a ""x"" b",kind,2\n"one, 1","1.5",cat,3\n"two\n2",2,"dog",4\nthree,3,cat,5\n'
COLUMNS = 'path: "a.csv" header: true skip_column: "name" label_column: "kind" classes_file: "classes.txt"'
TOKENS = np.arange(90, dtype=np.uint16)
HEADER: tuple[Field, ...] = (
    (0, "<I"), *((40 + 2 * i, "<h") for i in range(8)), (70, "<h"), (72, "<h"), *((76 + 4 * i, "<f") for i in range(8)),
    (108, "<f"), (112, "<f"), (116, "<f"), (252, "<h"), (254, "<h"), *((256 + 4 * i, "<f") for i in range(18)),
    (344, "<I"),
)  # fmt: skip
"""The numbers of a NIfTI header that say what the file holds, and where."""
PAGES: tuple[Field, ...] = tuple(
    (page * 4096 + at, form)
    for page in range(4)
    for at, form in ((10, "<H"), (12, "<H"), (14, "<H"), (16, "<I"), (16, "<H"), (18, "<H"), (40, "<I"), (144, "<Q"))
)
"""The numbers of an LMDB's pages: flags, bounds, magic, offsets of records, size of pages, last page."""
IDX: tuple[Field, ...] = tuple((4 * i, ">I") for i in range(4))
FIGURES = "forward_compute_time=%s, backward_compute_time=5.6, activation_size=%s, parameter_size=7168.0"
LAYERS = {
    "1 -- Input0": ("0.0", "0.0"),
    "2 -- Conv2d(3, 64)": ("4.4", "[1.6e9; 2.0]"),
    "3 -- ReLU()": ("1", "8"),
}
EDGES = ("\tnode1 -- node2", "\tnode2 -- node3", "")
PROFILE = "\n".join([*(f"node{layer} -- {FIGURES % own}" for layer, own in LAYERS.items()), *EDGES]).encode()
DEVICES = b"""cluster { device { name: "a" count: 2 flops: 1e9 memory: 1e9 } device { name: "b" flops: 2e9 }
  link { between: "a" latency: 1e-5 bandwidth: 1e9 } link { bandwidth: 2e8 overhead: 1e-6 } }
"""
HOSTS = b"# ours\nnode1:4\nnode2:2\n"
WHOLE = Summary("net", 1, 4, train_seconds=1.5, accuracies=[(0, 0.1), (4, 0.9)], steps_per_epoch=2)
SUMMARY = json.dumps(asdict(WHOLE)).encode()


def idx(array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    """An IDX file."""
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


IMAGES, LABELS = np.zeros((3, 4, 5), np.uint8), np.arange(3, dtype=np.uint8)


def mnist(ending: str, damaged: str) -> dict[str, bytes]:
    """MNIST's four files, the damaged one first."""
    names = {"train-images-idx3-ubyte": IMAGES, "train-labels-idx1-ubyte": LABELS}
    names |= {"t10k-images-idx3-ubyte": IMAGES, "t10k-labels-idx1-ubyte": LABELS}
    pack = partial(gzip.compress, mtime=0) if ending else bytes
    found = {name + ending: pack(idx(array)) for name, array in names.items()}
    return {damaged + ending: found[damaged + ending], **found}


def convert(folder: Path, opened: Callable[[], object]) -> None:
    """Makes stores of MNIST's files."""
    convert_mnist(folder, folder / "out")


def scan(folder: Path, name: str) -> bytes:
    """The bytes of a scan."""
    save_volume(folder / name, np.arange(60, dtype=np.int16).reshape(3, 4, 5), np.diag([2.0, 2.0, 2.0, 1.0]))
    return (folder / name).read_bytes()


def image_formats() -> dict[str, Format]:
    """Images of each kind, their masks and lists, and a tar file."""
    photos = {kind: encoded(photo(1, 9, 12), kind) for kind in ("jpg", "png", "webp")}
    mask = {"masks/0.png": encoded(photo(2, 9, 12)[..., 0] // 100, "png")}
    found = {
        kind: Format({f"photos/a/0.{kind}": content}, job(IMAGE_INPUT % ("kImageInput", 'path: "photos"')))
        for kind, content in photos.items()
    }
    masked = IMAGE_INPUT % ("kImageInput", 'path: "photos" masks: "masks"')
    found["mask"] = Format({**mask, "photos/0.jpg": photos["jpg"]}, job(masked, ""))
    listed = IMAGE_INPUT % ("kImageInput", 'path: "list.csv"')
    found["image list"] = Format(
        {"list.csv": b"path,label\n0.png,1\n0.png,0\n", "0.png": photos["png"]}, job(listed, ""), text=True,
        others=("/case", "/proc/", "/dev/"),
    )  # fmt: skip
    tarred = 'kTarInput tar_conf { path: "a.tar" label: "json" }'
    with BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, content in (("0.jpg", photos["jpg"]), ("0.json", b'{"label": 1}')):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, BytesIO(content))
        found["tar"] = Format({"a.tar": file.getvalue()}, job(IMAGE_INPUT % (tarred, ""), ""))
    return found


def array_files(folder: Path) -> dict[str, bytes]:
    """The bytes of files of arrays and of an LMDB, which their own libraries write."""
    x, y = np.arange(36, dtype=np.float32).reshape(3, 12), np.arange(3)
    np.save(folder / "a.npy", x)
    np.save(folder / "y.npy", y)
    np.save(folder / "t.npy", TOKENS)
    np.savez(folder / "a.npz", x=x, y=y)
    np.savez_compressed(folder / "b.npz", x=x, y=y)
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(1, 12), compression="gzip")
        file["y"] = y
    datum_store(folder / "lmdb", x.reshape(3, 1, 3, 4), y)
    shutil.copy(folder / "lmdb" / "data.mdb", folder / "a.mdb")
    names = "a.npy", "y.npy", "t.npy", "a.npz", "b.npz", "a.h5", "a.mdb"
    return {name: (folder / name).read_bytes() for name in names}


def table(name: str) -> bytes:
    """A table of scans."""
    return f"path,label\n{name},0\n{name},1\n".encode()


def secret(folder: Path, opened: Callable[[], object]) -> None:
    """Reads a token of the owner alone."""
    path = folder / "token"
    if path.is_file() and not path.is_symlink():
        path.chmod(0o600)
    find_token({}, path)


def array_formats(folder: Path) -> dict[str, Format]:
    """Quoted tables, arrays, tokens and an LMDB store; ``folder`` is for what their libraries write."""
    arrays = array_files(folder)
    return {
        "quoted csv": Format(
            {"a.csv": QUOTED}, job(store(COLUMNS, "kCSVInput")), text=True, others=("data: expected", "classes.txt")
        ),
        "npy": Format(
            {"a.npy": arrays["a.npy"], "y.npy": arrays["y.npy"]}, job(ARRAY % ("a.npy", 'label_path: "y.npy"'))
        ),
        "npz": Format({"a.npz": arrays["a.npz"]}, job(ARRAY % ("a.npz", 'data: "x" label: "y"'))),
        "packed npz": Format({"b.npz": arrays["b.npz"]}, job(ARRAY % ("b.npz", 'label: "y" shuffle: true'))),
        "hdf5": Format({"a.h5": arrays["a.h5"]}, job(ARRAY % ("a.h5", 'data: "x" label: "y"'))),
        "tokens": Format({"a.bin": TOKENS.tobytes()}, job(TOKEN_INPUT % "a.bin", "")),
        "npy tokens": Format({"t.npy": arrays["t.npy"]}, job(TOKEN_INPUT % "t.npy", "")),
        "lmdb": Format({"a.mdb": arrays["a.mdb"]}, job(LMDB), PAGES),
    }  # fmt: skip


def formats(folder: Path) -> dict[str, Format]:
    """Every format by name; ``folder`` is for what has to be written to be known."""
    shape = "shape: [3, 4]"
    plain, packed = (scan(folder, f"scan.nii{ending}") for ending in ("", ".gz"))
    found = {
        "records": Format({"a.bin": RECORDS}, job(store('path: "a.bin"')), LENGTHS),
        "floats": Format({"a.bin": FLOATS}, job(store(f'path: "a.bin" {shape} shuffle: true')), LENGTHS),
        "shard": Format({"shard/shard.dat": SQUARES}, played(SHARD, LABELLED), LENGTHS, others=("label: expected",)),
        "mean": Format(
            {"m.bin": MEAN, "a.bin": FLOATS}, job(store(f'path: "a.bin" mean_file: "m.bin" {shape}')), LENGTHS
        ),
        "deviation": Format(
            {"s.bin": MEAN, "a.bin": FLOATS}, job(store(f'path: "a.bin" std_file: "s.bin" {shape}')), LENGTHS
        ),
        "csv": Format({"a.csv": CSV}, job(store('path: "a.csv"', "kCSVInput")), text=True),
        "csv mean": Format(
            {"m.csv": b"1,2,3\n", "a.csv": CSV},
            job(store('path: "a.csv" mean_file: "m.csv" shape: 3', "kCSVInput")), text=True,
        ),
        "text": Format({"a.txt": TEXT}, job(TEXT_INPUT % "a.txt", ""), text=True),
        "texts": Format({"texts/a.txt": TEXT, "texts/b.txt": TEXT}, job(TEXT_INPUT % "texts", ""), text=True),
        "nifti": Format({"scan.nii": plain, "table.csv": table("scan.nii")}, job(NIFTI % ""), HEADER),
        "nifti.gz": Format({"scan.nii.gz": packed, "table.csv": table("scan.nii.gz")}, job(NIFTI % "cache_mib: 1")),
        "nifti header.gz": Format(
            {"scan.nii.gz": plain, "table.csv": table("scan.nii.gz")}, job(NIFTI % "normalise: false"), HEADER
        ),
        "table": Format(
            {"table.csv": table("scan.nii"), "scan.nii": plain}, job(NIFTI % "flip: true"), text=True,
            others=("/case", "/proc/", "/dev/"),
        ),
        **image_formats(),
        **array_formats(folder),
        "mnist images": Format(mnist("", "train-images-idx3-ubyte"), convert, IDX),
        "mnist labels": Format(mnist("", "t10k-labels-idx1-ubyte"), convert, IDX[:2]),
        "mnist.gz": Format(mnist(".gz", "train-images-idx3-ubyte"), convert),
        "profile": Format({"net.profile": PROFILE}, alone(read_profile, "net.profile"), text=True),
        "devices": Format({"devices.conf": DEVICES}, alone(read_devices, "devices.conf"), text=True),
        "hosts": Format({"hosts": HOSTS}, alone(read_hosts, "hosts"), text=True),
        "summary": Format({"summary.json": SUMMARY}, alone(compared, "summary.json"), text=True),
        "token": Format({"token": b"00112233445566778899aabbccddeeff\n"}, secret, text=True),
    }  # fmt: skip
    return found
