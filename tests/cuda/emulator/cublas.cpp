// What netpart calls of cuBLAS, in plain loops. Products are enqueued: what they read is read when the stream gets there.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

enum Status { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum Compute { FLOAT = 68, DOUBLE = 70, BFLOAT16 = 75, TF32 = 77 };

typedef void (*Enqueue)(void *stream, void *work);
static Enqueue enqueue;

// Rounds to `bits` of the fraction, of two to the even one.
static float rounded(float value, int bits) {
    std::uint32_t raw;
    std::memcpy(&raw, &value, 4);
    const std::uint32_t cut = 23 - bits, half = (1u << (cut - 1)) - 1;
    raw = (raw + half + (raw >> cut & 1)) >> cut << cut;
    std::memcpy(&value, &raw, 4);
    return value;
}

static double operand(double value, int compute) {
    return compute == TF32 ? rounded(float(value), 10) : compute == BFLOAT16 ? rounded(float(value), 7) : value;
}

struct Side {
    char *data;
    int turned, leading;
    long long step;
};

struct Product {
    int m, n, k, count, compute;
    double alpha, beta;
    Side a, b, c;

    template <class T> T *at(const Side &side, long long matrix, long long row, long long column) const {
        const long long offset = side.turned ? column + row * side.leading : row + column * side.leading;
        return reinterpret_cast<T *>(side.data) + matrix * side.step + offset;
    }

    template <class T> void work() const {
        std::vector<double> column(k);
        for (long long i = 0; i < count; i++)
            for (long long col = 0; col < n; col++) {
                for (long long t = 0; t < k; t++) column[t] = operand(*at<T>(b, i, t, col), compute);
                for (long long row = 0; row < m; row++) {
                    double sum = 0;
                    for (long long t = 0; t < k; t++) sum += operand(*at<T>(a, i, row, t), compute) * column[t];
                    T *to = at<T>(c, i, row, col);
                    *to = T(alpha * sum + (beta ? beta * *to : 0));
                }
            }
    }
};

struct Handle {
    void *stream = nullptr, *workspace = nullptr;
    std::vector<std::unique_ptr<Product>> products;
};

static double scalar(const void *value, int compute) {
    return compute == DOUBLE ? *static_cast<const double *>(value) : *static_cast<const float *>(value);
}

static bool fits(const Side &side, int rows, int columns) {
    return side.data && side.leading >= (side.turned ? columns : rows);
}

extern "C" {
void emulator_enqueue_by(Enqueue by) { enqueue = by; }

// Of each side its address, bytes of an element, extents (matrices, rows, columns) and their distances in bytes; then
// whether c is read.
void emulator_sides(const void *work, long long *to) {
    const Product &p = *static_cast<const Product *>(work);
    const long long item = p.compute == DOUBLE ? 8 : 4;
    auto tell = [&](const Side &side, long long rows, long long columns) {
        const long long down = side.turned ? side.leading : 1, right = side.turned ? 1 : side.leading;
        const long long found[] = {(long long)side.data, item, p.count, rows, columns, side.step * item, down * item, right * item};
        to = std::copy(found, found + 8, to);
    };
    tell(p.a, p.m, p.k), tell(p.b, p.k, p.n), tell(p.c, p.m, p.n);
    *to = p.beta != 0;
}

void emulator_work(void *work) {
    const Product *product = static_cast<Product *>(work);
    if (product->compute == DOUBLE) product->work<double>();
    else product->work<float>();
}

int cublasCreate_v2(void **handle) {
    *handle = new Handle;
    return SUCCESS;
}

// Graphs that were captured may still be launched: what they do belongs to nobody then.
int cublasDestroy_v2(void *handle) {
    for (auto &product : static_cast<Handle *>(handle)->products) product.release();
    delete static_cast<Handle *>(handle);
    return SUCCESS;
}

int cublasSetStream_v2(void *handle, void *stream) {
    static_cast<Handle *>(handle)->stream = stream;
    static_cast<Handle *>(handle)->workspace = nullptr;
    return SUCCESS;
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t size) {
    if (reinterpret_cast<std::uintptr_t>(workspace) % 256) return INVALID_VALUE;
    static_cast<Handle *>(handle)->workspace = workspace;
    return SUCCESS;
}

int cublasGemmStridedBatchedEx(void *to, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int leading_a, long long step_a, const void *b, int type_b, int leading_b,
                               long long step_b, const void *beta, void *c, int type_c, int leading_c, long long step_c,
                               int count, int compute, int algorithm) {
    Handle *handle = static_cast<Handle *>(to);
    if (!handle || !handle->workspace) return NOT_INITIALIZED;
    const int type = compute == DOUBLE;
    if (type_a != type || type_b != type || type_c != type || algorithm != -1) return NOT_SUPPORTED;
    const Side left = {static_cast<char *>(const_cast<void *>(a)), turn_a, leading_a, step_a};
    const Side right = {static_cast<char *>(const_cast<void *>(b)), turn_b, leading_b, step_b};
    const Side out = {static_cast<char *>(c), 0, leading_c, step_c};
    if (m < 1 || n < 1 || k < 1 || count < 1 || !fits(left, m, k) || !fits(right, k, n) || !fits(out, m, n))
        return INVALID_VALUE;
    const Product product = {m, n, k, count, compute, scalar(alpha, compute), scalar(beta, compute), left, right, out};
    handle->products.push_back(std::make_unique<Product>(product));
    enqueue(handle->stream, handle->products.back().get());
    return SUCCESS;
}

int cublasGemmEx(void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                 int leading_a, const void *b, int type_b, int leading_b, const void *beta, void *c, int type_c,
                 int leading_c, int compute, int algorithm) {
    return cublasGemmStridedBatchedEx(handle, turn_a, turn_b, m, n, k, alpha, a, type_a, leading_a, 0, b, type_b,
                                      leading_b, 0, beta, c, type_c, leading_c, 0, 1, compute, algorithm);
}
}
