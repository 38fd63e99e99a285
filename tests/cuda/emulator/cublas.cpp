// What netpart calls of cuBLAS and cuBLASLt, in plain loops. Products are enqueued: what they read is read when the stream gets there.
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

// What cuBLASLt does beside the product; `vector` has an element for each row of C, with RIGHT for each column.
enum Epilogue { NOTHING = 1, BIAS = 4, RELU_BIAS = 6, LEFT = 256, RIGHT = 512 };

struct Product {
    int m, n, k, count, compute;
    double alpha, beta;
    Side a, b, c;
    int epilogue;
    void *vector, *workspace;

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
                    sum = alpha * sum + (beta ? beta * *to : 0);
                    if (epilogue == BIAS || epilogue == RELU_BIAS) sum += static_cast<const T *>(vector)[row];
                    if (epilogue == RELU_BIAS && sum < 0) sum = 0;
                    *to = T(sum);
                }
            }
        if (epilogue == LEFT || epilogue == RIGHT) add_up<T>(epilogue == LEFT);
    }

    template <class T> void add_up(bool left) const {
        for (long long j = 0; j < (left ? m : n); j++) {
            double sum = 0;
            for (long long t = 0; t < k; t++) sum += left ? *at<T>(a, 0, j, t) : *at<T>(b, 0, t, j);
            static_cast<T *>(vector)[j] = T(sum);
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

// Of a, b, c, the vector of the epilogue and the workspace the address, bytes of an element, extents (matrices, rows,
// columns) and their distances in bytes; then whether c is read, and whether the vector is written.
void emulator_sides(const void *work, long long *to) {
    const Product &p = *static_cast<const Product *>(work);
    const long long item = p.compute == DOUBLE ? 8 : 4;
    auto tell = [&](const Side &side, long long count, long long rows, long long columns) {
        const long long down = side.turned ? side.leading : 1, right = side.turned ? 1 : side.leading;
        const long long found[] = {(long long)side.data, item, count, rows, columns, side.step * item, down * item, right * item};
        to = std::copy(found, found + 8, to);
    };
    const bool sums = p.epilogue == LEFT || p.epilogue == RIGHT;
    tell(p.a, p.count, p.m, p.k), tell(p.b, p.count, p.k, p.n), tell(p.c, p.count, p.m, p.n);
    tell({static_cast<char *>(p.vector), 0, 1, 0}, p.vector != nullptr, p.epilogue == RIGHT ? p.n : p.m, 1);
    tell({static_cast<char *>(p.workspace), 0, 1, 0}, 1, 256 / item, 1);
    *to++ = p.beta != 0, *to = sums;
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
    const Product product = {m, n, k, count, compute, scalar(alpha, compute), scalar(beta, compute), left, right, out, NOTHING, nullptr, handle->workspace};
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

// cuBLASLt. A handle of cuBLAS is one of it, too; a graph may hold its products as well.
struct Matmul {
    int compute, scale, turn[2] = {0, 0};
    unsigned epilogue = NOTHING;
    void *vector = nullptr;
};

struct Layout {
    int type;
    std::uint64_t rows, columns;
    std::int64_t leading;
};

struct Preference {
    std::uint64_t workspace = 0;
    unsigned reductions = 7, aligned[4] = {256, 256, 256, 256};
};

constexpr std::uint64_t ALGORITHM = 0x616c676f;

int cublasLtMatmulDescCreate(Matmul **made, int compute, int scale) {
    *made = new Matmul{compute, scale};
    return SUCCESS;
}

int cublasLtMatmulDescDestroy(Matmul *matmul) {
    delete matmul;
    return SUCCESS;
}

int cublasLtMatmulDescSetAttribute(Matmul *matmul, int attribute, const void *value, size_t size) {
    void *to = attribute == 3 ? &matmul->turn[0] : attribute == 4 ? &matmul->turn[1] : nullptr;
    if (attribute == 7) to = &matmul->epilogue;
    if (attribute == 8) to = &matmul->vector;
    if (!to || size != (attribute == 8 ? 8 : 4)) return INVALID_VALUE;
    std::memcpy(to, value, size);
    return SUCCESS;
}

int cublasLtMatrixLayoutCreate(Layout **made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    *made = new Layout{type, rows, columns, leading};
    return SUCCESS;
}

int cublasLtMatrixLayoutDestroy(Layout *layout) {
    delete layout;
    return SUCCESS;
}

int cublasLtMatmulPreferenceCreate(Preference **made) {
    *made = new Preference;
    return SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(Preference *preference) {
    delete preference;
    return SUCCESS;
}

int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t size) {
    void *to = attribute == 1 ? static_cast<void *>(&preference->workspace) : attribute == 3 ? &preference->reductions : nullptr;
    if (attribute >= 5 && attribute <= 8) to = &preference->aligned[attribute - 5];
    if (!to || size != (attribute == 1 ? 8 : 4)) return INVALID_VALUE;
    std::memcpy(to, value, size);
    return SUCCESS;
}

// Of what is refused: doubles that are added up, and matrices that do not fit each other.
int cublasLtMatmulAlgoGetHeuristic(void *handle, const Matmul *matmul, const Layout *a, const Layout *b, const Layout *c,
                                   const Layout *d, const Preference *preference, int wanted, std::uint64_t *result,
                                   int *count) {
    *count = 0;
    const bool doubles = matmul->compute == DOUBLE;
    if (!handle || wanted < 1 || a->type != doubles || matmul->scale != doubles) return INVALID_VALUE;
    if (doubles && matmul->epilogue > RELU_BIAS) return NOT_SUPPORTED;
    const std::uint64_t m = matmul->turn[0] ? a->columns : a->rows, k = matmul->turn[0] ? a->rows : a->columns;
    const std::uint64_t n = matmul->turn[1] ? b->rows : b->columns, terms = matmul->turn[1] ? b->columns : b->rows;
    if (c->rows != m || d->rows != m || c->columns != n || k != terms || !matmul->vector) return INVALID_VALUE;
    for (const Layout *each : {a, b, d})
        if (each->leading < std::int64_t(each->rows)) return INVALID_VALUE;
    for (unsigned aligned : preference->aligned)
        if (aligned < 4) return INVALID_VALUE;
    if (preference->reductions & 1) return NOT_SUPPORTED;
    result[0] = ALGORITHM;
    *count = 1;
    return SUCCESS;
}

int cublasLtMatmul(void *to, const Matmul *matmul, const void *alpha, const void *a, const Layout *lies_a, const void *b,
                   const Layout *lies_b, const void *beta, const void *c, const Layout *lies_c, void *d,
                   const Layout *lies_d, const std::uint64_t *algorithm, void *workspace, size_t size, void *stream) {
    Handle *handle = static_cast<Handle *>(to);
    if (*algorithm != ALGORITHM || c != d || lies_c != lies_d || std::uintptr_t(workspace) % 256 || !size)
        return INVALID_VALUE;
    const Side left = {static_cast<char *>(const_cast<void *>(a)), matmul->turn[0], int(lies_a->leading), 0};
    const Side right = {static_cast<char *>(const_cast<void *>(b)), matmul->turn[1], int(lies_b->leading), 0};
    const Side out = {static_cast<char *>(d), 0, int(lies_d->leading), 0};
    const int k = matmul->turn[0] ? lies_a->rows : lies_a->columns;
    handle->products.push_back(std::make_unique<Product>(
        Product{int(lies_d->rows), int(lies_d->columns), k, 1, matmul->compute, scalar(alpha, matmul->compute),
                scalar(beta, matmul->compute), left, right, out, int(matmul->epilogue), matmul->vector, workspace}));
    enqueue(stream, handle->products.back().get());
    return SUCCESS;
}
}
