"""The handwritten digits that come with scikit-learn, as stores in SINGA's MNIST form.

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
    """Writes train_data.bin, test_data.bin and train_mean.bin into ``folder``: 28x28 uint8 images, labels 0–9.

    Every ``test_every``-th image of each class goes to the test store; the order is shuffled, always the
    same way. Returns False, at once, if the folder already holds them. ``replace`` False leaves files of these
    names that are there as they are. Raises NetpartError without scikit-learn.
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
    # Weights are whole fourteenths on each axis. Many pixels lie halfway between two levels, but for a last bit that
    # would change with where BLAS finds its arrays: in whole numbers there is none.
    large = np.rint(resize_images(digits.images, SIDE, SIDE) * np.float64(_PARTS))
    return np.rint(large * 255 / (_BRIGHTEST * _PARTS)).astype(np.uint8), digits.target
