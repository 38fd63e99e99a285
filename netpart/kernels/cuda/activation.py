"""Element-wise activations: one kernel for each kind and direction."""

from __future__ import annotations

from netpart.kernels import activation
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.cuda.view import collapsed_views
from netpart.kernels.gates import GATES
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING


class Activation(activation.Activation, CudaVerbs):
    """x, y, dy, dx: one shape, of any strides; y may be x where the reference allows it, and dx dy."""

    def activation(self, kind: Kind, x: Array, y: Array, slope: float = 0.0) -> Op:
        """y = kind(x)."""
        return self._elements(f"activation_{kind}", slope, x, y)

    def activation_gradient(self, kind: Kind, x: Array, y: Array, dy: Array, dx: Array, slope: float = 0.0) -> Op:
        """Overwrite dx = kind'(x) · dy. Of x and y it reads y; for gates, elu and a relu of negative slope, x."""
        reads_x = kind in GATES or kind == "elu" or (kind == "relu" and slope < 0)
        return self._elements(f"gradient_{kind}", slope, x if reads_x else y, dy, dx)

    def _elements(self, name: str, slope: float, *arrays: Array) -> Op:
        size = arrays[0].size
        if not size:
            return NOTHING
        return self.launches(self.elements("activation.cu", name, size, *collapsed_views(*arrays), float(slope)))
