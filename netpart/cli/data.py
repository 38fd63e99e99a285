"""netpart data: looks at the data of a job, makes the data sets of the zoo, and converts files of users."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from netpart.cli.common import parse_count, parse_positive
from netpart.cli.data_conversion import add_conversion_parsers
from netpart.cli.data_look import add_look_parser

HELP = "look at the data of a job, or make a data set in a format that jobs can read"
DIGITS = "write the 1 797 handwritten digits of scikit-learn, enlarged to 28x28, as kvfile stores"
PYTHON = "write the source of Python's standard library as one text file"
PHANTOM = "generate a cohort of synthetic MRI scans of healthy and ill brains, as NIfTI files and tables"
IMAGES = "write all images of a folder, or of a list, as one store or tar file of images of one size"
CIFAR10 = "convert CIFAR-10's binary version (cifar-10-binary.tar.gz) to kvfile stores"
MNIST = "convert MNIST's four IDX files, plain or .gz, to kvfile stores"

LONGEST_SIDE = 1 << 13
"""Largest height and width of images that are made, pixels."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb, its data sets and their folders."""
    parser: argparse.ArgumentParser = subparsers.add_parser("data", help=HELP, description=HELP)
    sets = parser.add_subparsers(metavar="SET", required=True)
    add_look_parser(sets)
    digits = sets.add_parser("digits", help=DIGITS, description=DIGITS)
    digits.add_argument("folder", type=Path, metavar="DIR", help="folder to write the stores to, e.g. data/digits")
    digits.set_defaults(make=_make_digits)
    python = sets.add_parser("python", help=PYTHON, description=PYTHON)
    python.add_argument("file", type=Path, metavar="FILE", help="file to write, e.g. data/python.txt")
    python.set_defaults(make=_make_python)
    mnist = sets.add_parser("mnist", help=MNIST, description=MNIST)
    mnist.add_argument(
        "idx", type=Path, metavar="IDX_DIR", help="folder with train-images-idx3-ubyte and the other three files"
    )
    mnist.add_argument("folder", type=Path, metavar="OUT", help="folder to write the stores to, e.g. data/mnist")
    mnist.set_defaults(make=_make_mnist)
    _add_images_parser(sets)
    cifar10 = sets.add_parser("cifar10", help=CIFAR10, description=CIFAR10)
    cifar10.add_argument("source", type=Path, metavar="ARCHIVE", help="cifar-10-binary.tar.gz, or its unpacked folder")
    cifar10.add_argument("folder", type=Path, metavar="OUT", help="folder to write the stores to, e.g. data/cifar10")
    cifar10.set_defaults(make=_make_cifar10)
    add_conversion_parsers(sets)
    phantom = sets.add_parser("phantom", help=PHANTOM, description=PHANTOM)
    phantom.add_argument("folder", type=Path, metavar="OUT", help="folder for scans and tables, e.g. data/phantom")
    phantom.add_argument(
        "--subjects",
        type=parse_positive,
        default=200,
        metavar="N",
        help="number of people, a quarter of them in each class (default: 200)",
    )
    phantom.add_argument(
        "--spacing", type=parse_positive, default=2, metavar="MM", help="distance between voxels in mm (default: 2)"
    )
    phantom.add_argument("--seed", type=parse_count, default=0, metavar="S", help="seed of the scans (default: 0)")
    phantom.set_defaults(make=_make_phantom)
    return parser


def _add_images_parser(sets: Any) -> None:
    """Add the set of a user's own images."""
    images = sets.add_parser("images", help=IMAGES, description=IMAGES)
    images.add_argument(
        "source", type=Path, metavar="SOURCE", help="folder with a folder of images per class, or CSV file `path,label`"
    )
    images.add_argument("file", type=Path, metavar="DEST", help="tar file (.tar), or kvfile, e.g. data/photos.bin")
    images.add_argument(
        "--size", type=_parse_size, default=(224, 224), metavar="HEIGHTxWIDTH", help="their size (default: 224x224)"
    )
    images.add_argument("--grey", action="store_true", help="one channel in place of three")
    images.set_defaults(make=_make_images)


def _parse_size(text: str) -> tuple[int, int]:
    """Parse an option's height and width, in pixels. Raises ArgumentTypeError."""
    height, _, width = text.partition("x")
    return parse_count(height, 1, LONGEST_SIDE), parse_count(width or height, 1, LONGEST_SIDE)


def run_verb(args: argparse.Namespace) -> int:
    """Make the data set, or look at data, and print the result. Returns 0."""
    from netpart.cli.progress_line import show_progress

    with show_progress("reading"):
        made = args.make(args)
    print(made)
    return 0


def _make_digits(args: argparse.Namespace) -> str:
    """Make the digits; return the line to print."""
    from netpart.data.make import digits

    made = digits.make_digits(args.folder)
    return f"{args.folder}: {'made' if made else 'already holds'} the digits: {_store_file_names()}"


def _make_python(args: argparse.Namespace) -> str:
    """Make the text; return the line to print."""
    from netpart.data.make.python_source import make_python_source
    from netpart.units import bytes_text

    size = make_python_source(args.file)
    return f"{args.file}: made {bytes_text(size)} of Python's standard library" if size else f"{args.file}: is there"


def _make_images(args: argparse.Namespace) -> str:
    """Make the store of images; return the line to print."""
    from netpart.data.make.image_sets import make_image_set

    shape = (1 if args.grey else 3, *args.size)
    count, classes = make_image_set(args.source, args.file, shape)
    named = f"; classes from 0: {', '.join(classes)}" if classes else ""
    return f"{args.file}: made {count} images of shape {'x'.join(map(str, shape))}{named}"


def _make_mnist(args: argparse.Namespace) -> str:
    """Convert MNIST; return the line to print."""
    from netpart.data.make.mnist import convert_mnist

    train, test = convert_mnist(args.idx, args.folder)
    return f"{args.folder}: made {train} training and {test} test images: {_store_file_names()}"


def _make_cifar10(args: argparse.Namespace) -> str:
    """Convert CIFAR-10; return the line to print."""
    from netpart.data.make.cifar10 import convert_cifar10

    train, test = convert_cifar10(args.source, args.folder)
    return f"{args.folder}: made {train} training and {test} test images: {_store_file_names()}"


def _make_phantom(args: argparse.Namespace) -> str:
    """Make the cohort; return the line to print."""
    from netpart.data.make.phantom import ALTERED, CLASSES, TASKS, TEST_EVERY
    from netpart.data.make.phantom import make_phantom as make

    made = make(args.folder, args.subjects, args.spacing, args.seed)
    tables = ", ".join(f"{task}-{split}.csv" for task in TASKS for split in ("train", "test"))
    least = len(CLASSES) * TEST_EVERY
    few = "" if made >= least else f"; no test subjects: that takes {least} --subjects or more"
    return f"{args.folder}: made {made} scans: {tables}; {ALTERED} marks the voxels that diseases alter{few}"


def _store_file_names() -> str:
    """The names of the files of an image data set."""
    from netpart.data.make.image_store import MEAN, TEST, TRAIN

    return f"{TRAIN}, {TEST}, {MEAN}"
