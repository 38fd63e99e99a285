"""Ledgers of nets of the zoo: message for message what they were when boxes were compared in all pairs.

tests/data/ledger_digests.json has digests of every message: its name, channel, ends and bytes. They change only if the
rewrite, or what it sends, is changed on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import Ledger, compute_ledger
from netpart.proto.reader import read_job
from tests.thorough import sampled

ROOT = Path(__file__).parents[3]
DIGESTS: dict[str, str] = json.loads((ROOT / "tests/data/ledger_digests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", sampled(sorted(DIGESTS), 16))
def test_messages_are_the_same_as_ever(case: str) -> None:
    net, scheme, workers = case.split()
    job = read_job(ROOT / "graphs" / net, [])
    cut = partition_by_scheme(job.proto, int(workers), job.folder, None if scheme == "as-written" else scheme)
    found = compute_ledger(cut)
    assert digest_messages(found) == DIGESTS[case]
    check_sums(found)


def digest_messages(found: Ledger) -> str:
    """A digest of all messages."""
    digest = hashlib.sha256()
    for e in found.entries:
        digest.update(repr((e.name, tuple(e.channel), e.source, e.target, e.nbytes)).encode())
    return digest.hexdigest()[:12]


def check_sums(found: Ledger) -> None:
    """Compare the sums, which are made without a list of the messages, with those of the list."""
    sent, received = Counter[int](), Counter[int]()
    for e in found.entries:
        sent[e.source] += e.nbytes
        received[e.target] += e.nbytes
    assert found.total == sum(e.nbytes for e in found.entries)
    assert +found.sent == +sent
    assert +sum((Counter(flow.received) for flow in found.flows), Counter[int]()) == +received
