"""Worker devices: which device each worker of a run computes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from netpart.choices import CPU, CUDA, DEVICES
from netpart.errors import ConfigError
from netpart.kernels.device import count_gpus
from netpart.proto.job_pb2 import JobProto

if TYPE_CHECKING:
    from netpart.proto.cluster import Cluster

HINT = 'write auto, cpu, cuda or cuda:NUMBER, or several with commas between them: "cpu,cuda:0"'


def set_devices(job: JobProto, text: str) -> None:
    """Set the devices of a job from an option: one device for all workers, or a list that they take in turn.

    In a list, cuda is the next GPU, from 0 on. Raises ConfigError for an invalid device.
    """
    names = text.split(",")
    if text in DEVICES:
        job.MergeFrom(JobProto(device=text.upper()))
        return
    turn = count()
    job.gpu[:] = [_parse_gpu_number(name, f"{CUDA}:{next(turn)}" if name == CUDA else name) for name in names]
    job.device = JobProto.CUDA if max(job.gpu) >= 0 else JobProto.CPU


def _parse_gpu_number(option: str, name: str) -> int:
    """The number of a GPU; -1 for the CPU. ``option`` is the whole option, for the error."""
    kind, _, digits = name.partition(":")
    if name != CPU and not (kind == CUDA and digits.isdecimal()):
        raise ConfigError("--device", "devices", repr(option), HINT)
    return -1 if name == CPU else int(digits)


def requested_places(job: JobProto) -> list[str]:
    """The devices that a job requests, in turn: "auto", "cpu", "cuda", which is the next GPU, or "cuda:N"."""
    device = JobProto.Device.Name(job.device).lower()
    if not job.gpu or device == CPU or (device != CUDA and not count_gpus()):
        return [device]
    return [CPU if gpu < 0 else f"{CUDA}:{gpu}" for gpu in job.gpu]


def report_unused_gpus(job: JobProto) -> Iterator[str]:
    """A notice if a job names GPUs that no worker will use."""
    named = [gpu for gpu in job.gpu if gpu >= 0]
    if named and requested_places(job) in (["auto"], [CPU]):
        why = "the job sets device: CPU" if job.device == JobProto.CPU else "no NVIDIA GPU can be used here"
        listed = " ".join(f"gpu: {gpu}" for gpu in named)
        yield f"{listed} has no effect, as {why}: the processor computes; --device cuda insists on GPUs"


def assign_devices(names: Sequence[str], cluster: Cluster) -> list[str]:
    """The requested device of every rank. Servers use the CPU: they compute nothing that a GPU would speed up."""
    return [CPU if cluster.is_server(rank) else names[rank % len(names)] for rank in range(cluster.size)]


def resolve_devices(names: Sequence[str]) -> list[str]:
    """The device of each rank, all on this host: "cpu" or "cuda:N". Raises ConfigError for a GPU that the host does not
    have."""
    found = 0 if set(names) == {CPU} else count_gpus()
    turn = count()
    names = [(CUDA if found else CPU) if name == "auto" else name for name in names]
    places = [f"{CUDA}:{next(turn) % max(1, found)}" if name == CUDA else name for name in names]
    for place in places:
        # Without any GPU, cuda:0 passes: the worker's own error explains better what is missing.
        if place != CPU and _parse_gpu_number(place, place) >= max(1, found):
            raise ConfigError("--device", f"one of the {found} GPUs of this host", place, "number the GPUs from 0")
    return places
