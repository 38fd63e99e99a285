"""What CUDA refuses: cudaError_t, of which CUresult has the same numbers where both are used here."""

from __future__ import annotations

INVALID_VALUE = 1
MEMORY = 2
STUB = 34
INVALID_DEVICE = 101
INVALID_IMAGE = 200
MAP_FAILED = 205
INVALID_HANDLE = 400
NOT_FOUND = 500
NOT_READY = 600
ILLEGAL_ADDRESS = 700
LAUNCH_FAILURE, NOT_SUPPORTED = 719, 801
UNSUPPORTED = 900
UNJOINED = 901
ISOLATION = 905
CAPTURED_EVENT = 907
ILLEGAL_STATE = 401


class Refused(Exception):
    """An error with a number of CUDA's, and what is the matter."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
