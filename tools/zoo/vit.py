"""ViT-B/16: Dosovitskiy et al., An Image is Worth 16x16 Words, 2020."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.zoo.job import ZERO, Job, Net
from tools.zoo.transformer import LAYERS, MIXED, Size, define_blocks, norm, positions


def jobs() -> Iterator[Job]:
    """ViT-B/16 as published, and a small one under three cuts."""
    about = (
        "ViT-B/16 for images of 224 x 224, twelve transformer blocks over patches of 16 x 16. 86,567,656 "
        "parameters, 17.56 billion multiply-adds an image."
    )
    published = Size(12, 197, 768, 12)
    net = vit(published, 16, 224, 1000, 64)
    yield Job("vit", "vit-b16", about, net, 1000, 0.0003, momentum=0)
    small = Size(1, 17, 32, 8)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("attention cut on its heads, the rest on neurons and on inputs", LAYERS),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", MIXED),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"ViT made small, {wording}. One block over 16 patches. Learns within a minute."
        made = vit(small, 8, 32, 10, 16, cut, base=net)
        yield Job("vit", f"vit-b16-small{suffix}", about, made, 100, 0.002, momentum=0)


def vit(
    size: Size, patch: int, side: int, classes: int, batch: int, cuts: Mapping[str, str] | None = None,
    base: Net | None = None,
) -> Net:  # fmt: skip
    """Patches of the image and a class token as a sequence; the class token is classified.

    ``base`` is the net of vit-b16.conf, whose blocks this one uses; without it this is that net.
    """
    net = Net(cuts or {})
    if base:
        net.include("vit-b16.conf", base)
    size.name_values(net)
    if not base:
        define_blocks(net, "GELU", "1e-6", causal=False)
    at = net.data(batch, (3, side, side), classes)
    net.note("patches become a sequence of vectors")
    at = net.convolution("patches", at, "${width}", patch, stride=patch, bias=True)
    at = net.layer("flat", "kReshape", at, conf=f"reshape_conf {{ shape: [${{width}}, {size.positions - 1}] }}")
    at = net.layer("sequence", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")
    at = positions(net, net.layer("token", "kClassToken", at, params=[ZERO]))
    at = net.use("b", "transformer", at, times=size.blocks)
    net.note("classifier of the class token")
    at = norm(net, "norm", at, "1e-6")
    at = net.layer("first", "kCrop", at, conf="crop_conf { shape: [1, ${width}] start: [0, 0] }")
    net.loss(net.product("fc", at, classes))
    return net
