"""What the zoo reads is made where a job reads it and it is missing, so that its configs run on a fresh clone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpart.cli.note import print_note

if TYPE_CHECKING:
    from netpart.proto.reader import Job

FOLDER = "digits"
PYTHON = "python.txt"
PHANTOM, SUBJECTS, SPACING = "phantom", 800, 3


def provide_data(job: Job) -> None:
    """Make the data of the zoo that ``job`` reads and that is not there, and says so on stderr."""
    provide_digits(job)
    _provide_python(job)
    _provide_phantom(job)


def provide_digits(job: Job) -> None:
    """Make the digits' store in every folder ``digits`` from which ``job`` reads a file that is not there.

    Says so on stderr. Raises NetpartError where scikit-learn, which brings the digits, is missing.
    """
    for folder in sorted({path.parent for path in map(Path, _named_files(job)) if _is_missing_digits(job, path)}):
        from netpart.data.make.digits import make_digits

        where = (job.folder / folder).resolve()
        if _may_create_data(job, where) and make_digits(where, replace=False):
            print_note(
                f"{job.name}: its data was missing; made {_relative_to_cwd(where)} from the 1 797 digits of"
                " scikit-learn"
            )


def _provide_python(job: Job) -> None:
    """Make every file ``python.txt`` that ``job`` reads as a text and that is not there: the source of Python.

    Says so on stderr. Raises DataError where Python came without it.
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
    """Make the cohort of phantoms in every folder ``phantom`` of which ``job`` reads a table that is not there.

    Says so on stderr, before as well: it takes minutes. Raises NetpartError without nilearn.
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
        make_phantom(where, SUBJECTS, SPACING)


def _may_create_data(job: Job, where: Path) -> bool:
    """True for a place that a job may have made: in the current folder, in its own, or, for a job of netpart's zoo, in
    the tree of that. A job may come from somebody else, and names any place."""
    from netpart.resources import resource_folder

    here = job.folder.resolve()
    tree = resource_folder("graphs").resolve()
    homes = [Path.cwd(), here, *([tree.parent] if here.is_relative_to(tree) else [])]
    return any(where.is_relative_to(home) for home in homes if home != home.parent)


def _named_files(job: Job) -> list[str]:
    """Every path of data that the job names."""
    confs = [(layer.store_conf, layer.sharddata_conf) for layer in job.proto.neuralnet.layer]
    return [path for store, shard in confs for path in (store.path, store.mean_file, shard.path) if path]


def _is_missing_digits(job: Job, path: Path) -> bool:
    """True if ``path`` is a file of the digits that is neither beside the conf nor in the working directory."""
    from netpart.data.make.image_store import MEAN, TEST, TRAIN

    if path.parent.name != FOLDER or path.name not in (MEAN, TEST, TRAIN):
        return False
    return not _data_exists(job, path)


def _data_exists(job: Job, path: Path) -> bool:
    """True if ``path`` is beside the conf or in the working directory."""
    return (job.folder / path).exists() or path.exists()


def _relative_to_cwd(path: Path) -> Path:
    """``path`` from the working directory if it lies in it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
