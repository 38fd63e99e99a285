"""Stores of the handwritten digits of scikit-learn, in the form of SINGA's MNIST stores.

1,797 images of 8x8 pixels in 17 grey levels: E. Alpaydin and C. Kaynak, Optical Recognition of
Handwritten Digits, UCI Machine Learning Repository, 1998.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.make.image_store import has_image_stores, write_image_folder
from netpart.data.resize import resize_images
from netpart.errors import NetpartError

COUNT = 1797
SIDE = 28
_SEED = 1998
_BRIGHTEST = 16
_PARTS = 14 * 14


def make_digits(folder: Path, test_every: int = 5, replace: bool = True) -> bool:
    """Write train_data.bin, test_data.bin and train_mean.bin into ``folder``: 28x28 uint8 images, labels 0–9.

    Every ``test_every``-th image of each class goes to the test store. The order is shuffled, in the same way in every
    call. Returns False, without any work, if the folder already contains them. With ``replace`` False, existing files
    of these names are kept. Raises NetpartError if scikit-learn is not installed.
    """
    tests = -(-COUNT // test_every)
    if has_image_stores(folder, COUNT - tests, tests):
        return False
    images, labels = _load_digit_images()
    shuffled = np.argsort(np.random.Philox(key=_SEED).random_raw(COUNT), kind="stable")
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    chosen = np.isin(shuffled, by_class[::test_every])
    train = shuffled[~chosen]
    test = shuffled[chosen]
    write_image_folder(folder, (images[train], labels[train]), (images[test], labels[test]), replace)
    return True


def _load_digit_images() -> tuple[NDArray[np.uint8], NDArray[Any]]:
    try:
        digits: Any = import_module("sklearn.datasets").load_digits()
    except ImportError as error:
        raise NetpartError(f"digits: expected scikit-learn, got {error}; `pip install 'netpart[data]'`") from error
    # From 8 to 28 pixels the weights are multiples of 1/14 on each axis. Many pixels lie exactly halfway between two
    # levels, where the last bit of a float decides; it may depend on the alignment of the arrays in BLAS. So the sums
    # are rounded to whole multiples of 1/196 first: these are exact.
    large = np.rint(resize_images(digits.images, SIDE, SIDE) * np.float64(_PARTS))
    return np.rint(large * 255 / (_BRIGHTEST * _PARTS)).astype(np.uint8), digits.target
