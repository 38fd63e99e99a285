"""Datums as protobuf's own encoder writes them, and SINGA's records beside them."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.data.stores.datum import decode_sample
from netpart.data.stores.decode import record_decoder
from netpart.data.stores.protobuf_wire import encode_delimited
from netpart.data.stores.record import Record, encode_record
from netpart.errors import DataError
from netpart.proto.record_pb2 import Datum
from tests.datasets.samples import datum_bytes, pixels

IMAGE = pixels(1, (3, 4, 5))[0]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("label", [0, 7, 300, -1])
def test_a_datum_is_read(dtype: str, label: int) -> None:
    image = IMAGE.astype(dtype)
    record = decode_sample(datum_bytes(image, label))
    assert (record.shape, record.label, record.values.dtype.name) == ((3, 4, 5), label, dtype)
    assert np.array_equal(record.values.reshape(3, 4, 5), image)


def test_floats_may_be_packed() -> None:
    packed = encode_delimited(6, np.arange(6, dtype="<f4").tobytes())
    datum = Datum(channels=1, height=2, width=3, label=4).SerializeToString()
    assert decode_sample(datum + packed).values.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("image", [IMAGE, IMAGE.astype("float32"), IMAGE[0]])
def test_a_record_of_singa_is_read_as_well(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    for label in (0, 3):
        record = Record.from_array(image, label)
        assert decode_sample(encode_record(record)) == record
        wrapped = encode_delimited(5, encode_record(record))
        assert decode_sample(wrapped) == record


def test_an_encoded_image_is_refused() -> None:
    datum = Datum(channels=3, height=4, width=5, data=b"\x89PNG", label=1, encoded=True)
    with pytest.raises(DataError, match="expected plain values, got an encoded image"):
        decode_sample(datum.SerializeToString())


@pytest.mark.parametrize("end", range(1, 20))
def test_a_truncated_datum_is_refused(end: int) -> None:
    with pytest.raises(DataError):
        record_decoder(IMAGE.shape, decode_sample)(datum_bytes(IMAGE, 3)[:end])
