"""Options of devices and links that netpart plan plans for."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

UNITS = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of devices and links."""
    parser.add_argument(
        "--devices", type=Path, metavar="FILE", help="file with devices and links, e.g. workers/two-speeds.conf"
    )
    parser.add_argument(
        "--bandwidth", type=parse_bandwidth, metavar="B", help="bandwidth of every link, e.g. 1GB/s or 10Gbit/s"
    )


def parse_bandwidth(text: str) -> float:
    """Parse --bandwidth into bytes per second. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\S+)", text)
    if found is None or found[2] not in UNITS or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected a number and one of {', '.join(UNITS)}, got {text!r}")
    return float(found[1]) * UNITS[found[2]]
