"""The ten nets of the zoo for which planning is measured: a name, and the job in graphs/."""

NETS = {
    "lenet": "mnist/conv", "cifar10": "alexnet/alexnet-small", "alexnet": "alexnet/alexnet", "vgg16": "vgg/vgg16",
    "resnet18": "resnet/resnet18", "resnet50": "resnet/resnet50", "unet2d": "unet/unet2d", "unet3d": "unet/unet3d",
    "gpt2": "gpt/gpt2", "vit": "vit/vit-b16",
}  # fmt: skip
