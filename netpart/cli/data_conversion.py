"""The sets of `netpart data` that convert files of users: array, csv and kvfile to a kvfile, tar to tar files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.cli.common import parse_positive

if TYPE_CHECKING:
    from netpart.proto.layer_pb2 import LayerProto

ARRAY = "convert an array of a .npy, .npz or HDF5 file to a kvfile, a record per row"
CSV = "convert a CSV file to a kvfile, a record per line"
KVFILE = "convert an LMDB store, of Caffe's or SINGA's records, to a kvfile"
TAR = (
    "copy the images of a folder, or of a list, to tar files in the form of WebDataset, without a change of their bytes"
)
BLOCK = 256
"""Lines per read."""


def add_conversion_parsers(sets: Any) -> None:
    """Add the sets array, csv, kvfile and tar."""
    array = _add_set(sets, "array", ARRAY, "the .npy, .npz or HDF5 file", _convert_array)
    array.add_argument("--data", default="", metavar="NAME", help="array of the rows in an .npz or HDF5 file")
    array.add_argument("--label", default="", metavar="NAME", help="array of the labels in an .npz or HDF5 file")
    array.add_argument("--label-file", type=Path, metavar="FILE", help="file of the labels (default: SOURCE)")
    _add_csv_options(_add_set(sets, "csv", CSV, "the CSV file", _convert_csv))
    _add_set(sets, "kvfile", KVFILE, "the folder or the file of the store", _convert_store)
    _add_tar_parser(sets)


def _add_set(sets: Any, name: str, text: str, source: str, make: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = sets.add_parser(name, help=text, description=text)
    parser.add_argument("source", type=Path, metavar="SOURCE", help=source)
    parser.add_argument("target", type=Path, metavar="DEST", help="kvfile to write, e.g. data/train.bin")
    parser.set_defaults(make=make)
    return parser


def _add_tar_parser(sets: Any) -> None:
    tar = sets.add_parser("tar", help=TAR, description=TAR)
    what = "folder with a folder of images per class, or CSV file `path,label` or `path,mask`"
    tar.add_argument("source", type=Path, metavar="SOURCE", help=what)
    tar.add_argument("target", type=Path, metavar="DEST", help="folder for the tar files, e.g. data/photos")
    tar.add_argument("--masks", type=Path, metavar="DIR", help="folder with a mask for each image, instead of classes")
    tar.add_argument("--classes", nargs="+", default=(), metavar="NAME", help="folders of the classes, in this order")
    tar.add_argument(
        "--shard-mib", type=parse_positive, default=256, metavar="MIB", help="size of a tar file (default: 256)"
    )
    tar.set_defaults(make=_convert_to_tar)


def _add_csv_options(csv: argparse.ArgumentParser) -> None:
    csv.add_argument("--header", action="store_true", help="the first line has the names of the columns")
    csv.add_argument("--separator", default=",", metavar="TEXT", help="text between the columns (default: ,)")
    csv.add_argument("--no-label", action="store_true", help="no column is a label")
    for field, text in (("label", "the label (default: the first column)"), ("skip", "no value; may be repeated")):
        name = f"--{field}-column"
        action = "append" if field == "skip" else "store"
        csv.add_argument(name, action=action, metavar="COLUMN", help=f"name or number, from 1, of {text}")
    csv.add_argument(
        "--classes-file", default="", metavar="FILE", help="labels are words, the lines of FILE; made if missing"
    )
    csv.add_argument(
        "--shape", type=parse_positive, nargs="+", metavar="N", help="extents of a row (default: its length)"
    )


def _convert_array(args: argparse.Namespace) -> str:
    """Convert an array; return the line to print."""
    from netpart.data.arrays.array_file import open_array
    from netpart.data.arrays.array_rows import require_labels_fit
    from netpart.data.make.record_copies import convert_array

    data = open_array(args.source, args.data, [args.label] if args.label and not args.label_file else [])
    label = (
        open_array(args.label_file or args.source, args.label, field="label") if args.label or args.label_file else None
    )
    if label is not None:
        require_labels_fit(data, label)
    return _made(args.target, convert_array(data, label, args.target))


def _convert_csv(args: argparse.Namespace) -> str:
    """Convert a CSV file by the layer that reads it; return the line to print."""
    import numpy as np

    from netpart.data import KvWriter
    from netpart.layers.inputs.csv_input import CSVInput
    from netpart.progress import track_items

    layer = CSVInput(_csv_layer(args), ())
    count = layer.records() or 0
    rows = layer.open(count, 0, 1)
    with KvWriter(args.target) as writer:
        for lo in track_items(range(0, count, BLOCK), f"{BLOCK} lines:"):
            height = min(lo + BLOCK, count) - lo
            values, labels = np.empty((height, *rows.shape), np.float32), np.zeros(height, np.int32)
            rows.read(0, lo, lo + height, values, None if args.no_label else labels)
            for value, label in zip(values, labels.tolist(), strict=True):
                writer.add(value, label)
    return _made(args.target, count)


def _csv_layer(args: argparse.Namespace) -> LayerProto:
    """The layer that reads the CSV file as ``args`` describe it."""
    from netpart.proto.layer_pb2 import LayerProto

    layer = LayerProto(name=f"{args.source}")
    conf = layer.store_conf
    conf.path, conf.separator, conf.classes_file = str(args.source), args.separator, args.classes_file
    conf.header, conf.has_label = args.header, not args.no_label
    conf.label_column.extend([args.label_column] if args.label_column else [])
    conf.skip_column.extend(args.skip_column or [])
    conf.shape.extend(args.shape or [])
    conf.batchsize.append(1)
    return layer


def _convert_store(args: argparse.Namespace) -> str:
    """Convert an LMDB store; return the line to print."""
    from netpart.data.make.record_copies import convert_lmdb

    return _made(args.target, convert_lmdb(args.source, args.target))


def _convert_to_tar(args: argparse.Namespace) -> str:
    """Copy images to tar files; return the line to print."""
    from netpart.data.make.tar_shards import make_tar_shards
    from netpart.units import plural_text

    count, shards, classes = make_tar_shards(args.source, args.target, args.shard_mib << 20, args.classes, args.masks)
    named = f"; classes from 0: {', '.join(classes)}" if classes else ""
    return f"{args.target}: made {plural_text(shards, 'tar file')} of {plural_text(count, 'image')}{named}"


def _made(target: Path, count: int) -> str:
    return f"{target}: made {count} records"
