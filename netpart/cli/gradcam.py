"""netpart gradcam: shows which places of a sample support the class that a trained net predicts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import CAM_METHODS
from netpart.cli.common import add_uncut_job_options, load_job, parse_count

if TYPE_CHECKING:
    from netpart.trained.gradcam import SampleExplainer, SampleExplanation
    from netpart.trained.pointing_game import PointingHit, TargetRegion

HELP = "show which places of a sample make a trained net predict a class (Grad-CAM)"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("gradcam", help=HELP, description=HELP)
    add_uncut_job_options(parser)
    trained = parser.add_mutually_exclusive_group()
    trained.add_argument(
        "--checkpoint", type=Path, metavar="F",
        help="checkpoint with the trained parameters (default: the newest of the workspace)",
    )  # fmt: skip
    trained.add_argument("--untrained", action="store_true", help="use the initial parameters instead, for comparison")
    samples = parser.add_mutually_exclusive_group()
    samples.add_argument(
        "--sample", type=parse_count, default=0, metavar="K", help="number of the test sample to explain (default: 0)"
    )
    samples.add_argument(
        "--every",
        action="store_true",
        help="explain every test sample, or all of class C, and count those whose maximum lies inside --region",
    )
    parser.add_argument(
        "--layer", default="", metavar="NAME",
        help="layer whose output is weighted (default: the last one with spatial axes)",
    )  # fmt: skip
    parser.add_argument(
        "--class", dest="target", type=parse_count, metavar="C", help="class to explain (default: the predicted one)"
    )
    parser.add_argument(
        "--method", choices=CAM_METHODS, default=CAM_METHODS[0],
        help="gradcam: weights are gradients averaged over space; hirescam: the gradient at each place"
        " (default: gradcam)",
    )  # fmt: skip
    parser.add_argument(
        "--region", type=Path, metavar="MASK.nii.gz",
        help="report whether the map's maximum lies inside this region: the voxels where the mask is not 0",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=_parse_map_path, metavar="FILE",
        help="file to write: NAME.nii.gz is the map in the voxels of the scan, with a picture NAME.png next to it;"
        " NAME.png is the picture alone",
    )  # fmt: skip
    return parser


def _parse_map_path(text: str) -> Path:
    """Parse --output. Raises ArgumentTypeError for a name with another ending than those of maps."""
    if not text.endswith((".nii", ".nii.gz", ".png")):
        raise argparse.ArgumentTypeError(f"expected a name that ends with .nii, .nii.gz or .png, got {text!r}")
    return Path(text)


def run_verb(args: argparse.Namespace) -> int:
    """Explain one sample or all, print the result and write the files. Returns 0."""
    from netpart.cli.sample import use_one_core

    _check_gradcam_options(args)
    # Before these imports load NumPy: its BLAS reads the number of threads once, when it is loaded.
    use_one_core()
    from netpart.launch.report.workspace import newest_checkpoint
    from netpart.trained.gradcam import SampleExplainer
    from netpart.trained.pointing_game import TargetRegion

    job = load_job(args, provide=False)
    region = TargetRegion(args.region) if args.region else None
    checkpoint = None if args.untrained else args.checkpoint or newest_checkpoint(job.proto)
    explainer = SampleExplainer(job, checkpoint, args.layer, args.method)
    if args.every and region:
        return _explain_every_scan(explainer, region, args.target)
    found = explainer.explain(args.sample, args.target)
    shown = ", ".join(f"{p:.3f}" for p in found.probabilities)
    print(f"sample {args.sample}: class {found.label}, probabilities {shown}")
    if region:
        print(_hit_line(region.hit(args.sample, found)))
    if args.output:
        picture = _write_map(found, args.output, _map_caption(job.proto.name, args, found))
        print(f"class {found.target} at {found.layer}: {args.output}" + f", {picture}" * (picture != args.output))
    return 0


def _check_gradcam_options(args: argparse.Namespace) -> None:
    """Raise ConfigError if the options request no result, or results that do not go together."""
    from netpart.errors import ConfigError

    if not (args.output or args.region):
        raise ConfigError("gradcam", "-o FILE, --region MASK or both", "neither", "add one of them")
    if args.every and (args.output or not args.region):
        raise ConfigError("--every", "--region MASK and no -o", "another choice", "draw one --sample at a time")


def _explain_every_scan(explainer: SampleExplainer, region: TargetRegion, target: int | None) -> int:
    """Print the position of each sample's maximum, and the share of samples where it is inside ``region``."""
    from netpart.trained.pointing_game import play_pointing_game

    hits = list[bool]()
    for hit in play_pointing_game(explainer, region, target):
        hits.append(hit.inside)
        print(_hit_line(hit), flush=True)
    scans = f"{sum(hits)} of {len(hits)} scans" + ("" if target is None else f" of class {target}")
    print(f"{scans} ({sum(hits) / len(hits):.1%}) have the largest value at {explainer.layer} inside {region.path}")
    return 0


def _hit_line(hit: PointingHit) -> str:
    """The line about the position of the maximum in the map of one sample."""
    found = hit.explanation
    sure = f"{found.probabilities[found.target]:.3f}"
    where = f"largest at {hit.place}, {'inside' if hit.inside else 'outside'}"
    return f"sample {hit.number} of class {found.label}: class {found.target} {sure}, {where}"


def _map_caption(job: str, args: argparse.Namespace, found: SampleExplanation) -> str:
    """The title of a picture."""
    sure = f"{found.probabilities[found.target]:.3f}"
    sample = f"{job}: sample {args.sample}, of class {found.label}"
    return f"{sample}. Evidence for class {found.target} (probability {sure}): {args.method} at {found.layer}"


def _write_map(found: SampleExplanation, path: Path, title: str) -> Path:
    """Write the map, if ``path`` is a NIfTI file, and the picture; return the picture's path. Raises ConfigError."""
    from netpart.data.scans.nifti import save_volume, voxel_spacing
    from netpart.draw.png import encode_png
    from netpart.draw.slices import draw_slices as drawn
    from netpart.errors import ConfigError

    name = path.name.removesuffix(".gz").removesuffix(".nii")
    if name != path.name and found.scan is None:
        raise ConfigError("--output", "a .png for a job that reads no scans", path.name, "change its ending to .png")
    if name != path.name and found.scan is not None:
        save_volume(path, found.in_scan.astype("float32"), found.scan.affine)
    picture = path if name == path.name else path.with_name(f"{name}.png")
    grey = found.sample.mean(axis=0) if found.scan is None else found.scan.read(tuple((0, n) for n in found.scan.shape))
    picture.parent.mkdir(parents=True, exist_ok=True)
    apart = () if found.scan is None else voxel_spacing(found.scan.affine)
    picture.write_bytes(encode_png(drawn(grey, found.in_scan, title, apart)))
    return picture
