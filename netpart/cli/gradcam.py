"""netpart gradcam: shows where a trained net sees what it says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.cli.common import add_uncut_job, count, load_job

if TYPE_CHECKING:
    from netpart.launch.gradcam import Explanation

HELP = "show which places of a sample make a trained net say a class (Grad-CAM)"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("gradcam", help=HELP, description=HELP)
    add_uncut_job(parser)
    parser.add_argument(
        "--checkpoint", type=Path, metavar="F", help="trained parameters (default: the newest of the workspace)"
    )
    parser.add_argument("--sample", type=count, default=0, metavar="K", help="of the test data (default: 0)")
    parser.add_argument(
        "--layer", default="", metavar="NAME", help="whose output is weighed (default: the last with room)"
    )
    parser.add_argument(
        "--class", dest="target", type=count, metavar="C", help="to explain (default: what the net says)"
    )
    parser.add_argument(
        "-o", "--output", type=output, required=True, metavar="FILE",
        help="map.nii.gz gets the map in the voxels of the scan, and map.png beside it a picture; map.png that alone",
    )  # fmt: skip
    return parser


def output(text: str) -> Path:
    """A file for a map, by its ending, as the option gives it."""
    if not text.endswith((".nii", ".nii.gz", ".png")):
        raise argparse.ArgumentTypeError(f"expected a name that ends with .nii, .nii.gz or .png, got {text!r}")
    return Path(text)


def call(args: argparse.Namespace) -> int:
    """Explains one sample; 0 when the files are written."""
    from netpart.cli.sample import newest, use_one_core

    use_one_core()
    from netpart.launch.gradcam import explain

    job = load_job(args, provide=False)
    found = explain(job, args.checkpoint or newest(args), args.sample, args.layer, args.target)
    picture = write(found, args.output)
    shown = ", ".join(f"{p:.3f}" for p in found.probabilities)
    print(f"sample {args.sample}: class {found.label}, probabilities {shown}")
    print(f"class {found.target} at {found.layer}: {args.output}" + f", {picture}" * (picture != args.output))
    return 0


def write(found: Explanation, path: Path) -> Path:
    """Writes the map, if ``path`` asks for it, and the picture; returns where that is. Raises ConfigError."""
    from netpart.data.nifti import save_volume
    from netpart.draw.png import png
    from netpart.draw.slices import overlay
    from netpart.errors import ConfigError

    name = path.name.removesuffix(".gz").removesuffix(".nii")
    if name != path.name and found.scan is None:
        raise ConfigError("--output", "a .png for a job that reads no scans", path.name)
    if name != path.name and found.scan is not None:
        save_volume(path, found.in_scan.astype("float32"), found.scan.affine)
    picture = path if name == path.name else path.with_name(f"{name}.png")
    grey = found.sample.mean(axis=0) if found.scan is None else found.scan.read(tuple((0, n) for n in found.scan.shape))
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(png(overlay(grey, found.in_scan)))
    return picture
