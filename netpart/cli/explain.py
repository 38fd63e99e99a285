"""netpart explain: the reason for each helper around a layer, and the cost of other cuts of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.draw.edge_table import EdgeBytes
    from netpart.plan.text.alternatives import CutAlternative
    from netpart.plan.text.diff import PartitionDifference
    from netpart.plan.text.explain import LayerExplanation
    from netpart.plan.text.helper_reasons import HelperReason

HELP = (
    "list the edges by their bytes; or, for a layer, give the reason for each helper around it, the cost of other cuts,"
    " and the effect of a change"
)
EPILOG = "With --set, the job is explained as it is written and then compared with the job after that change."
SHARDS = ("part", ">worker", "computes", "needs")
REASONS = ("helper", "worker", "why", ">forward", ">backward")
BACKWARD = """Backward, the same helpers run in reverse. A Slice adds into place, a Split sums, a Concate cuts, a Sum
passes the gradient to every addend, and a bridge returns the gradient if one is needed. A bridge has the name of its
receiving end (d-...); the sending end (s-...) is on the other worker. The bytes of a collective are in a row of their
own, not in the rows of its bridges."""
EDGES = ("edge", "carried by", ">forward", ">backward", ">share")
MOST_EDGES = 20
"""Edges that are listed; --json has all."""
OTHERS = ("", "cut", ">a step moves", ">most FLOPs", "write on the layer")


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("explain", help=HELP, description=HELP, epilog=EPILOG)
    add_job_options(parser, computes=False)
    parser.add_argument(
        "layer", nargs="?", metavar="LAYER", help="name of a layer of the job (default: list the edges that move most)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in bytes and FLOPs")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Explain the layer, or list the edges. Returns 0."""
    if args.layer is None:
        return _list_edges(args)
    from netpart.cli.diff import cut_job
    from netpart.cli.progress_line import show_progress
    from netpart.plan.text.alternatives import find_alternatives
    from netpart.plan.text.diff import compare_partitions
    from netpart.plan.text.explain import explain_layer

    # The job without --set first; the changed one below reads it again, without a second set of warnings.
    found, folder = cut_job(argparse.Namespace(**{**vars(args), "set": []}))
    explanation = explain_layer(found, args.layer)
    with show_progress("finding alternatives"):
        others = find_alternatives(found, args.layer, folder)
    change = compare_partitions(found, cut_job(args, warn=False)[0]) if args.set else None
    if args.json:
        _print_explanation_json(explanation, others, change)
    else:
        _print_explanation(explanation, others, found.workers)
        _print_change(change, args.set)
    return 0


def _list_edges(args: argparse.Namespace) -> int:
    """Print the edges of the net by their bytes. Returns 0."""
    from dataclasses import asdict

    from netpart.cli.diff import cut_job
    from netpart.draw.edge_table import edges_by_bytes
    from netpart.draw.page.job_page import page_source

    cut, _ = cut_job(args)
    found = edges_by_bytes(page_source(cut, args.loaded).shown)
    if args.json:
        print(json.dumps({"edges": [asdict(each) for each in found]}, indent=2, ensure_ascii=False))
    else:
        _print_edges(found)
    return 0


def _print_edges(found: Sequence[EdgeBytes]) -> None:
    """Print the edges that move most, with their share of all bytes, and what explains it."""
    from netpart.cli.table import TextTable
    from netpart.units import bytes_text

    total = sum(each.total for each in found)
    if not total:
        return print("Nothing crosses workers.")
    print(f"A step moves {bytes_text(total)} ({total} bytes) between workers.\n")
    rows = [
        [each.edge, each.carried_by, *(bytes_text(n) if n else "-" for n in (each.forward, each.backward)),
         f"{100 * each.total / total:.1f}%"]
        for each in found[:MOST_EDGES]
    ]  # fmt: skip
    TextTable(EDGES, [*rows]).print()
    if len(found) > MOST_EDGES:
        left = sum(each.total for each in found[MOST_EDGES:])
        print(f"\n{len(found) - MOST_EDGES} others move {bytes_text(left)}; --json has all.")
    layer = next((each.edge.split(" → ")[0] for each in found if each.carried_by), "LAYER")
    print(f"\nWhy: `netpart explain JOB {layer}`, with the same options.")


def _print_explanation_json(
    explanation: LayerExplanation, others: Sequence[CutAlternative], change: PartitionDifference | None
) -> None:
    """Print everything as one JSON object."""
    from dataclasses import asdict

    found = {**asdict(explanation), "alternatives": [asdict(other) for other in others]}
    what_if = {"what_if": asdict(change)} if change else {}
    print(json.dumps({**found, **what_if}, indent=2, ensure_ascii=False))


def _print_explanation(explanation: LayerExplanation, others: Sequence[CutAlternative], workers: int) -> None:
    """Print the parts, the helpers before and after the layer, the sums of gradients, and the alternatives."""
    from netpart.cli.table import TextTable
    from netpart.units import bytes_text, plural_text

    print(f"{explanation.layer}: {explanation.type}, {explanation.cut} (of {plural_text(workers, 'worker')})\n")
    TextTable(
        SHARDS, [(p.name, str(p.worker), p.computes, "; ".join(p.needs) or "-") for p in explanation.pieces]
    ).print()
    _print_helper_reasons("before it", explanation.before)
    _print_helper_reasons("after it", explanation.after)
    if explanation.before or explanation.after:
        print(f"\n{BACKWARD}")
    moves = [f"{bytes_text(nbytes)} {kind}" for kind, nbytes in explanation.moves.items()]
    print(f"\nIts output and gradients move, in a training step: {', '.join(moves) or 'nothing'}.")
    for text in explanation.sums:
        print(f"  {text}")
    if others:
        print("\nOther cuts of this layer, with all other layers as they are:\n")
        TextTable(OTHERS, [_alternative_cells(other) for other in others]).print()


def _print_helper_reasons(where: str, reasons: Sequence[HelperReason]) -> None:
    """Print the helpers on one side of the layer."""
    from netpart.cli.table import TextTable

    if not reasons:
        print(f"\nNo helpers {where}.")
        return
    print(f"\nHelpers {where}:\n")
    TextTable(REASONS, [_reason_cells(reason) for reason in reasons]).print()


def _reason_cells(reason: HelperReason) -> tuple[str, ...]:
    """The cells of one helper; a dash where no bytes cross workers."""
    from netpart.units import bytes_text

    crossing = (bytes_text(count) if count else "-" for count in (reason.forward, reason.backward))
    return reason.helper, reason.where, reason.why, *crossing


def _alternative_cells(other: CutAlternative) -> tuple[str, ...]:
    """The cells of one way to cut the layer."""
    from netpart.units import bytes_text, count_text

    return "now" if other.present else "", other.cut, bytes_text(other.moved), count_text(other.flops), other.written


def _print_change(change: PartitionDifference | None, options: Sequence[str]) -> None:
    """Print the effect of the --set ``options``; nothing if ``change`` is None."""
    from netpart.cli.diff import print_difference

    if change is None:
        return
    print(f"\nWith {' '.join(f'--set {option}' for option in options)}:\n")
    if change.same:
        print("Nothing changes.")
    else:
        print_difference(change)
