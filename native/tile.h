// Tiles: a few rows of a few columns as doubles, column by column, so that the lanes of a vector are rows.
// Read once per instruction set (isa.h), behind score.h.

namespace tb::TB_ISA {
namespace {

// As in simd.h, but compiled for this instruction set.
TB_INLINE f64x4 broadcast(double x) { return f64x4{x, x, x, x}; }
TB_INLINE f64x4 load(const double *p) {
    f64x4 x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
TB_INLINE void store(double *p, f64x4 x) { __builtin_memcpy(p, &x, sizeof x); }
TB_INLINE bool any(i64x4 mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }
TB_INLINE f64x4 only(f64x4 x, i64x4 where) { return as_doubles(as_bits(x) & where); }

TB_INLINE void transpose(f64x4 &a, f64x4 &b, f64x4 &c, f64x4 &d) {
    f64x4 ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    f64x4 cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    a = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
    c = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
    d = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

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

// Asks for the rows of the next tile: their lines lie too far apart for the machine to foresee them all.
template <class T> TB_INLINE void prefetch_rows(const T *p, int64_t stride, int n) {
    for (int r = 0; r < TILE; ++r)
        for (int64_t byte = 0; byte < n * static_cast<int64_t>(sizeof(T)); byte += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(p + r * stride) + byte);
}

// x[j * TILE + r] = row `row + r` of column j, for n columns; lanes beyond the last row are 0.
template <class T>
TB_INLINE void read_tile(const Column<T> *columns, int n, bool side_by_side, int64_t row, int rows, double *x) {
    int first = 0; // columns before it have been read
    if (side_by_side && rows == TILE) {
        const int64_t stride = columns[0].stride;
        prefetch_rows(columns[0].data + (row + TILE) * stride, stride, n);
        for (; first + 4 <= n; first += 4) {
            const T *p = columns[first].data + row * stride;
            for (int r = 0; r < TILE; r += 4, p += 4 * stride) {
                f64x4 a = load_reals(p), b = load_reals(p + stride), c = load_reals(p + 2 * stride),
                      d = load_reals(p + 3 * stride);
                transpose(a, b, c, d);
                double *to = x + first * TILE + r;
                store(to, a), store(to + TILE, b), store(to + 2 * TILE, c), store(to + 3 * TILE, d);
            }
        }
    }
    for (int j = first; j < n; ++j) {
        const Column<T> column = columns[j];
        double *to = x + j * TILE;
        if (column.stride == 1)
            for (int r = 0; r < rows; ++r) to[r] = as_real(column.data[row + r]);
        else
            for (int r = 0; r < rows; ++r) to[r] = as_real(column[row + r]);
        for (int r = rows; r < TILE; ++r) to[r] = 0.0;
    }
}

// out[r, c] += totals[c * TILE + r] for a block of classes; `out` points at the first of them in the first row.
TB_INLINE void add_totals(const double *totals, int classes, int rows, double *out, int64_t n_classes) {
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < classes; ++c) out[r * n_classes + c] += totals[c * TILE + r];
}

} // namespace
} // namespace tb::TB_ISA
