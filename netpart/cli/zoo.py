"""netpart zoo: lists the jobs that come with netpart, and copies them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

HELP = "list the jobs that come with netpart, or copy some of them"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("zoo", help=HELP, description=HELP)
    parser.add_argument("name", nargs="?", metavar="NAME", help="job to copy, e.g. mnist/conv, or a family, e.g. mnist")
    parser.add_argument(
        "destination", nargs="?", type=Path, default=Path("graphs"), metavar="DEST",
        help="folder to copy FAMILY/JOB.conf to (default: graphs); jobs read their data from a folder data next to it",
    )  # fmt: skip
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """List the jobs or copy some. Returns 0."""
    from netpart.proto.job_files import jobs_below
    from netpart.resources import zoo_folder

    zoo = zoo_folder()
    jobs = {path.relative_to(zoo).with_suffix("").as_posix(): path for path in jobs_below(zoo)}
    if args.name is None:
        _list_jobs(jobs)
    else:
        _copy_zoo_jobs(_with_included_jobs(_find_zoo_jobs(args.name, jobs), jobs), args.destination)
    return 0


def _list_jobs(jobs: dict[str, Path]) -> None:
    """Print every job with its description."""
    from netpart.cli.table import TextTable

    TextTable(("job", "what it is"), [(name, job_description(path)) for name, path in jobs.items()]).print()


def job_description(path: Path) -> str:
    """The first sentence of the comment at the beginning of the job in ``path``."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.removeprefix("#").strip()
        if not line.startswith("#") or not text:
            break
        words.append(text)
        if text.endswith((".", ":")):
            break
    return _first_sentence(" ".join(words))


def _first_sentence(text: str) -> str:
    """``text`` up to its first full stop or colon, without it."""
    return re.split(r"[.:] ", text)[0].rstrip(".:")


def _find_zoo_jobs(name: str, jobs: dict[str, Path]) -> dict[str, Path]:
    """The job called ``name``, or all jobs of that family. Raises ConfigError with the nearest names."""
    from netpart.errors import ConfigError
    from netpart.proto.fields import nearest_hint
    from netpart.proto.job_files import without_job_ending
    from netpart.proto.synonyms import ZOO, plain_word

    wanted = without_job_ending(name).strip("/")
    found = {job: path for job, path in jobs.items() if job == wanted or job.startswith(f"{wanted}/")}
    if not found:
        families = sorted({job.split("/")[0] for job in jobs})
        meant = ZOO.get(plain_word(wanted)) or next((job for job in jobs if job.rpartition("/")[2] == wanted), "")
        hint = (
            f"did you mean {meant}?"
            if meant
            else nearest_hint(wanted, [*jobs, *families]) or "`netpart zoo` lists them"
        )
        raise ConfigError("zoo", "a job or family of the zoo", repr(name), hint)
    return found


def _with_included_jobs(found: dict[str, Path], jobs: dict[str, Path]) -> dict[str, Path]:
    """``found`` and those of ``jobs`` whose blocks they include."""
    from netpart.proto.blocks.source import read_job_source

    sources = (read_job_source(path.read_text(encoding="utf-8"), str(path), path) for path in found.values())
    paths = {source.path.parent / name for source in sources if source.path for name in source.proto.neuralnet.include}
    added = {name: path for name, path in jobs.items() if path in paths and name not in found}
    return found | _with_included_jobs(added, jobs) if added else found


def _copy_zoo_jobs(jobs: dict[str, Path], destination: Path) -> None:
    """Copy jobs to ``destination``. Raises NetpartError instead of overwriting a file that differs."""
    from netpart.errors import NetpartError
    from netpart.files import file_size

    for name, source in jobs.items():
        target = destination / f"{name}{source.suffix}"
        text = source.read_bytes()
        # The size first: a file of another kind, or a huge one, is never read.
        if target.exists() and (file_size(target) != len(text) or target.read_bytes() != text):
            raise NetpartError(f"{target}: expected no file, got one that differs; move it away or choose another DEST")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        print(f"copied {target}")
