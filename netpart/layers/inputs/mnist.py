"""kMnist (deprecated: use kRecordInput): square grey images, x / norm_a - norm_b."""

from __future__ import annotations

from typing import ClassVar, final

from numpy.typing import DTypeLike

from netpart.data.stores.decode import Decode, record_shape
from netpart.data.stores.mnist_format import mnist_decoder, mnist_shape
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.parser import RecordParser
from netpart.layers.inputs.shard_data import RecordSpec
from netpart.spec import Spec


@final
class Mnist(RecordParser):
    """Output (batch, s, s), where s is mnist_conf.resize or, without it, the side of the first record.

    The elastic distortions of mnist_conf have no effect, as in SINGA.
    """

    types: ClassVar[tuple[str, ...]] = ("kMnist",)
    confs: ClassVar[tuple[str, ...]] = ("mnist_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = self.records()
        conf = self.conf.mnist_conf
        if conf.norm_a == 0:
            raise fault(self, "a norm_a to divide by", "0", "write norm_a: 1", "mnist_conf", "norm_a")
        self.size = at_least(self, 0, conf.resize, "mnist_conf", "resize") or self._stored(source)
        return (Spec((source.rows, self.size, self.size)),)

    def decoder(self, dtype: DTypeLike) -> Decode:
        return mnist_decoder(self.conf.mnist_conf.norm_a, self.conf.mnist_conf.norm_b, self.size, dtype)

    def _stored(self, source: RecordSpec) -> int:
        """The side of the image in the first record, pixels. Raises DataError if it is not a square grey image."""
        if source.path is None:
            raise fault(self, "a resize, as its source has no file", "none", "write resize: 28", "mnist_conf")
        with open_store("kvfile", source.path) as store:
            shape = record_shape(store)
        try:
            return mnist_shape(shape)[0]
        except DataError as error:
            raise DataError(f"{source.path}: record 0: {error}") from error
