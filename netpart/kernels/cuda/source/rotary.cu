// Rotary positions: a pair of neighbours is a complex number, and its turn a product.
#include "view.cuh"

struct Complex {
    real re, im;
};

extern "C" __global__ void rotate(Strided<Complex> y, Strided<Complex> x, Strided<Complex> turns, long long size) {
    for (long long i = first(); i < size; i += step()) {
        const Complex point = at(x, i), turn = at(turns, i);
        at(y, i) = {point.re * turn.re - point.im * turn.im, point.re * turn.im + point.im * turn.re};
    }
}
