// softmax, and the one place where the scoring kernels are registered.
//
// Four rows sit in a vector, class after class, so every row is summed in the order of its classes.
#ifndef TB_ISA
#include "score.h"

#define TB_FILE "score.cpp"
#include "isa.h"

namespace tb {
namespace {

int64_t softmax(Out<double> out, int64_t start, int64_t stop) {
    const int64_t n = static_cast<int64_t>(out.shape(1)), rows = std::max<int64_t>(stop - start, 0);
    if (n == 0) return rows;
    double *p = out.data() + start * n;
    nb::gil_scoped_release release;
    std::vector<double> scratch(8 * n);
    return TB_BEST(softmax_all)(p, rows, n, scratch.data());
}

} // namespace

void register_score(nb::module_ &m) {
    register_reals(m);
    register_flags(m);
    register_tables(m);
    register_bag_scores(m);
    m.def("softmax", &softmax);
}

} // namespace tb

#else
#include "tile.h"

#include "logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();

TB_INLINE f64x4 greater(f64x4 a, f64x4 b) { return a > b ? a : b; }

// Shares of two classes in four rows: the greater log joint has 1 / (1 + e), the other e / (1 + e).
TB_INLINE int64_t softmax_pairs(double *p) {
    f64x4 low = load(p), high = load(p + 4);
    f64x4 a = __builtin_shufflevector(low, high, 0, 2, 4, 6), b = __builtin_shufflevector(low, high, 1, 3, 5, 7);
    f64x4 top = greater(a, b);
    i64x4 never = top == NEVER;
    f64x4 other = exp4((a > b ? b : a) - top), sum = 1.0 + other;
    f64x4 most = 1.0 / sum, least = other / sum;
    f64x4 share_a = never ? a : (a == top ? most : least), share_b = never ? b : (a == top ? least : most);
    store(p, __builtin_shufflevector(share_a, share_b, 0, 4, 1, 5));
    store(p + 4, __builtin_shufflevector(share_a, share_b, 2, 6, 3, 7));
    return -(never[0] + never[1] + never[2] + never[3]);
}

// x[4 * c ..] = class c of the four rows from p on, and back. The last four classes may overlap those before them.
TB_INLINE void read_rows(const double *p, int64_t n, double *x) {
    if (n < 4) {
        for (int64_t c = 0; c < n; ++c) store(x + 4 * c, f64x4{p[c], p[n + c], p[2 * n + c], p[3 * n + c]});
        return;
    }
    for (int64_t next = 0; next < n; next += 4) {
        const int64_t c = std::min(next, n - 4);
        f64x4 k = load(p + c), l = load(p + n + c), m = load(p + 2 * n + c), o = load(p + 3 * n + c);
        transpose(k, l, m, o);
        store(x + 4 * c, k), store(x + 4 * c + 4, l), store(x + 4 * c + 8, m), store(x + 4 * c + 12, o);
    }
}

TB_INLINE void write_rows(double *p, int64_t n, const double *x) {
    if (n < 4) {
        for (int64_t c = 0; c < n; ++c) {
            f64x4 rows = load(x + 4 * c);
            p[c] = rows[0], p[n + c] = rows[1], p[2 * n + c] = rows[2], p[3 * n + c] = rows[3];
        }
        return;
    }
    for (int64_t next = 0; next < n; next += 4) {
        const int64_t c = std::min(next, n - 4);
        f64x4 k = load(x + 4 * c), l = load(x + 4 * c + 4), m = load(x + 4 * c + 8), o = load(x + 4 * c + 12);
        transpose(k, l, m, o);
        store(p + c, k), store(p + n + c, l), store(p + 2 * n + c, m), store(p + 3 * n + c, o);
    }
}

// Shares of n classes in four rows; x is scratch for 4 n doubles.
TB_INLINE int64_t softmax_rows(double *p, int64_t n, double *x) {
    read_rows(p, n, x);
    f64x4 top = broadcast(NEVER), sum{};
    for (int64_t c = 0; c < n; ++c) top = greater(top, load(x + 4 * c));
    i64x4 never = top == NEVER;
    f64x4 shift = only(top, ~never); // -inf - 0 instead of -inf - -inf
    for (int64_t c = 0; c < n; ++c) {
        f64x4 e = exp4(load(x + 4 * c) - shift);
        sum += e;
        store(x + 4 * c, e);
    }
    for (int64_t c = 0; c < n; ++c) store(x + 4 * c, never ? broadcast(NEVER) : load(x + 4 * c) / sum);
    write_rows(p, n, x);
    return -(never[0] + never[1] + never[2] + never[3]);
}

inline int64_t softmax_all(double *p, int64_t rows, int64_t n, double *scratch) {
    int64_t never = 0, row = 0;
    for (; row + 4 <= rows; row += 4) never += n == 2 ? softmax_pairs(p + row * n) : softmax_rows(p + row * n, n, scratch);
    if (row < rows) { // the last ones go the same way, with rows of zeros behind them
        double *padded = scratch + 4 * n;
        std::fill_n(std::copy(p + row * n, p + rows * n, padded), (row + 4 - rows) * n, 0.0);
        never += n == 2 ? softmax_pairs(padded) : softmax_rows(padded, n, scratch);
        std::copy_n(padded, (rows - row) * n, p + row * n);
    }
    return never;
}

} // namespace
} // namespace tb::TB_ISA
#endif
