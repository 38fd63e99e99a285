"""Options of the listeners of a run: who else receives its events."""

from __future__ import annotations

import argparse


def add_listener_options(parser: argparse.ArgumentParser) -> None:
    """Add --listener and --tensorboard, both of which append to ``listener``."""
    parser.add_argument(
        "--listener", action="append", default=[], metavar="NAME[=TEXT]", help="also send the events of the run to"
        " this listener: events (a JSON line for each, in events.jsonl of the workspace), tensorboard, or the name of a"
        " package's listener, which TEXT is for; may be repeated",
    )  # fmt: skip
    # const is "", as argparse passes it through type where the option has no value.
    parser.add_argument(
        "--tensorboard", dest="listener", action="append", nargs="?", const="", type=_tensorboard_listener,
        metavar="FOLDER", help="write metrics, job and drawing for TensorBoard to FOLDER (default: the workspace);"
        " short for --listener tensorboard=FOLDER",
    )  # fmt: skip


def _tensorboard_listener(folder: str) -> str:
    """The listener that writes to ``folder``, "" for the workspace. Raises ArgumentTypeError for a job."""
    from netpart.proto.job_files import JOB_ENDINGS

    if folder.endswith(JOB_ENDINGS):
        raise argparse.ArgumentTypeError(f"expected a folder, got {folder!r}; write the job before --tensorboard")
    return f"tensorboard={folder}" if folder else "tensorboard"
