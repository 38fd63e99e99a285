"""Scans and masks at URLs: the same bits as on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.remote.url_path import UrlSettings, parse_url
from netpart.data.scans.resampled_scans import ScanRows
from netpart.data.scans.scan_masks import refuse_mask_labels
from netpart.data.scans.scan_table import read_scan_table
from netpart.errors import DataError
from tests.datasets.remote.servers import file_server
from tests.datasets.samples import masked_scans

pytest.importorskip("nibabel")


def test_masks_at_urls_are_those_of_this_machine(tmp_path: Path) -> None:
    table = masked_scans(tmp_path, 3)
    files = {f"/bucket/{path.name}": path.read_bytes() for path in tmp_path.iterdir()}
    with file_server(files) as server:
        settings = UrlSettings(0)
        remote = read_scan_table(parse_url(f"http://{server.address}/bucket/masked.csv", settings), settings)
        found = []
        for scans in (read_scan_table(table), remote):
            data, label = np.zeros((3, 1, 4, 5, 3), np.float32), np.full((3, 60), -1, np.int32)
            ScanRows(scans, (4, 5, 3), batch=3).read(0, 0, 3, data, label)
            found.append((data, label))
        for here, there in zip(*found, strict=True):
            assert np.array_equal(here, there)
        assert {*np.unique(found[1][1])} == {0, 1, 2}
        with pytest.raises(DataError, match=r"http://.*/bucket/mask-0\.nii\.gz: expected classes from 0 to 1, got 2;"):
            refuse_mask_labels(remote, 2)
