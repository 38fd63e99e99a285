"""ServerLoop: what a parameter server does from the first step to the last."""

from __future__ import annotations

from netpart.launch.control.due_steps import barrier_steps, is_due
from netpart.launch.member.loop import WorkerLoop
from netpart.worker.server_player import AppliedUpdate, ServerPlayer


class ServerLoop(WorkerLoop):
    """Apply gradients, and save the parameters that this server keeps."""

    @property
    def trains(self) -> bool:
        return True  # its Program has the phases of a server, not "train"

    def run(self) -> None:
        """Serve every step of the job."""
        met = barrier_steps(self.job, self.first, self.end)
        serving = ServerPlayer(self.player, self.cluster, self.first, self.end, met, self.applied_one, self.reached)
        self.control.status.phase = "train"
        for waiting in serving.play():
            self.player.doing = "waiting for gradients"
            self.patience.wait(waiting, serving.version)
        self.tell_applied()
        self.flush()

    def applied_one(self, update: AppliedUpdate) -> None:
        """Note an update, and check whether to stop."""
        self.control.status.step = update.version
        self.keep_update(update)
        self.control.check()

    def reached(self, version: int) -> None:
        """Save a checkpoint if one is due at ``version``."""
        job = self.job
        now = is_due(version, job.checkpoint_freq, job.checkpoint_after) or version == self.end
        self.checkpoint_if(version, now)
