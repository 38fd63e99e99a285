"""netpart sample: lets a trained net write a text."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from netpart.cli.common import add_uncut_job_options, load_job, parse_count

HELP = "let a net that predicts the next byte write a text"
START = "\n"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("sample", help=HELP, description=HELP)
    add_uncut_job_options(parser)
    parser.add_argument(
        "--checkpoint", type=Path, metavar="F", help="parameters to write with (default: the newest of the workspace)"
    )
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument(
        "--prompt", default=START, metavar="TEXT", help="what the text begins with (default: a new line)"
    )
    begin.add_argument("--prompt-file", type=Path, metavar="F", help="a file that the text begins with")
    parser.add_argument("--bytes", type=parse_count, default=500, metavar="N", help="bytes to write (default: 500)")
    parser.add_argument(
        "--temperature",
        type=_parse_temperature,
        default=0.8,
        metavar="T",
        help="0: the most probable byte (default: 0.8)",
    )
    parser.add_argument(
        "--top-k", type=parse_count, default=0, metavar="K", help="choose among the K most probable bytes"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the bytes to FILE, not to the terminal"
    )
    return parser


def _parse_temperature(text: str) -> float:
    """A number of 0 or more, as the option gives it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got {text!r}")
    return value


def call(args: argparse.Namespace) -> int:
    """Write the prompt and what follows; 0 when all is written."""
    use_one_core()
    from netpart.trained.sampling import SamplingStyle, TextWriter, find_predictor

    job = load_job(args, provide=False)
    find_predictor(job.proto)  # what no checkpoint could help is told before one is looked for
    prompt = (_read_prompt(args.prompt_file) if args.prompt_file else args.prompt.encode()) or START.encode()
    writer = TextWriter(job, args.checkpoint or newest_checkpoint(args))
    text = writer.write(prompt, args.bytes, SamplingStyle(args.temperature, args.top_k), job.proto.seed)
    if args.output is None:
        print_sample(prompt, text, sys.stdout)
    else:
        args.output.write_bytes(prompt + bytes(text))
    return 0


def _read_prompt(path: Path) -> bytes:
    """The bytes of a file that a text begins with; raises DataError."""
    from netpart.errors import DataError, os_error_text
    from netpart.files import read_file

    try:
        return read_file(path)
    except OSError as error:
        raise DataError(
            f"{path}: expected a file with a prompt, got {os_error_text(error)}; see --prompt-file"
        ) from error


def use_one_core() -> None:
    """Keep the kernels, which are not loaded yet, on one core: one window is too little work to share."""
    from netpart.launch.control.cores import THREAD_VARIABLES

    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


def newest_checkpoint(args: argparse.Namespace) -> Path:
    """The newest checkpoint of the job's workspace; raises DataError if there is none."""
    from netpart.checkpoint.steps import latest_checkpoint
    from netpart.errors import DataError
    from netpart.launch.report.workspace import job_workspace

    folder = job_workspace(args.loaded.proto) / "checkpoint"
    found = latest_checkpoint(folder)
    if found is None:
        raise DataError(f"{folder}: expected a checkpoint, got none; train with `netpart run`, or name a --checkpoint")
    return found


def print_sample(prompt: bytes, text: Iterator[int], out: IO[str]) -> None:
    """Print bytes as they come; what is no UTF-8 is shown as a replacement character."""
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("replace")
    print(decoder.decode(prompt), end="", file=out, flush=True)
    for byte in text:
        print(decoder.decode(bytes((byte,))), end="", file=out, flush=True)
    print(decoder.decode(b"", final=True), file=out)
