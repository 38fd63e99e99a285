"""Data sets of the zoo, generated when a job reads one that is missing, so that its jobs run in a fresh clone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpart.cli.print_note import print_note
from netpart.cli.progress_line import show_progress

if TYPE_CHECKING:
    from netpart.proto.reader import Job

FOLDER = "digits"
PYTHON = "python.txt"
PHANTOM, SUBJECTS, SPACING = "phantom", 800, 3


def provide_data(job: Job) -> None:
    """Generate the data sets of the zoo that ``job`` reads and that do not exist; print a note for each."""
    provide_digits(job)
    _provide_python(job)
    _provide_phantom(job)


def provide_digits(job: Job) -> None:
    """Generate the digits in every folder ``digits`` from which ``job`` reads a file that does not exist.

    Prints a note. Raises NetpartError without scikit-learn, which brings the digits.
    """
    for folder in sorted({path.parent for path in map(Path, _named_files(job)) if _is_missing_digits(job, path)}):
        from netpart.data.make.digits import make_digits

        where = (job.folder / folder).resolve()
        # replace=False: of the three files only the missing ones are made; one that exists may be the user's own.
        if _may_create_data(job, where) and make_digits(where, replace=False):
            print_note(
                f"{job.name}: its data was missing; made {_relative_to_cwd(where)} from the 1 797 digits of"
                " scikit-learn"
            )


def _provide_python(job: Job) -> None:
    """Generate every file ``python.txt`` that ``job`` reads as text and that does not exist: the source of Python.

    Prints a note. Raises DataError if this Python was installed without its source.
    """
    texts = {Path(name) for layer in job.proto.neuralnet.layer for name in layer.text_conf.files}
    for path in sorted(path for path in texts if path.name == PYTHON and not _data_exists(job, path)):
        from netpart.data.make.python_source import make_python_source
        from netpart.units import bytes_text

        where = (job.folder / path).resolve()
        if not _may_create_data(job, where):
            continue
        size = make_python_source(where)
        print_note(
            f"{job.name}: its data was missing; made {_relative_to_cwd(where)}, {bytes_text(size)} of Python's"
            " standard library"
        )


def _provide_phantom(job: Job) -> None:
    """Generate the cohort of phantoms in every folder ``phantom`` of which ``job`` reads a missing table.

    Prints a note before it starts, as it takes minutes. Raises NetpartError without nilearn.
    """
    tables = {Path(layer.nifti_conf.path) for layer in job.proto.neuralnet.layer if layer.nifti_conf.path}
    missing = {path.parent for path in tables if path.parent.name == PHANTOM and not _data_exists(job, path)}
    for folder in sorted(missing):
        from netpart.data.make.phantom import make_phantom

        where = (job.folder / folder).resolve()
        if not _may_create_data(job, where):
            continue
        print_note(
            f"{job.name}: its data is missing; making {_relative_to_cwd(where)}, {SUBJECTS} scans, which takes minutes"
        )
        with show_progress("making scans"):
            make_phantom(where, SUBJECTS, SPACING)


def _may_create_data(job: Job, where: Path) -> bool:
    """True if data may be created at ``where`` for ``job``.

    A job may come from another person and may name any path. So data is created only in the current folder, in the
    job's folder or, for a job of netpart's zoo, in the tree that holds the zoo.
    """
    from netpart.resources import resource_folder

    here = job.folder.resolve()
    tree = resource_folder("graphs").resolve()
    homes = [Path.cwd(), here, *([tree.parent] if here.is_relative_to(tree) else [])]
    # The root folder does not count: every path is relative to it.
    return any(where.is_relative_to(home) for home in homes if home != home.parent)


def _named_files(job: Job) -> list[str]:
    """The paths of all stores, mean files and shards that the job names."""
    confs = [(layer.store_conf, layer.sharddata_conf) for layer in job.proto.neuralnet.layer]
    return [path for store, shard in confs for path in (store.path, store.mean_file, shard.path) if path]


def _is_missing_digits(job: Job, path: Path) -> bool:
    """True if ``path`` is a file of the digits that exists neither next to the job nor in the working directory."""
    from netpart.data.make.image_store import MEAN, TEST, TRAIN

    if path.parent.name != FOLDER or path.name not in (MEAN, TEST, TRAIN):
        return False
    return not _data_exists(job, path)


def _data_exists(job: Job, path: Path) -> bool:
    """True if ``path`` exists, relative to the job's folder or to the working directory."""
    return (job.folder / path).exists() or path.exists()


def _relative_to_cwd(path: Path) -> Path:
    """``path`` relative to the working directory if it lies in it, else as it is."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
