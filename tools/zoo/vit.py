"""ViT-B/16: Dosovitskiy et al., An Image is Worth 16x16 Words, 2020."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools.zoo.job import ZERO, Job, Net
from tools.zoo.transformer import LAYERS, MIXED, Size, block, norm, positions


def jobs() -> Iterator[Job]:
    """ViT-B/16 as published, and a small one under three cuts."""
    about = (
        "ViT-B/16 for images of 224 x 224, twelve transformer blocks over patches of 16 x 16. 86,567,656 "
        "parameters, 17.56 billion multiply-adds an image."
    )
    published = Size(12, 197, 768, 12)
    yield Job("vit", "vit-b16", about, vit(published, 16, 224, 1000, 64), 1000, 0.0003, momentum=0)
    small = Size(1, 17, 32, 8)
    cuts: dict[str, tuple[str, Mapping[str, str]]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("attention cut on its heads, the rest on neurons and on inputs", LAYERS),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", MIXED),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"ViT made small, {wording}. One block over 16 patches. Learns within a minute."
        yield Job("vit", f"vit-b16-small{suffix}", about, vit(small, 8, 32, 10, 16, cut), 100, 0.002, momentum=0)


def vit(size: Size, patch: int, side: int, classes: int, batch: int, cuts: Mapping[str, str] | None = None) -> Net:
    """Patches of the image and a class token as a sequence; the class token is classified."""
    net, width = Net(cuts or {}), size.width
    at = net.data(batch, (3, side, side), classes)
    net.note("patches become a sequence of vectors")
    at = net.convolution("patches", at, width, patch, stride=patch, bias=True)
    at = net.layer("flat", "kReshape", at, conf=f"reshape_conf {{ shape: [{width}, {size.positions - 1}] }}")
    at = net.layer("sequence", "kTranspose", at, conf="transpose_conf { axis: [2, 1] }")
    at = positions(net, net.layer("token", "kClassToken", at, params=[ZERO]))
    for i in range(1, size.blocks + 1):
        net.note(f"block {i}")
        at = block(net, f"b{i}", at, size, "GELU", "1e-6", causal=False)
    net.note("classifier of the class token")
    at = norm(net, "norm", at, "1e-6")
    at = net.layer("first", "kCrop", at, conf=f"crop_conf {{ shape: [1, {width}] start: [0, 0] }}")
    net.loss(net.product("fc", at, classes))
    return net
