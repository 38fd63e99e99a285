"""Jobs with blocks: names, values and repeats that nobody means, in the job and in the file that it includes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from netpart.graph.partition import Partition
from netpart.plan.text.write_plan import write_plan
from netpart.proto.blocks.flat_text import write_flat_job
from netpart.proto.reader import Job, read_job
from tests.fuzz.case import Case
from tests.fuzz.job_texts import DATA, HEAD, IP, SGD, net
from tests.fuzz.jobs import Jobs
from tests.fuzz.mutate import mutated, reworded

INCLUDED = "blocks.conf"
TURNS = 3
PRODUCT = """block { name: "product" input: "x" output: ["act", "${instance}"]
  let { name: "kind" value: "TANH" } let { name: "size" }
  layer { name: "${instance}" type: kInnerProduct srclayers: "x" innerproduct_conf { num_output: ${size} }
    param { name: "w" init { type: kGaussian std: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "act" type: kActivation srclayers: "${instance}" activation_conf { type: ${kind} alpha: 1 } } }
"""
BLOCKS = """include: "blocks.conf" let { name: "width" value: "6" } let { name: "times" value: "2" }
block { name: "residual" input: "x" output: "add"
  layer { name: "in" type: kBlock srclayers: "x" block_conf { of: "product" let { name: "size" value: "${width}" } } }
  layer { name: "shared" type: kInnerProduct srclayers: "in-act" innerproduct_conf { num_output: ${width} }
    param { share_from: "in-w" } param { init { type: kConstant value: 0 } } }
  layer { name: "add" type: kAdd srclayers: ["shared", "x", "in"] } }
layer { name: "b" type: kBlock srclayers: "data" block_conf { of: "residual" times: ${times} first: 3
  change { name: "b*-act" partition_dim: 1 } change { name: "b4-*" location: [0, 1] } } }
layer { name: "top" type: kBlock srclayers: "b" block_conf { of: "product" let { name: "size" value: "5" }
  let { name: "kind" value: "RELU" } } }
"""
TEXT = HEAD + SGD + net(DATA % "${width}" + BLOCKS + IP % "top-act")
SETS = ("b.location=0,1", "b4.location=1", "b*-act.partition_dim=", "b3-in.partition_dim=0", "t?p*.recompute=true",
        "b9.location=1", "*.remainder=SPREAD", "b3-in-act.activation_conf.type=RELU", "top.sum_gradient=true",
        "b3-add.srclayers=data", "b4-in.param[0].lr_scale=2", "neuralnet.block[0].name=x", "b@test.partition_dim=0",
        "neuralnet.let[0].value=7", "neuralnet.include=", "b4-shared.name=b3-in")  # fmt: skip


class BlockJobs(Jobs):
    """Reads a job with blocks as `netpart check` does and writes it out, or as a plan, and plays a step of some.

    A case that is not refused takes a hundred times as long as one that is, so each does one of these.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.turn = 0

    def sound(self) -> Iterator[Case]:
        for turn in range(TURNS):
            yield Case(
                f"blocks, {turn}", partial(self.check_both, TEXT.encode(), net(PRODUCT).encode(), [], turn == 0, turn)
            )

    def case(self, draw: Random) -> Case:
        job, included, sets = TEXT.encode(), net(PRODUCT).encode(), list[str]()
        way = draw.random()
        if way < 0.2:
            sets = [draw.choice(SETS) for _ in range(draw.choice((1, 2, 3)))]
        elif way < 0.6:
            job = self.damaged(TEXT, draw)
        elif way < 0.8:
            included = self.damaged(net(PRODUCT), draw)
        else:
            job, included = self.damaged(TEXT, draw), self.damaged(net(PRODUCT), draw)
        played, turn = draw.randrange(16) == 0, draw.randrange(TURNS)
        names = "job.conf", INCLUDED, "--", "worker", "train step", "test step", "checkpoint of step", "plan:", "seen:"
        return Case(f"blocks: {way:.3f} {sets}", partial(self.check_both, job, included, sets, played, turn), names)

    def damaged(self, text: str, draw: Random) -> bytes:
        """``text`` with one or two words or some bytes changed."""
        if draw.random() < 0.2:
            return mutated(text.encode(), draw)
        for _ in range(draw.choice((1, 1, 2, 3))):
            text = reworded(text, draw)
        return text.encode(errors="replace")

    def check_both(self, job: bytes, included: bytes, sets: list[str], play: bool, turn: int) -> None:
        """Answers a job and the file that it includes in the way of ``turn``, and perhaps plays a step of it."""
        self.turn = turn
        (self.folder / INCLUDED).write_bytes(included)
        self.check(job, sets, play)

    def tell(self, job: Job, cut: Partition) -> None:
        """Tells what `netpart check` does, or writes the job out, or its plan, and reads that again."""
        if self.turn == 0 or not job.expansion:
            super().tell(job, cut)
            return
        plan = self.turn == 1
        text = write_plan(job, cut, "fuzz", self.folder) if plan else write_flat_job(job.expansion, job.proto)
        self.path.write_text(text, encoding="utf-8")
        again = read_job(self.path).proto.neuralnet.layer
        assert [layer.name for layer in again] == [layer.name for layer in job.proto.neuralnet.layer]
