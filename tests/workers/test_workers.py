"""Every file of workers/ runs a job, and the result is that of a run on one host, bit for bit.

What cannot be had here, Slurm and a Kubernetes cluster, is played by network namespaces and the environment that their
documentation promises.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from netpart.checkpoint.steps import latest_checkpoint, parse_step
from netpart.cli.main import parse_command_line
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.hosts import Hosts, network
from tests.end2end.running import mlp
from tests.end2end.test_join import ENDLESS, Talk
from tests.house.tree import ROOT

__all__ = ["network"]
pytestmark = pytest.mark.slow

WORKERS = 3
DEADLINE = 120
TOKEN = "00112233445566778899aabbccddeeff"
FOLDER = ROOT / "workers"
TESTED = {
    "README.md",
    "local.sh",
    "slurm.sbatch",
    "kubernetes.yaml",
    "jobset.yaml",
    "rayjob.yaml",
    "mpi.hosts",
    "two-speeds.conf",
    "two-hosts.conf",
    "four-hosts.conf",
    "v100.conf",
}
"""Files of devices by tests/plan/price/test_devices.py, and the pages about planning and the use case."""


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The netpart under test is the first on the PATH; no launcher started these tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "PMI_", "PMIX_", "OMPI_", "NETPART_"))}
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def hosts(network: None) -> Iterator[Hosts]:
    with Hosts(WORKERS) as hosts:
        yield hosts


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def check(conf: Path, workspace: Path) -> None:
    """The last checkpoint is that of a run on this host."""
    run_job(read_job(conf), WORKERS, workspace=workspace.with_name("expected"))
    last = Path("checkpoint") / "step00000012.safetensors"
    assert (workspace / last).read_bytes() == (workspace.with_name("expected") / last).read_bytes()


def call(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_file_is_a_test_case() -> None:
    assert {path.name for path in FOLDER.iterdir()} <= TESTED


def test_local(tmp_path: Path, environment: dict[str, str]) -> None:
    conf, workspace = mlp(tmp_path), tmp_path / "run"
    environment["PORT"] = str(free_port())
    said = call([str(FOLDER / "local.sh"), str(conf), str(WORKERS), "--workspace", str(workspace)], environment)
    assert "all workers have joined" in said
    assert said.count(": finished") == WORKERS - 1
    check(conf, workspace)


def test_slurm(tmp_path: Path, hosts: Hosts, environment: dict[str, str]) -> None:
    """The batch script runs on the first node, with a stand-in for srun that does what Slurm's manual says."""
    conf = mlp(tmp_path)
    workspace = tmp_path / "run"
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("srun.py")} "$@"\n')
    srun.chmod(0o755)
    batch = {
        "PATH": f"{srun.parent}{os.pathsep}{environment['PATH']}", "NODES": " ".join(hosts.names),
        "ADDRESS": hosts.addresses[0], "SLURM_JOB_ID": "4217", "SLURM_NTASKS": str(WORKERS), "SLURM_PROCID": "0",
    }  # fmt: skip
    script = [str(FOLDER / "slurm.sbatch"), str(conf), "--workspace", str(workspace)]
    said = call(hosts.command(0, *script), environment | batch)
    assert f"joined tcp://{hosts.addresses[0]}:24217" in said
    check(conf, workspace)


@pytest.mark.thorough
def test_mpiexec_in_a_batch_job_that_is_requeued(tmp_path: Path, environment: dict[str, str]) -> None:
    """A real mpiexec starts the tasks of the batch script; Slurm's part is its signal, and the second start."""
    conf, workspace = mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0), tmp_path / "run"
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text('#!/bin/sh\necho "asked to $1 job $2"\n')
    scontrol.chmod(0o755)
    batch = {
        "PATH": f"{scontrol.parent}{os.pathsep}{environment['PATH']}", "SLURM_JOB_ID": "4217", "OMP_NUM_THREADS": "1",
        "NETPART_STARTER": f"mpiexec -n {WORKERS}", "NETPART_MEET": f"tcp://127.0.0.1:{free_port()}",
    }  # fmt: skip
    script = [str(FOLDER / "slurm.sbatch"), str(conf), "--workspace", str(workspace)]
    first = Talk(
        subprocess.Popen(
            script, env=environment | batch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    )
    try:
        first.until("^Train @ step 20 ", DEADLINE)
        os.kill(first.process.pid, signal.SIGUSR1)
        assert first.end(DEADLINE) == 0, first.lines
    finally:
        with suppress(ProcessLookupError):
            os.killpg(first.process.pid, signal.SIGKILL)
        assert first.process.stdout is not None
        first.process.stdout.close()
    assert first.lines[-1] == "asked to requeue job 4217\n"
    saved = latest_checkpoint(workspace / "checkpoint")
    assert saved is not None
    step = parse_step(saved)
    given = [f"--steps={step + 10}", "--set=checkpoint_freq=0"]
    said = call([*script, *given], environment | batch | {"SLURM_RESTART_COUNT": "1"})
    assert f"from step {step}" in said
    local = [sys.executable, "-m", "netpart", "run", str(conf), *given, f"--workers={WORKERS}", "--threads=1"]
    call([*local, f"--workspace={tmp_path / 'local'}"], environment)
    last = Path("checkpoint") / f"step{step + 10:08}.safetensors"
    assert (workspace / last).read_bytes() == (tmp_path / "local" / last).read_bytes()


@pytest.mark.thorough
def test_kubernetes(tmp_path: Path, hosts: Hosts, environment: dict[str, str]) -> None:
    """The command of the pods, with the environment of an indexed Job and a hosts file for the cluster's DNS."""
    service, job = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8"))
    pod = job["spec"]["template"]["spec"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert pod["subdomain"] == service["metadata"]["name"]
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == WORKERS
    play_pods(pod, f"{job['metadata']['name']}-0.{pod['subdomain']}", tmp_path, hosts, environment)


def test_jobset(tmp_path: Path, hosts: Hosts, environment: dict[str, str]) -> None:
    """The same with the names of a JobSet, which starts all pods again when one fails: --resume is always given."""
    jobset = yaml.safe_load((FOLDER / "jobset.yaml").read_text(encoding="utf-8"))
    assert jobset["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    network, (replicated,) = jobset["spec"]["network"], jobset["spec"]["replicatedJobs"]
    assert network["enableDNSHostnames"]
    assert network["publishNotReadyAddresses"]
    assert replicated["replicas"] == 1
    job = replicated["template"]["spec"]
    assert job["completionMode"] == "Indexed"
    assert job["completions"] == job["parallelism"] == WORKERS
    assert "--resume" in job["template"]["spec"]["containers"][0]["command"]
    name = f"{jobset['metadata']['name']}-{replicated['name']}-0-0.{network['subdomain']}"
    play_pods(job["template"]["spec"], name, tmp_path, hosts, environment)


def test_rayjob() -> None:
    """The entry point is a run with --launcher ray that fits the pods of its workers."""
    spec = yaml.safe_load((FOLDER / "rayjob.yaml").read_text(encoding="utf-8"))["spec"]
    program, *words = spec["entrypoint"].split()
    args = parse_command_line(words)
    assert (program, words[0], args.launcher) == ("netpart", "run", "ray")
    cluster = spec["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    (group,) = cluster["workerGroupSpecs"]
    assert group["replicas"] == group["minReplicas"] == group["maxReplicas"] == args.workers
    assert args.place == "strict-spread"
    heads, pods = (each["template"]["spec"]["containers"] for each in (cluster["headGroupSpec"], group))
    assert int(pods[0]["resources"]["limits"]["cpu"]) == args.threads
    assert heads[0]["image"] == pods[0]["image"]
    mounts = {mount["mountPath"] for mount in heads[0]["volumeMounts"]}
    assert {str(Path(args.job).parent), str(args.workspace)} == mounts


def play_pods(pod: dict[str, Any], name: str, tmp_path: Path, hosts: Hosts, environment: dict[str, str]) -> None:
    """Run the command of the pods of an indexed Job on hosts; ``name`` is that of pod 0 in the cluster's DNS."""
    (container,) = pod["containers"]
    conf, names = mlp(tmp_path, "job"), tmp_path / "hosts"
    names.write_text(f"127.0.0.1 localhost\n{hosts.addresses[0]} {name}\n")
    mounted = {"/job": tmp_path, "/out": tmp_path / "run"}
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == mounted.keys()
    command = [with_mounts(word, mounted) for word in container["command"]]
    pods = [
        subprocess.Popen(
            hosts.seeing(index, {Path("/etc/hosts"): names}, *command),
            env=environment | variables(container) | {"JOB_COMPLETION_INDEX": str(index)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for index in range(WORKERS)
    ]  # fmt: skip
    said = [pod.communicate(timeout=DEADLINE)[0] for pod in pods]
    assert [pod.returncode for pod in pods] == [0] * WORKERS, "\n".join(said)
    check(conf, tmp_path / "run")


def with_mounts(word: str, mounted: dict[str, Path]) -> str:
    """A word of a command, its paths led to where the volumes are here."""
    for path, place in mounted.items():
        if word == path or word.startswith(f"{path}/"):
            return str(place) + word.removeprefix(path)
    return word


def variables(container: dict[str, Any]) -> dict[str, str]:
    """The environment that a pod's container asks for; the secret is known."""
    return {entry["name"]: entry.get("value", TOKEN) for entry in container["env"]}


def test_mpiexec_tells_the_rank(tmp_path: Path, environment: dict[str, str]) -> None:
    """Processes that a real mpiexec starts adopt the rank it gives them; tensors go over tcp."""
    mpiexec = shutil.which("mpiexec", path=environment["PATH"])
    if mpiexec is None:
        pytest.skip("mpiexec is not installed: pip install mpich")
    conf, workspace = mlp(tmp_path), tmp_path / "run"
    meet = {"NETPART_MEET": f"tcp://127.0.0.1:{free_port()}", "NETPART_TOKEN": TOKEN}
    command = ["netpart", "run", str(conf), "--launcher", "env", "--workspace", str(workspace)]
    said = call([mpiexec, "-n", str(WORKERS), *command], environment | meet)
    assert said.count(": finished") == WORKERS - 1
    check(conf, workspace)
