// Tiles: a few rows of a few columns as doubles, column by column, so that the lanes of a vector are rows.
// Read once per instruction set (isa.h), behind tile_sizes.h.
#include "base/vectors.h"

namespace tb::TB_ISA {
namespace {

// A value as a double; -1 in a column of signed integers is missing, as NaN is.
template <class T> TB_INLINE double as_real(T value) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        if (value == -1) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(value);
}

template <class T> TB_INLINE f64x4 load_reals(const T *p) {
    if constexpr (std::is_same_v<T, double>) return load(p);
    return f64x4{as_real(p[0]), as_real(p[1]), as_real(p[2]), as_real(p[3])};
}

// The rows of the next tile, to be asked for while this one is worked on: their lines lie too far apart for the machine
// to foresee them all. Only for columns of one matrix; else there are none.
struct Next {
    const char *row = nullptr;
    int64_t stride = 0, size = 0; // in bytes

    template <class T> static Next behind(const Column<T> *columns, const Layout &layout, int64_t row) {
        if (layout.span == 0) return {};
        const int64_t stride = columns[layout.first].stride, bytes = sizeof(T);
        const T *next = columns[layout.first].data + (row + TILE) * stride;
        return {reinterpret_cast<const char *>(next), stride * bytes, layout.span * bytes};
    }
    TB_INLINE void prefetch(int64_t from, int64_t to) const {
        for (int64_t r = from; r < to; ++r)
            for (int64_t byte = 0; byte < size; byte += 64) __builtin_prefetch(row + r * stride + byte);
    }
};

// to[r] = row `row + r`; lanes beyond the last row are 0.
template <class T> TB_INLINE void read_column(const Column<T> column, int64_t row, int rows, double *to) {
    if (column.stride == 1)
        for (int r = 0; r < rows; ++r) to[r] = as_real(column.data[row + r]);
    else
        for (int r = 0; r < rows; ++r) to[r] = as_real(column[row + r]);
    for (int r = rows; r < TILE; ++r) to[r] = 0.0;
}

// The same for all n columns, x[j * TILE + r] of column j, after f(j, four rows), which must leave zeros as they are.
template <class T, class F>
TB_INLINE void read_tile(const Column<T> *columns, int n, const Layout &layout, int64_t row, int rows, double *x, F f) {
    const auto read_one = [&](int j) __attribute__((always_inline)) {
        double *to = x + j * TILE;
        read_column(columns[j], row, rows, to);
        for (int r = 0; r < rows; r += 4) store(to + r, f(j, load(to + r)));
    };
    if (rows < TILE) {
        for (int j = 0; j < n; ++j) read_one(j);
        return;
    }
    // Few columns are read some rows at a time, as they lie in a matrix, and a cache line of each is written. Of many the
    // lines would not be in the first cache together: TILE is a power of 2.
    const int step = layout.fours.size() <= 8 ? 8 : TILE;
    for (int first = 0; first < TILE; first += step)
        for (const std::array<int, 4> &four : layout.fours) {
            const int64_t stride = columns[four[0]].stride;
            const T *p = columns[four[0]].data + (row + first) * stride;
            double *to[4] = {x + four[0] * TILE, x + four[1] * TILE, x + four[2] * TILE, x + four[3] * TILE};
            for (int r = first; r < first + step; r += 4, p += 4 * stride) {
                f64x4 a = load_reals(p), b = load_reals(p + stride), c = load_reals(p + 2 * stride),
                      d = load_reals(p + 3 * stride);
                transpose(a, b, c, d);
                store(to[0] + r, f(four[0], a)), store(to[1] + r, f(four[1], b));
                store(to[2] + r, f(four[2], c)), store(to[3] + r, f(four[3], d));
            }
        }
    for (int j : layout.others) read_one(j);
}
template <class T>
TB_INLINE void read_tile(const Column<T> *columns, int n, const Layout &layout, int64_t row, int rows, double *x) {
    read_tile(columns, n, layout, row, rows, x, [](int, f64x4 four) __attribute__((always_inline)) { return four; });
}

// out[r, c] += totals[c * TILE + r] for a block of classes; `out` points at the first of them in the first row.
TB_INLINE void add_totals(const double *totals, int classes, int rows, double *out, int64_t n_classes) {
    const int whole = rows / 4 * 4;
    int c = 0; // classes before it have been added
    for (; c + 4 <= classes; c += 4)
        for (int r = 0; r < whole; r += 4) {
            const double *from = totals + c * TILE + r;
            double *to = out + r * n_classes + c;
            f64x4 k = load(from), l = load(from + TILE), m = load(from + 2 * TILE), n = load(from + 3 * TILE);
            transpose(k, l, m, n);
            store(to, load(to) + k), store(to + n_classes, load(to + n_classes) + l);
            store(to + 2 * n_classes, load(to + 2 * n_classes) + m);
            store(to + 3 * n_classes, load(to + 3 * n_classes) + n);
        }
    const int left = c; // classes that did not fill a vector, and rows
    for (int r = 0; r < rows; ++r)
        for (c = r < whole ? left : 0; c < classes; ++c) out[r * n_classes + c] += totals[c * TILE + r];
}

} // namespace
} // namespace tb::TB_ISA
