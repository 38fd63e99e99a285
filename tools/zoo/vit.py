"""ViT-B/16: Dosovitskiy et al., An Image is Worth 16x16 Words, 2020."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from netpart import Net
from netpart.blocks.initialised_layers import ZERO, he_convolution, initialised_layer_norm
from netpart.blocks.transformer_blocks import SEQUENCE_CUTS, learned_positions, name_extents, transformer_block
from tools.zoo.job import MEGATRON, Cuts, classifier, images, zoo_net


def jobs() -> Iterator[Net]:
    """ViT-B/16 as published, and a small one under three cuts."""
    about = (
        "ViT-B/16 for images of 224 x 224, twelve transformer blocks over patches of 16 x 16. 86,567,656 "
        "parameters, 17.56 billion multiply-adds an image."
    )
    base = vit(zoo_net("vit", "vit-b16", about, 1000, 0.0003, momentum=0), 12, (768, 12), 16, 224, 1000, 64)
    yield base
    cuts: dict[str, tuple[str, Cuts]] = {
        "": ("every layer cut on the batch", {}),
        "-layers": ("attention cut on its heads, the rest on neurons and on inputs", MEGATRON),
        "-mixed": ("products cut on heads, neurons and inputs, what lies between them on the batch", SEQUENCE_CUTS),
    }
    for suffix, (wording, cut) in cuts.items():
        about = f"ViT made small, {wording}. One block over 16 patches. Learns within a minute."
        net = zoo_net("vit", f"vit-b16-small{suffix}", about, 100, 0.002, momentum=0, base=base)
        vit(net, 1, (32, 8), 8, 32, 10, 16).cut(cut)
        yield net


def vit(net: Net, blocks: int, extents: tuple[int, int], patch: int, side: int, classes: int, batch: int) -> Net:
    """Patches of the image and a class token as a sequence; the class token is classified."""
    patches = (side // patch) ** 2
    size = name_extents(net, patches + 1, *extents)
    data = images(net, batch, (3, side, side), classes)
    net.comment("patches become a sequence of vectors")
    x = he_convolution(net, "patches", data, size.width, patch, patch, bias=True, pad=None)
    x = net.transpose(net.reshape(x, [size.width, patches], name="flat"), [2, 1], name="sequence")
    x = learned_positions(net, net.class_token(x, name="token", params=[ZERO]))
    block = partial(transformer_block, size=size, gelu="GELU", epsilon=1e-6, causal=False)
    x = net.repeat(blocks, block, x, name="b", of="transformer")
    net.comment("classifier of the class token")
    x = net.crop(initialised_layer_norm(net, "norm", x, 1e-6), [1, size.width], [0, 0], name="first")
    return classifier(net, "fc", x, data, classes)
