"""A run as a process of its own, which tells on its stdout, one JSON line each, what happens in it.

driver.py {"conf": …, "workers": …, "launcher": …, "transport": …, "workspace": …, "set": […], "limit": bytes}
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netpart.errors import NetpartError
from netpart.launch import run as launch
from netpart.launch.coordinator import Coordinator
from netpart.launch.events import Event
from netpart.launch.processes import ProcessTeam
from netpart.proto.reader import load


def tell(kind: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **values}, default=str) + "\n")
    sys.stdout.flush()


class TellingTeam(ProcessTeam):
    """Names its processes as soon as they are there."""

    def start(self, control: str, token: bytes) -> None:
        super().start(control, token)
        tell("spawned", pids=[process.pid for process in self.processes], address=control)


class TellingCoordinator(Coordinator):
    """Names every message of a worker when it is heard."""

    def handle(self, member: Any, name: bytes, message: Any, team: Any) -> None:
        kind = message.WhichOneof("message")
        said = getattr(message, kind)
        tell(
            "heard", message=kind, rank=member.rank, step=getattr(said, "step", 0), address=getattr(said, "address", "")
        )
        super().handle(member, name, message, team)


def hear(event: Event) -> None:
    tell(type(event).__name__, **asdict(event))


def main() -> int:
    asked = json.loads(sys.argv[1])
    for name, telling in (("ProcessTeam", TellingTeam), ("Coordinator", TellingCoordinator)):
        setattr(launch, name, telling)
    if asked.get("limit"):
        resource.setrlimit(resource.RLIMIT_AS, (asked["limit"], asked["limit"]))
    try:
        job = load(Path(asked["conf"]), asked.get("set", []))
        launcher, workspace = asked.get("launcher", "local"), Path(asked["workspace"])
        transport = asked.get("transport", "auto")
        summary = launch.run(
            job, asked["workers"], launcher=launcher, listener=hear, workspace=workspace, transport=transport
        )
    except KeyboardInterrupt as error:
        tell("interrupted", message=str(error))
        return 130
    except NetpartError as error:
        tell("failed", error=type(error).__name__, message=str(error))
        return 1
    tell("Summary", **asdict(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
