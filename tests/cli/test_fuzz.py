"""Every field of the language with values that nobody means: each job is refused in words, or carried out.

The house tries some of the table's cases, the same ones each time; `--hypothesis-profile=hunt` tries thousands, and
plays a step of what is not refused.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.graph.workers import default_workers
from netpart.launch.run import run
from netpart.plan.advice import advice
from netpart.plan.partition import partition
from netpart.plan.table import tabulate
from netpart.proto.fields import fields_of, is_repeated
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, loads
from tests.cli.fuzz_jobs import JOBS

SECONDS, ROOM = 20, 4 << 30
"""What one job may take: of time on a machine that is busy, and of address space more than there is."""
LONGEST = 3000
"""Characters of a refusal."""
INTS = ["0", "-1", "1", "1000000000", "2147483647", "9223372036854775807", "-2147483648", "1.5", ""]
FLOATS = ["0", "-1", "1", "nan", "inf", "-inf", "1e300", "1e38", "1e-45", ""]
LISTS = ["1,1", "0,1", "0,0,0", "2147483647,2147483647,2147483647", ",".join(["1"] * 5000), ",", "-1,-1,-1"]
STRINGS = ["", "x" * 100_000, "/dev/null", "/", "é\n\t\x01", "../x"]
LONG_RUNS = ("train_steps", "test_steps", "validate_steps")
"""A run of so many steps is long, and no mistake."""
HUNTING = settings.get_profile("hunt").max_examples


def values_of(field: FieldDescriptor) -> list[str]:
    """What to try of a field."""
    if field.enum_type:
        return ["zzz", "999", "", *field.enum_type.values_by_name]
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return ["true", "false", "2", ""]
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return STRINGS
    floats = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
    return (FLOATS if field.cpp_type in floats else INTS) + (LISTS if is_repeated(field) else [])


def changes(block: Message, path: str = "") -> Iterator[str]:
    """Every field of the blocks that ``block`` has with every value to try, as --set takes it."""
    for field in fields_of(block).values():
        here, value = path + field.name, getattr(block, field.name)
        if not field.message_type:
            yield from (f"{here}={text}" for text in values_of(field) if field.name not in LONG_RUNS)
        elif is_repeated(field):
            for i, element in enumerate(value):
                yield from changes(element, f"{here}[{i}].")
        elif block.HasField(field.name):
            yield from changes(value, f"{here}.")


CASES = {name: list(changes(text_format.Parse(text, JobProto()))) for name, text in JOBS.items()}


@contextmanager
def bounded() -> Iterator[None]:
    """Fails what takes too long, and refuses memory that no small job needs."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"no answer in {SECONDS} s")

    before, limits = signal.signal(signal.SIGALRM, late), resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, limits[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def answered(text: str, change: str, folder: Path) -> None:
    """Checks the changed job as `netpart check` does, and plays a step of it while hunting; a refusal is an answer."""
    said = ""
    try:
        with bounded():
            job = loads(text, overrides=[change])
            workers = default_workers(job.proto)
            cut = partition(job.proto, workers, folder)
            tabulate(cut), advice(cut)
            if settings.default is not None and settings.default.max_examples == HUNTING and workers < 5:
                play(job, workers, folder)
    except NetpartError as error:
        said = str(error)
    assert len(said) < LONGEST


def play(job: Job, workers: int, folder: Path) -> None:
    """One step on threads of this process."""
    job.proto.train_steps = 1
    run(job, workers, launcher="threads", listener=lambda event: None, workspace=folder)


@pytest.mark.parametrize("name", JOBS)
def test_every_job_of_the_fuzz_is_right_as_it_stands(name: str, tmp_path: Path) -> None:
    answered(JOBS[name], "seed=1", tmp_path)
    job = loads(JOBS[name])
    tabulate(partition(job.proto, default_workers(job.proto)))


@pytest.mark.parametrize("name", JOBS)
@given(data=st.data())
def test_a_changed_field_is_refused_in_words_or_carried_out(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    change = data.draw(st.sampled_from(CASES[name]))
    answered(JOBS[name], change, tmp_path_factory.getbasetemp())
