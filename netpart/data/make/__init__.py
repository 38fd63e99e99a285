"""Generators of the data sets of the zoo."""

__all__ = [
    "cifar10",
    "digits",
    "image_sets",
    "image_store",
    "mnist",
    "phantom",
    "python_source",
    "record_copies",
    "tar_shards",
]
