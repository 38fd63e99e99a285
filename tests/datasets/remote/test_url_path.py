"""URLs in jobs: what a message shows of them, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.data.remote.url_path import join_data_path, parse_url
from netpart.errors import DataError


def test_a_signature_is_not_shown() -> None:
    url = parse_url("https://h.org/a/b.csv?X-Amz-Signature=abc#x")
    assert str(url) == f"{url}" == "https://h.org/a/b.csv"
    assert url.address.endswith("abc#x")


def test_it_has_what_readers_need_of_a_path() -> None:
    url = parse_url("s3://bucket/scans/list.csv")
    assert str(url.parent / "sub-1.nii.gz") == "s3://bucket/scans/sub-1.nii.gz"
    assert (url.suffix, url.is_dir(), parse_url("s3://bucket/d/").is_dir()) == (".csv", False, True)
    assert str(parse_url("s3://bucket/d/") / "shard.dat") == "s3://bucket/d/shard.dat"


def test_a_name_is_a_url_or_starts_in_its_folder() -> None:
    folder = parse_url("s3://bucket/scans")
    assert str(join_data_path(folder, "a.nii")) == "s3://bucket/scans/a.nii"
    assert str(join_data_path(folder, "https://h/a.nii")) == "https://h/a.nii"
    assert join_data_path(folder, "/data/a.nii") == Path("/data/a.nii")
    assert join_data_path(Path("d"), "a.nii") == Path("d/a.nii")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://me:secret@h.org/x?y", r"^https://h\.org/x: .* without user and password, got one with; .*NETRC"),
        ("s3://key:secret@bucket/x", r"^s3://bucket/x: .* set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the env"),
        ("hdfs://me@h/x", r"HADOOP_USER_NAME"),
        ("ftp://me:secret@h/x", r"^ftp://h/x: expected one of s3://, .*, got ftp://; copy the data"),
        ("https:///x", r"expected a host or bucket after https://, got none"),
        ("http://h:port/x", r"malformed host"),
        ("http://[::1/x", r"malformed host"),
    ],
)
def test_what_cannot_be_used_is_refused_without_its_secrets(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as found:
        parse_url(text)
    assert "secret" not in str(found.value)
    assert found.value.__cause__ is None
