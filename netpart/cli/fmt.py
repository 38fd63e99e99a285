"""netpart fmt: lays out jobs in one way, with the author's lines, order and comments."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.proto.job_formatting import FormattedJob

HELP = "lay out jobs: indentation, blanks, quotes, lines that are too long; order, line breaks and comments stay"
EPILOG = """A folder stands for all jobs below it. FILE - reads standard input, and prints the job.
exit code: 0 done, with --check: nothing to do; 1 with --check: a job is laid out otherwise; 2 an error"""
STDIN = "-"
TROUBLE = 2


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("fmt", help=HELP, description=HELP, epilog=EPILOG)
    parser.add_argument("files", nargs="+", metavar="FILE", help="job, folder of jobs, or - for standard input")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; print each job to be changed and its first such line"
    )
    parser.set_defaults(trouble=TROUBLE)
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Format the files. Returns 1 if --check has found one that is not formatted, else 0.

    Raises ConfigError with the mistakes of all jobs; those without any are formatted nevertheless.
    """
    from netpart.cli.print_note import print_note
    from netpart.errors import FaultList

    faults = FaultList()
    unformatted = 0
    for name in _job_names(args.files):
        with faults.collecting():
            unformatted += _format_one(name, args.check)
    faults.raise_found()
    if args.check and unformatted:
        print_note("expected the layout that `netpart fmt FILE` writes")
    return int(args.check and unformatted > 0)


def _job_names(files: list[str]) -> list[str]:
    """``files`` with the jobs of folders in place of these."""
    from netpart.proto.job_files import jobs_below

    return [name for file in files for name in (map(str, jobs_below(Path(file))) if Path(file).is_dir() else (file,))]


def _format_one(name: str, check: bool) -> bool:
    """Format the job ``name``, or only look at it; return True if it was not formatted."""
    from netpart.proto.job_formatting import format_job

    job = format_job(_read_content(name), _shown_name(name))
    if check:
        _print_difference(name, job)
    elif name == STDIN:
        sys.stdout.buffer.write(job.formatted)
    elif not job.same:
        _replace_file(Path(name), job.formatted)
    return not job.same


def _read_content(name: str) -> bytes:
    """The bytes of a file or of standard input. Raises ConfigError if they cannot be read."""
    from netpart.proto.job_files import read_job_bytes

    return sys.stdin.buffer.read() if name == STDIN else read_job_bytes(Path(name))


def _print_difference(name: str, job: FormattedJob) -> None:
    """Print the first line that would be changed, if there is one."""
    if not job.same:
        print(f"{_shown_name(name)}:{job.first_difference()}")


def _shown_name(name: str) -> str:
    return "<stdin>" if name == STDIN else name


def _replace_file(path: Path, content: bytes) -> None:
    """Give a file another content at once; its mode stays, and so does a link to it."""
    import os
    from stat import S_IMODE

    from netpart.cli.print_note import print_note
    from netpart.data.atomic_file import atomic_file

    target = path.resolve()
    with atomic_file(target) as file:
        os.fchmod(file.fileno(), S_IMODE(target.stat().st_mode))
        file.write(content)
    print_note(f"formatted {path}")
