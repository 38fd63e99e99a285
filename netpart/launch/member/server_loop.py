"""ServerLoop: what a server does from the first step to the last."""

from __future__ import annotations

from netpart.launch.control.due_steps import due, meetings
from netpart.launch.member.loop import Loop
from netpart.worker.server_player import Applied, Serving


class ServerLoop(Loop):
    """Applies gradients and saves what it keeps."""

    def run(self) -> None:
        """Serves every step of the job."""
        met = meetings(self.job, self.first, self.end)
        serving = Serving(self.player, self.cluster, self.first, self.end, met, self.applied_one, self.reached)
        self.control.status.phase = "train"
        for waiting in serving.play():
            self.player.doing = "waiting for gradients"
            self.patience.wait(waiting, serving.version)
        self.tell_applied()
        self.flush()

    def applied_one(self, update: Applied) -> None:
        """Notes an update, and looks whether to stop."""
        self.control.status.step = update.version
        self.note(update)
        self.control.check()

    def reached(self, version: int) -> None:
        """Saves what is to be saved at ``version``."""
        job = self.job
        now = due(version, job.checkpoint_freq, job.checkpoint_after) or version == self.end
        self.checkpoint_if(version, now)
