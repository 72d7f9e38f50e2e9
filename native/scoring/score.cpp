// softmax and log_softmax: probabilities of the classes from their log joints.
//
// Rows are the lanes of a vector, class after class, so every row is summed in the order of its classes.
#ifndef TB_ISA
#include "base/array_view.h"
#include "base/tile_sizes.h"

#define TB_FILE "scoring/score.cpp"
#include "base/isa.h"

namespace tb {
namespace {

struct alignas(64) Line { // of the cache: a vector that lies across two of them costs twice
    double values[8];
};

constexpr int64_t QUICK_PROBABILITIES = 1024; // probabilities for which the interpreter lock is not given up

template <bool logs> int64_t softmax(nb::handle out, int64_t start, int64_t stop) {
    const View<double> scores(out, 2);
    if (!scores.contiguous(2)) throw nb::type_error("expected a NumPy array without gaps to write into");
    Contract contract(start, stop);
    contract.array("out", scores, {ROWS, CLASSES});
    const int64_t n = contract[CLASSES], rows = stop - start;
    if (n == 0) return rows;
    double *p = reinterpret_cast<double *>(scores.data) + start * n;
    std::optional<nb::gil_scoped_release> release;
    if (rows * n > QUICK_PROBABILITIES) release.emplace();
    std::vector<Line> scratch(2 * n); // twice eight rows
    return TB_BEST(softmax_all<logs>)(p, rows, n, reinterpret_cast<double *>(scratch.data()));
}

} // namespace

void register_softmax(nb::module_ &m) {
    define_kernel(m, "softmax", &softmax<false>);
    define_kernel(m, "log_softmax", &softmax<true>);
}

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();

template <class V> TB_INLINE V greater(V a, V b) { return a > b ? a : b; }

// Shares of two classes in four rows: the greater log joint has 1 / (1 + e), the other e / (1 + e).
TB_INLINE int64_t softmax_pairs(double *p) {
    f64x4 low = load(p), high = load(p + 4);
    f64x4 a = __builtin_shufflevector(low, high, 0, 2, 4, 6), b = __builtin_shufflevector(low, high, 1, 3, 5, 7);
    f64x4 top = greater(a, b);
    i64x4 never = top == NEVER;
    f64x4 other = lanes_exp((a > b ? b : a) - top), sum = 1.0 + other;
    f64x4 most = 1.0 / sum, least = other / sum;
    f64x4 share_a = never ? a : (a == top ? most : least), share_b = never ? b : (a == top ? least : most);
    store(p, __builtin_shufflevector(share_a, share_b, 0, 4, 1, 5));
    store(p + 4, __builtin_shufflevector(share_a, share_b, 2, 6, 3, 7));
    return -(never[0] + never[1] + never[2] + never[3]);
}

// The lanes of one class, from the f64x4 of its first and its last four rows.
template <int lanes = LANES> TB_INLINE auto join(f64x4 first, f64x4 last) {
    if constexpr (lanes == 4) return first;
    else return __builtin_shufflevector(first, last, 0, 1, 2, 3, 4, 5, 6, 7);
}

struct Square {
    f64x4 part[4];
};

// Four classes of four rows, class by class.
TB_INLINE Square turned(const double *p, int64_t stride) {
    Square s{{load(p), load(p + stride), load(p + 2 * stride), load(p + 3 * stride)}};
    transpose(s.part[0], s.part[1], s.part[2], s.part[3]);
    return s;
}

// x[LANES * c ..] = class c of the rows from p on; returns the greatest of each row. The last four classes may overlap
// those before them. Vectors are stored whole: a load must wait long for what two stores have left.
TB_INLINE Lanes read_rows(const double *p, int64_t n, double *x) {
    Lanes top = broadcast<Lanes>(NEVER);
    for (int64_t c = 0; n < 4 && c < n; ++c) {
        Lanes rows;
        for (int r = 0; r < LANES; ++r) rows[r] = p[r * n + c];
        top = greater(top, rows);
        store(x + LANES * c, rows);
    }
    for (int64_t next = 0; n >= 4 && next < n; next += 4) {
        const int64_t c = std::min(next, n - 4);
        Square first = turned(p + c, n), last = turned(p + (LANES - 4) * n + c, n);
        for (int k = 0; k < 4; ++k) {
            const Lanes rows = join(first.part[k], last.part[k]);
            top = greater(top, rows);
            store(x + LANES * (c + k), rows);
        }
    }
    return top;
}

// The way back, each row times its scale, or less its scale.
template <bool logs> TB_INLINE void write_rows(double *p, int64_t n, const double *x, Lanes scale) {
    for (int64_t c = 0; n < 4 && c < n; ++c) {
        const Lanes rows = load<Lanes>(x + LANES * c), scaled = logs ? rows - scale : rows * scale;
        for (int r = 0; r < LANES; ++r) p[r * n + c] = scaled[r];
    }
    alignas(64) double own[LANES];
    store(own, scale);
    for (int64_t next = 0; n >= 4 && next < n; next += 4)
        for (int r = 0; r < LANES; r += 4) {
            const int64_t c = std::min(next, n - 4);
            Square rows = turned(x + LANES * c + r, LANES);
            for (int k = 0; k < 4; ++k) {
                const f64x4 row = rows.part[k], by = broadcast(own[r + k]);
                store(p + (r + k) * n + c, logs ? row - by : row * by);
            }
        }
}

// Shares of n classes in LANES rows, or their logarithms; x is scratch for LANES * n doubles.
template <bool logs> TB_INLINE int64_t softmax_rows(double *p, int64_t n, double *x) {
    const Lanes top = read_rows(p, n, x);
    Lanes sum{};
    Mask<Lanes> never = top == NEVER;
    Lanes shift = only(top, ~never); // -inf - 0 instead of -inf - -inf
    for (int64_t c = 0; c < n; ++c) {
        Lanes log_e = load<Lanes>(x + LANES * c) - shift, e = lanes_exp(log_e);
        sum += e;
        store(x + LANES * c, logs ? log_e : e);
    }
    const Lanes scale = logs ? lanes_log(sum) : 1.0 / sum; // a division per class would cost as much as an exponential
    write_rows<logs>(p, n, x, scale);
    if (!any(never)) [[likely]]
        return 0;
    int64_t count = 0;
    for (int r = 0; r < LANES; ++r)
        if (never[r]) std::fill_n(p + r * n, n, NEVER), ++count;
    return count;
}

// The same for any number of classes above 0; two go without scratch, four rows at a time.
template <bool logs> TB_INLINE int64_t softmax_some(double *p, int64_t n, double *scratch) {
    if (logs || n != 2) return softmax_rows<logs>(p, n, scratch);
    int64_t never = 0;
    for (int r = 0; r < LANES; r += 4) never += softmax_pairs(p + r * n);
    return never;
}

template <bool logs> int64_t softmax_all(double *p, int64_t rows, int64_t n, double *scratch) {
    int64_t never = 0, row = 0;
    for (; row + LANES <= rows; row += LANES) never += softmax_some<logs>(p + row * n, n, scratch);
    if (row < rows) { // the last ones go the same way, with rows of zeros behind them
        double *padded = scratch + LANES * n;
        std::fill_n(std::copy(p + row * n, p + rows * n, padded), (row + LANES - rows) * n, 0.0);
        never += softmax_some<logs>(padded, n, scratch);
        std::copy_n(padded, (rows - row) * n, p + row * n);
    }
    return never;
}

} // namespace
} // namespace tb::TB_ISA
#endif
