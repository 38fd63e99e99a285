"""Nets of the zoo at their published size have the parameters and multiply-adds that are published.

torchvision publishes both for its models (the weights' num_params and GFLOPS, multiply-adds of products and
convolutions). GPT-2: parameters of the checkpoint gpt2 at Hugging Face. GPT-3: the sizes of table 2.1 of Brown et al.,
2020, in equation 2 of Narayanan et al., 2021, and its last norm. U-Net: parameters of the net of Ronneberger et al. as
its figure 1 has it, which several implementations count alike. 3-D U-Net: Çiçek et al., section 2.
"""

from __future__ import annotations

import pytest

from netpart.graph.partition import partition_job
from netpart.plan.text.plan_table import PlanTable, tabulate_partition
from netpart.proto.reader import read_job
from tests.graphs.test_families import PUBLISHED
from tests.house.tree import ROOT

FIGURES = {
    "alexnet/alexnet": (61_100_840, 0.714),
    "densenet/densenet121": (7_978_856, 2.834),
    "gpt/gpt2": (124_439_808, None),
    "gpt/gpt3": (174_604_259_328, None),
    "mobilenet/mobilenetv2": (3_504_872, 0.301),
    "resnet/resnet18": (11_689_512, 1.814),
    "resnet/resnet34": (21_797_672, 3.664),
    "resnet/resnet50": (25_557_032, 4.089),
    "unet/unet2d": (31_030_658, None),
    "unet/unet3d": (19_069_955, None),
    "vgg/vgg16": (138_357_544, 15.470),
    "vit/vit-b16": (86_567_656, 17.564),
}
"""Parameters, and billions of multiply-adds where they are published."""


def table_of(name: str) -> PlanTable:
    job = read_job(ROOT / "graphs" / f"{name}.conf")
    return tabulate_partition(partition_job(job.proto, 1, job.folder))


def test_every_published_size_has_its_figures() -> None:
    """3D-ResAttNet's are nowhere: test_resattnet.py is about it."""
    names = {f"{path.parent.name}/{path.stem}" for path in PUBLISHED if path.parent.name != "resattnet"}
    assert names == FIGURES.keys()


@pytest.mark.parametrize("name", FIGURES)
def test_parameters_and_multiply_adds_are_the_published_ones(name: str) -> None:
    parameters, billions = FIGURES[name]
    table = table_of(name)
    assert table.parameters == parameters
    if billions is not None:
        assert round(table.multiply_adds / 1e9, 3) == billions
