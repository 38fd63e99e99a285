// Rotary position embeddings: a pair of neighbours is a complex number, and its rotation a product.
#include "each.cuh"

struct Complex {
    real re, im;
};

extern "C" __global__ void rotate(Strided<Complex> y, Strided<Complex> x, Strided<Complex> turns, long long size) {
    auto turned = [](Complex& y, Complex x, Complex turn) {
        y = {x.re * turn.re - x.im * turn.im, x.re * turn.im + x.im * turn.re};
    };
    each(size, turned, out(y), in(x), in(turns));
}
