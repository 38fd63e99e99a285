"""netpart predict: writes what a trained net predicts for the rows of a source."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.trained.prediction import Prediction

HELP = "write the classes, label maps or values that a trained net computes for the rows of a source"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import parse_positive
    from netpart.cli.evaluate import add_evaluation_options

    parser: argparse.ArgumentParser = subparsers.add_parser("predict", help=HELP, description=HELP)
    add_evaluation_options(parser)
    parser.add_argument(
        "--input", metavar="SOURCE", help="rows to predict for: a file or URL of the kind that the job's input layer"
        " reads, an image or a folder of images, or a NumPy file NAME.npy (rows, *sample) (default: the job's test"
        " data)",
    )  # fmt: skip
    parser.add_argument(
        "--rows", type=parse_positive, metavar="N", help="predict for the first N rows (default: all of them)"
    )
    parser.add_argument(
        "--layer", default="", metavar="NAME",
        help="write the values of this layer (default: the classes of the net's kSoftmaxLoss)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="write the probabilities of all classes")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True, help="file to write: .csv or .jsonl (a line per row"
        " with its class and the probability, or values), .npy (labels, probabilities or values), .nii.gz (labels of"
        " volumes); a name without a dot is a folder of label maps: a PNG or .nii.gz per row",
    )  # fmt: skip
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Predict, and print what was written. Returns 0."""
    from netpart.cli.evaluate import prepare_evaluation
    from netpart.units import bytes_text, plural_text, seconds_text

    # With other rows, the job's own data is not needed.
    prepared = prepare_evaluation(args, provide=args.input is None)
    if prepared is None:
        return 0
    found = _predict(args, *prepared)
    summary = found.summary
    agree = "as predicted" if summary.bytes_counted == summary.bytes_predicted else "NOT as predicted"
    print(f"predicted {plural_text(found.plan.rows, 'row')} in {seconds_text(summary.seconds)}: {args.output}")
    print(f"moved {bytes_text(summary.bytes_counted)} between workers, {agree} ({summary.bytes_predicted:,} bytes)")
    return 0


def _predict(args: argparse.Namespace, job: Any, setting: Any) -> Prediction:
    """Run the prediction and print its events."""
    from netpart.cli.launch_options import launch_choice
    from netpart.cli.progress_line import show_progress_until
    from netpart.cli.run_output import print_event
    from netpart.launch.report.workspace import newest_checkpoint
    from netpart.trained.prediction import predict_rows
    from netpart.trained.prediction_files import PredictionOutput
    from netpart.trained.prediction_job import PredictionRequest
    from netpart.trained.prediction_source import parse_source

    source = None if args.input is None else parse_source(job, args.input)
    request = PredictionRequest(source, args.layer, args.rows)
    with show_progress_until(print_event, "cutting the net") as listener:
        return predict_rows(
            job, args.checkpoint or newest_checkpoint(job.proto), request, PredictionOutput(args.output, args.all),
            choice=launch_choice(args, setting), listener=listener, workspace=args.workspace,
        )  # fmt: skip
