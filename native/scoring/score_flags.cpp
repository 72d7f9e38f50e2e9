// add_flags: a comparison chooses between two log likelihoods; the lanes of a vector are rows.
#ifndef TB_ISA
#include "base/tile_sizes.h"

#define TB_FILE "scoring/score_flags.cpp"
#include "base/isa.h"

namespace tb {
namespace {

int64_t add_flags(nb::object list, Matrix<double> log_no, Matrix<double> log_yes, Out<double> out, int64_t start,
                  int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("out", out, {ROWS, CLASSES});
    contract.array("log_no", log_no, {COLUMNS, CLASSES});
    contract.array("log_yes", log_yes, {COLUMNS, CLASSES});
    auto run = [&]<class T>(const std::vector<Column<T>> &columns) -> int64_t {
        const int64_t n_columns = contract[COLUMNS], n_classes = contract[CLASSES];
        const double *no = log_no.data(), *yes = log_yes.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        const auto run_chunk = TB_BEST(flag_chunk<T>);
        int64_t bad = -1;
        for (int64_t j = 0; j < n_columns; j += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - j));
            const int64_t place = run_chunk(&columns[j], n, layout_of(&columns[j], n, stop - start), no + j * n_classes,
                                            yes + j * n_classes, n_columns, n_classes, to, start, stop);
            bad = first_place(bad, place < 0 ? place : place + j);
        }
        return bad;
    };
    return block.visit<double, float, bool, int8_t, uint8_t, int64_t>(run);
}

} // namespace

void register_flags(nb::module_ &m) { define_kernel(m, "add_flags", &add_flags); }

} // namespace tb

#else
#include "base/tile.h"

namespace tb::TB_ISA {
namespace {

// True if every value of a tile is 0 or 1, which are the numbers with x*x - x = 0.
TB_INLINE bool all_flags(const double *x, int n) {
    i64x4 other{};
    for (int i = 0; i < n * TILE; i += 4) {
        f64x4 value = load(x + i);
        other |= as_bits(value * value - value);
    }
    return !any(other);
}

inline int64_t first_strange(const double *x, int n) {
    for (int r = 0; r < TILE; ++r)
        for (int j = 0; j < n; ++j) {
            const double value = x[j * TILE + r];
            if (!(value == 0 || value == 1 || std::isnan(value))) return int64_t{r} * n + j;
        }
    return -1;
}

// Totals of 16 rows under `classes` classes; `no` and `yes` point at the first of them in the first column.
template <bool gaps, int classes>
TB_INLINE void flag_block(const double *x, int n, const double *no, const double *yes, int64_t n_classes,
                          double *totals) {
    f64x4 sum[classes][STEP / 4] = {};
    for (int j = 0; j < n; ++j) {
        i64x4 if_zero[classes], if_one[classes];
#pragma GCC unroll 2
        for (int c = 0; c < classes; ++c) {
            if_zero[c] = as_bits(broadcast(no[j * n_classes + c]));
            if_one[c] = as_bits(broadcast(yes[j * n_classes + c]));
        }
#pragma GCC unroll 4
        for (int v = 0; v < STEP / 4; ++v) {
            f64x4 value = load(x + j * TILE + 4 * v);
            i64x4 one = value == 1.0, zero = gaps ? value == 0.0 : ~one;
#pragma GCC unroll 2
            for (int c = 0; c < classes; ++c) sum[c][v] += as_reals<f64x4>((if_zero[c] & zero) | (if_one[c] & one));
        }
    }
#pragma GCC unroll 2
    for (int c = 0; c < classes; ++c)
#pragma GCC unroll 4
        for (int v = 0; v < STEP / 4; ++v) store(totals + c * TILE + 4 * v, sum[c][v]);
}

// All classes for a tile whose values are in x, two at a time.
template <bool gaps>
TB_INLINE void score_flags(const double *x, int n, const double *no, const double *yes, int rows, double *out,
                           int64_t n_classes) {
    alignas(32) double totals[CLASS_BLOCK * TILE];
    for (int64_t c = 0; c < n_classes; c += CLASS_BLOCK) {
        const int classes = static_cast<int>(std::min<int64_t>(CLASS_BLOCK, n_classes - c));
        for (int r = 0; r < rows; r += STEP) {
            int k = 0;
            for (; k + 2 <= classes; k += 2)
                flag_block<gaps, 2>(x + r, n, no + c + k, yes + c + k, n_classes, totals + k * TILE + r);
            if (k < classes) flag_block<gaps, 1>(x + r, n, no + c + k, yes + c + k, n_classes, totals + k * TILE + r);
        }
        add_totals(totals, classes, rows, out + c, n_classes);
    }
}

template <class T>
int64_t flag_chunk(const Column<T> *columns, int n, const Layout &layout, const double *no, const double *yes,
                   int64_t n_columns, int64_t n_classes, double *out, int64_t start, int64_t stop) {
    alignas(32) double x[CHUNK * TILE];
    int64_t bad = -1;
    for (int64_t row = start; row < stop; row += TILE) {
        const int rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        double *to = out + row * n_classes;
        read_tile(columns, n, layout, row, rows, x);
        Next::behind(columns, layout, row).prefetch(0, TILE);
        if (all_flags(x, n)) {
            score_flags<false>(x, n, no, yes, rows, to, n_classes);
            continue;
        }
        const int64_t place = bad < 0 ? first_strange(x, n) : -1;
        if (place >= 0) bad = (row + place / n) * n_columns + place % n;
        score_flags<true>(x, n, no, yes, rows, to, n_classes);
    }
    return bad;
}

} // namespace
} // namespace tb::TB_ISA
#endif
