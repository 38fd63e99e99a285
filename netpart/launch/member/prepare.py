"""Preparation of a worker before step 0: compile and bind its Programs, then connect to the other workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from netpart.choices import RESULT
from netpart.launch.control.cores import host_identity
from netpart.launch.control.due_steps import barrier_steps
from netpart.launch.control.worker_devices import resolve_devices
from netpart.launch.member.checkpoint_files import CheckpointFiles
from netpart.launch.member.control_client import ControlClient
from netpart.launch.member.loop import WorkerLoop
from netpart.proto.control_pb2 import CommunicatorProto, ControlProto, GoProto, ReadyProto, WelcomeProto
from netpart.threads import kernel_threads
from netpart.transport.transport import Transport
from netpart.units import bytes_text

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.launch.member.elastic_member import ElasticMember
    from netpart.program.program import WorkerProgram
    from netpart.worker.gpu.communicators import Communicators
    from netpart.worker.player import Player


def prepare_loop(
    welcome: WelcomeProto, transport: Transport, communicators: Communicators, control: ControlClient, listen: str,
    log: TextIO, folder: Path, files: CheckpointFiles, elastic: ElasticMember | None = None,
) -> WorkerLoop:  # fmt: skip
    """Compile and bind this worker's Programs, then connect to the other workers.

    Relative data paths start in ``folder``; ``files`` opens checkpoints; ``elastic`` belongs to an elastic
    run. The other arguments are those of ``member.run_member``.
    """
    from netpart.graph.partition_codec import decode_partition
    from netpart.kernels.device import array_module
    from netpart.updaters import build_updater
    from netpart.worker.memory_limit import resident_memory, return_free_memory
    from netpart.worker.player import Player

    control.status.doing = lambda: "compiling its plan"
    partition, number = decode_partition(welcome.plan, folder)
    cluster = partition.cluster
    rule = build_updater(partition.job.updater)
    serving = cluster.is_server(rank := control.rank)
    place = resolve_devices(welcome.device.split(","))[rank]
    xp, device = array_module(place)
    program = _compile_programs(partition, number, 0 if serving else cluster.group(rank), len(rule.states), device)
    control.status.doing = lambda: "allocating memory"
    if welcome.HasField("base_lr"):
        rule.change_base_lr(welcome.base_lr)
    applied = rule if serving or not cluster.servers else None
    resident = resident_memory()
    player = Player(program, transport, xp, applied, welcome.seed, communicators=communicators)
    control.status.doing = lambda: player.doing
    files = elastic.files(welcome, control, files) if elastic else files
    loop = _make_loop(player, transport, control, partition, welcome, files)
    loop.sampler.before = resident
    # Parameters are read or initialised before ``ready`` is sent: a damaged checkpoint then ends the run before step 0.
    loop.share.begin()
    if loop.trains:
        loop.share.log = log
        loop.share.stage(partition)
    played = ", ".join(f"{len(p.instructions)} instructions in {phase}" for phase, p in program.phases.items())
    print(f"worker {rank}: {played}; {bytes_text(player.machine.memory_bytes)} on {place}", file=log, flush=True)
    control.status.doing = _override_doing(control.status.doing, f"listening at {listen}")
    ready = _describe_worker(loop, program, transport, transport.bind(listen), communicators)
    ready.rank, ready.device, ready.region_address = rank, place, elastic.address if elastic else ""
    return_free_memory()
    go = _await_peers(control, transport, communicators, ready, welcome.deadline)
    if elastic and go.HasField("snapshot"):
        freq = partition.job.elastic.snapshot_freq
        loop.snapshots = elastic.schedule(loop, control, welcome, go.snapshot, freq)
    for ranks in communicators.found:
        print(f"worker {rank}: NCCL among workers {', '.join(map(str, ranks))}", file=log, flush=True)
    return loop


def _describe_worker(
    loop: WorkerLoop, program: WorkerProgram, transport: Transport, address: str, communicators: Communicators
) -> ReadyProto:  # fmt: skip
    """What the coordinator has to know of this worker, which listens at ``address``, before the run begins."""
    from netpart.launch.control.communication_codec import encode_communications
    from netpart.program.messages.communication import list_communications

    memory = loop.player.machine.memory_bytes + (loop.averages.averaging.nbytes if loop.averages else 0)
    ready = ReadyProto(address=address, memory_bytes=memory, threads=kernel_threads(os.environ))
    ready.seal = transport.cipher
    ready.host = host_identity()
    ready.core.extend(os.sched_getaffinity(0))
    ready.spoken.extend(encode_communications(list_communications(program)))
    # Each NCCL id is made by one member and distributed by the coordinator, in ``go``.
    ready.communicator.extend(CommunicatorProto(rank=ranks, id=name) for ranks, name in communicators.begin().items())
    return ready


def _compile_programs(partition: Partition, number: int, group: int, slots: int, device: str) -> WorkerProgram:
    """Compile the Programs of worker ``number`` in its ``group`` on ``device``, or of a server.

    The updater keeps ``slots`` arrays per parameter.
    """
    if number >= partition.workers - partition.servers:
        from netpart.program.server import compile_server

        return compile_server(partition, number, slots)
    from netpart.program.compile import compile_worker
    from netpart.program.kernel_choice import job_kernel_class

    # With servers, the workers only compute gradients: the updater's state is kept on the servers.
    own = 0 if partition.servers else slots
    return compile_worker(partition, number, own, kernels=job_kernel_class(partition.job, device), group=group)


def _make_loop(
    player: Player,
    transport: Transport,
    control: ControlClient,
    partition: Partition,
    welcome: WelcomeProto,
    files: CheckpointFiles,
) -> WorkerLoop:
    """The loop of this worker, according to its place in the cluster: that of a server or of a worker, with averages or
    without; that of a prediction if the net has a result layer."""
    cluster = partition.cluster
    job = partition.job
    if cluster.is_server(control.rank):
        from netpart.launch.member.server_loop import ServerLoop

        return ServerLoop(player, transport, control, job, welcome, files, cluster)
    if RESULT in partition.graph.net.by_name:
        from netpart.launch.member.result_loop import ResultLoop

        return ResultLoop(player, transport, control, job, welcome, files, cluster)
    loop = WorkerLoop(player, transport, control, job, welcome, files, cluster)
    if cluster.averages:
        from netpart.launch.member.average_schedule import AverageSchedule
        from netpart.worker.group_averaging import GroupAveraging

        averaging = GroupAveraging(player, transport, cluster, control.rank)
        met = barrier_steps(job, loop.first, loop.end)
        group = cluster.group(control.rank)
        loop.averages = AverageSchedule(averaging, player, cluster, group, loop.first, met, loop.note_shown)
    return loop


def _await_peers(
    control: ControlClient, transport: Transport, communicators: Communicators, ready: ReadyProto, deadline: float
) -> GoProto:  # fmt: skip
    """Report to the coordinator where this worker listens and what it will exchange; wait until all workers are
    ready."""
    control.send(ControlProto(ready=ready))
    control.status.doing = _override_doing(control.status.doing, "waiting for the other workers to get ready")
    go: GoProto = control.receive("go").go
    # ``go`` arrives only after every worker has bound its address, so connecting cannot fail for a peer that is merely
    # slow.
    transport.connect({a.rank: a.address for a in go.address if a.rank != control.rank})
    communicators.connect({tuple(c.rank): c.id for c in go.communicator}, deadline)
    return go


def _override_doing(doing: Callable[[], str], words: str) -> Callable[[], str]:
    """Return ``words`` as long as ``doing`` returns what it returns now, and the value of ``doing`` afterwards."""
    before = doing()
    return lambda: words if doing() == before else doing()
