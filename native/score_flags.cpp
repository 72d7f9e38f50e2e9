// add_flags: a comparison chooses between two log likelihoods; the lanes of a vector are rows.
#include "tile.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tb {
namespace {

TB_INLINE bool strange_flags(const double *x, int n) {
    i64x4 strange{};
    for (int i = 0; i < n * TILE; i += 4) {
        f64x4 value = load(x + i);
        strange |= ~((value == 0.0) | (value == 1.0) | (value != value));
    }
    return any(strange);
}

int64_t first_strange(const double *x, int n) {
    for (int r = 0; r < TILE; ++r)
        for (int j = 0; j < n; ++j) {
            const double value = x[j * TILE + r];
            if (!(value == 0 || value == 1 || std::isnan(value))) return int64_t{r} * n + j;
        }
    return -1;
}

// Totals of 16 rows under one class; `no` and `yes` point at the class in the first column.
TB_INLINE void flag_block(const double *x, int n, const double *no, const double *yes, int64_t n_classes, double *totals) {
    std::array<f64x4, STEP / 4> sum{};
    for (int j = 0; j < n; ++j) {
        const f64x4 if_zero = broadcast(no[j * n_classes]), if_one = broadcast(yes[j * n_classes]);
#pragma GCC unroll 4
        for (int v = 0; v < STEP / 4; ++v) {
            f64x4 value = load(x + j * TILE + 4 * v);
            sum[v] += as_doubles((as_bits(if_zero) & (value == 0.0)) | (as_bits(if_one) & (value == 1.0)));
        }
    }
    for (int v = 0; v < STEP / 4; ++v) store(totals + 4 * v, sum[v]);
}

template <class T>
TB_CLONES int64_t flag_chunk(const Column<T> *columns, int n, bool side_by_side, const double *no, const double *yes,
                             int64_t n_columns, int64_t n_classes, double *out, int64_t start, int64_t stop) {
    alignas(32) double x[CHUNK * TILE], totals[CLASS_BLOCK * TILE];
    int64_t bad = -1;
    for (int64_t row = start; row < stop; row += TILE) {
        const int rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        read_tile(columns, n, side_by_side, row, rows, x);
        if (bad < 0 && strange_flags(x, n)) {
            const int64_t place = first_strange(x, n);
            bad = (row + place / n) * n_columns + place % n;
        }
        for (int64_t c = 0; c < n_classes; c += CLASS_BLOCK) {
            const int classes = static_cast<int>(std::min<int64_t>(CLASS_BLOCK, n_classes - c));
            for (int k = 0; k < classes; ++k)
                for (int r = 0; r < rows; r += STEP)
                    flag_block(x + r, n, no + c + k, yes + c + k, n_classes, totals + k * TILE + r);
            add_totals(totals, classes, rows, out + row * n_classes + c, n_classes);
        }
    }
    return bad;
}

int64_t add_flags(nb::list list, Matrix<double> log_no, Matrix<double> log_yes, Out<double> out, int64_t start,
                  int64_t stop) {
    auto run = [&](auto zero) -> int64_t {
        using T = decltype(zero);
        const auto columns = columns_of<T>(list);
        const int64_t n_columns = static_cast<int64_t>(columns.size()), n_classes = out.shape(1);
        const double *no = log_no.data(), *yes = log_yes.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        const bool side_by_side = adjacent(columns);
        int64_t bad = -1;
        for (int64_t j = 0; j < n_columns; j += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - j));
            const int64_t place = flag_chunk(&columns[j], n, side_by_side, no + j * n_classes, yes + j * n_classes,
                                             n_columns, n_classes, to, start, stop);
            bad = first_place(bad, place < 0 ? place : place + j);
        }
        return bad;
    };
    return dispatch<double, float, bool, int8_t, uint8_t, int64_t>(dtype_of_first(list), run);
}

} // namespace

void register_flags(nb::module_ &m) { m.def("add_flags", &add_flags); }

} // namespace tb
