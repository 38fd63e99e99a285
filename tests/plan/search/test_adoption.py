"""Adoption: `optimal` is never slower than another row, `optimal stages` never slower than other stages."""

from __future__ import annotations

from netpart.plan.search.adoption import adopt_faster_proposals
from netpart.plan.search.proposal import Proposal, ProposalRow
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job

JOB = Job(JobProto(), None, "job", "")


def adopted(seconds: dict[str, float], refused: str = "", spares: dict[str, float] | None = None) -> dict[str, float]:
    """The seconds of each row after adoption, for some seconds before; ``refused`` is a row that does not fit."""

    def proposals(of: dict[str, float]) -> list[Proposal]:
        rows = (ProposalRow(name, seconds=s, refused="no room" * (name == refused)) for name, s in of.items())
        return [Proposal(row, JOB) for row in rows]

    found = adopt_faster_proposals(proposals(seconds), proposals(spares or {}))
    assert [p.row.name for p in found] == list(seconds)
    assert all(not p.row.refused for p in found if p.row.name in ("optimal", "optimal stages"))
    return {p.row.name: p.row.seconds for p in found}


def test_the_fastest_is_optimal() -> None:
    before = {"data": 1.0, "optimal": 2.0, "optimal stages": 3.0, "stages": 4.0, "straight stages": 5.0}
    assert adopted(before) == before | {"optimal": 1.0, "optimal stages": 2.0}
    assert adopted(before, spares={"next": 0.5}) == before | {"optimal": 0.5, "optimal stages": 2.0}
    assert adopted(before | {"straight stages": 0.1})["optimal stages"] == 0.1


def test_what_does_not_fit_takes_what_does() -> None:
    before = {"data": 9.0, "optimal": 2.0, "optimal stages": 1.0, "stages": 4.0, "straight stages": 5.0}
    assert adopted(before, "optimal stages") == before | {"optimal stages": 2.0}
    assert adopted(before, "optimal") == before | {"optimal": 1.0}


def test_what_was_not_simulated_is_compared_by_predictions() -> None:
    rows = [ProposalRow("data", seconds=8.8, predicted=8.6), ProposalRow("optimal", seconds=8.7)]
    stages = [ProposalRow(name, seconds=9.9) for name in ("optimal stages", "stages", "straight stages")]
    found = adopt_faster_proposals([Proposal(row, JOB) for row in (*rows, *stages)], [])
    assert found[1].row == ProposalRow("optimal", seconds=8.8, predicted=8.6)
