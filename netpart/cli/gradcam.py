"""netpart gradcam: shows where a trained net sees what it says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import CAM_METHODS
from netpart.cli.common import add_uncut_job, count, load_job

if TYPE_CHECKING:
    from netpart.trained.gradcam import Explainer, Explanation
    from netpart.trained.pointing_game import Hit, Region

HELP = "show which places of a sample make a trained net say a class (Grad-CAM)"


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("gradcam", help=HELP, description=HELP)
    add_uncut_job(parser)
    trained = parser.add_mutually_exclusive_group()
    trained.add_argument(
        "--checkpoint", type=Path, metavar="F", help="trained parameters (default: the newest of the workspace)"
    )
    trained.add_argument("--untrained", action="store_true", help="the net as it is before training, to compare with")
    samples = parser.add_mutually_exclusive_group()
    samples.add_argument("--sample", type=count, default=0, metavar="K", help="of the test data (default: 0)")
    samples.add_argument(
        "--every",
        action="store_true",
        help="every scan of the test data, or of class C; says how many point at --region",
    )
    parser.add_argument(
        "--layer", default="", metavar="NAME", help="whose output is weighed (default: the last with room)"
    )
    parser.add_argument(
        "--class", dest="target", type=count, metavar="C", help="to explain (default: what the net says)"
    )
    parser.add_argument(
        "--method", choices=CAM_METHODS, default=CAM_METHODS[0],
        help="gradcam: gradients averaged over space; hirescam: where they are (default: gradcam)",
    )  # fmt: skip
    parser.add_argument(
        "--region", type=Path, metavar="MASK.nii.gz",
        help="say if the largest value lies inside: where the mask, in the voxels of the scans, is not 0",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=_output, metavar="FILE",
        help="map.nii.gz gets the map in the voxels of the scan, and map.png beside it a picture; map.png that alone",
    )  # fmt: skip
    return parser


def _output(text: str) -> Path:
    """A file for a map, by its ending, as the option gives it."""
    if not text.endswith((".nii", ".nii.gz", ".png")):
        raise argparse.ArgumentTypeError(f"expected a name that ends with .nii, .nii.gz or .png, got {text!r}")
    return Path(text)


def call(args: argparse.Namespace) -> int:
    """Explains one sample or all; 0 when the files are written or the answer is given."""
    from netpart.cli.sample import newest, use_one_core

    _check(args)
    use_one_core()
    from netpart.trained.gradcam import Explainer
    from netpart.trained.pointing_game import Region

    job = load_job(args, provide=False)
    region = Region(args.region) if args.region else None
    checkpoint = None if args.untrained else args.checkpoint or newest(args)
    explainer = Explainer(job, checkpoint, args.layer, args.method)
    if args.every and region:
        return _every(explainer, region, args.target)
    found = explainer.explain(args.sample, args.target)
    shown = ", ".join(f"{p:.3f}" for p in found.probabilities)
    print(f"sample {args.sample}: class {found.label}, probabilities {shown}")
    if region:
        print(_told(region.hit(args.sample, found)))
    if args.output:
        picture = _write(found, args.output, _caption(job.proto.name, args, found))
        print(f"class {found.target} at {found.layer}: {args.output}" + f", {picture}" * (picture != args.output))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises ConfigError for options that ask for nothing, or for what there is not."""
    from netpart.errors import ConfigError

    if not (args.output or args.region):
        raise ConfigError("gradcam", "-o FILE, --region MASK or both", "neither")
    if args.every and (args.output or not args.region):
        raise ConfigError("--every", "--region MASK and no -o", "another choice", "draw one --sample at a time")


def _every(explainer: Explainer, region: Region, target: int | None) -> int:
    """Tells of each sample where its map is largest, and of how many that is inside."""
    from netpart.trained.pointing_game import play

    hits = list[bool]()
    for hit in play(explainer, region, target):
        hits.append(hit.inside)
        print(_told(hit), flush=True)
    scans = f"{sum(hits)} of {len(hits)} scans" + ("" if target is None else f" of class {target}")
    print(f"{scans} ({sum(hits) / len(hits):.1%}) have the largest value at {explainer.layer} inside {region.path}")
    return 0


def _told(hit: Hit) -> str:
    """A line about where the map of one sample is largest."""
    found = hit.explanation
    sure = f"{found.probabilities[found.target]:.3f}"
    where = f"largest at {hit.place}, {'inside' if hit.inside else 'outside'}"
    return f"sample {hit.number} of class {found.label}: class {found.target} {sure}, {where}"


def _caption(job: str, args: argparse.Namespace, found: Explanation) -> str:
    """What a picture shows, in words."""
    sure = f"{found.probabilities[found.target]:.3f}"
    sample = f"{job}: sample {args.sample}, of class {found.label}"
    return f"{sample}. What speaks for class {found.target} (probability {sure}): {args.method} at {found.layer}"


def _write(found: Explanation, path: Path, title: str) -> Path:
    """Writes the map, if ``path`` asks for it, and the picture; returns where that is. Raises ConfigError."""
    from netpart.data.scans.nifti import save_volume, spacing
    from netpart.draw.png import png
    from netpart.draw.slices import picture as drawn
    from netpart.errors import ConfigError

    name = path.name.removesuffix(".gz").removesuffix(".nii")
    if name != path.name and found.scan is None:
        raise ConfigError("--output", "a .png for a job that reads no scans", path.name)
    if name != path.name and found.scan is not None:
        save_volume(path, found.in_scan.astype("float32"), found.scan.affine)
    picture = path if name == path.name else path.with_name(f"{name}.png")
    grey = found.sample.mean(axis=0) if found.scan is None else found.scan.read(tuple((0, n) for n in found.scan.shape))
    picture.parent.mkdir(parents=True, exist_ok=True)
    apart = () if found.scan is None else spacing(found.scan.affine)
    picture.write_bytes(png(drawn(grey, found.in_scan, title, apart)))
    return picture
