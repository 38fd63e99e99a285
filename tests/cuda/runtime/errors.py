"""What CUDA refuses: cudaError_t, of which CUresult has the same numbers where both are used here."""

from __future__ import annotations

INVALID_VALUE, MEMORY, STUB = 1, 2, 34
INVALID_DEVICE, INVALID_IMAGE, MAP_FAILED, INVALID_HANDLE, NOT_FOUND, NOT_READY, ILLEGAL_ADDRESS = (
    101, 200, 205, 400, 500, 600, 700,
)  # fmt: skip
LAUNCH_FAILURE, NOT_SUPPORTED = 719, 801
UNSUPPORTED, UNJOINED, ISOLATION, CAPTURED_EVENT, ILLEGAL_STATE = 900, 901, 905, 907, 401


class Refused(Exception):
    """An error with a number of CUDA's, and what is the matter."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
