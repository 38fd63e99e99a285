"""ServerLoop: what a parameter server does from the first step to the last."""

from __future__ import annotations

from netpart.launch.control.due_steps import barrier_steps, evaluation_times, is_due
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
        serving = ServerPlayer(self.player, self.cluster, self.first, self.end, met, self.applied_one, self)
        self.control.status.phase = "train"
        for waiting in serving.play():
            self.player.doing = "waiting for gradients"
            self.patience.wait(waiting, serving.version)
        self.evaluate_last()
        self.share.finish()
        self.tell_applied()
        self.flush()

    def applied_one(self, update: AppliedUpdate) -> None:
        """Note an update, and check whether to stop."""
        self.control.status.step = update.version
        self.keep_update(update)
        self.control.check()

    def is_judged(self, version: int) -> bool:
        """True if a verdict follows the evaluation of ``version``, before the next step."""
        times = evaluation_times(self.job)
        due = (phase in self.welcome.judged and is_due(version, freq, after) for phase, freq, after, _ in times)
        return version < self.end and any(due)

    def reached(self, version: int) -> None:
        """Save a checkpoint if one is due at ``version``. One that follows a verdict comes after it."""
        if not self.is_judged(version):
            self.checkpoint_if(version, self.saves_at(version))

    def answered(self, version: int) -> bool:
        """Follow the verdict about ``version``, whose values every group has; return whether the run stops."""
        if not self.is_judged(version):
            return False
        stops = self.evaluate_due(version)
        self.end = version if stops else self.end
        self.checkpoint_if(version, self.saves_at(version))
        self.played = self.played if stops else set()
        return stops

    def saves_at(self, version: int) -> bool:
        """True if a checkpoint is due at ``version``."""
        return is_due(version, self.job.checkpoint_freq, self.job.checkpoint_after) or version == self.end
