// The loop over rows of the leave-one-out kernels: tiles of rows, whose lanes are rows.
//
// A kernel scores a tile; where closed forms are not good enough for some values, which is rare, they are only noticed
// on the way: then they are marked as missing, and the tile is scored again.
// Read once per instruction set (isa.h), behind tile.h.

namespace tb::TB_ISA {
namespace {

// Some rows of at most `columns` columns.
template <int columns> struct alignas(64) RowTile {
    double value[columns * TILE]; // NaN is missing
    double weight[TILE], code[TILE];
    int own[TILE]; // the code as an integer; 0 behind the last row, where `code` is -1
    int rows;
};

// Measures the values of a tile with f(value, column); returns true if one is missing or infinite.
template <class F> TB_INLINE bool measure(int n_columns, double *x, F f) {
    Mask<Lanes> odd{};
    for (int j = 0; j < n_columns; ++j)
        for (int r = 0; r < TILE; r += LANES) {
            const Lanes value = f(load<Lanes>(x + j * TILE + r), j);
            odd |= as_bits(value - value); // 0 where finite, else NaN
            store(x + j * TILE + r, value);
        }
    return any(odd);
}

// Kernel: prepare(tile) returns whether values are missing; score<gaps>(tile, totals) adds all classes into the totals,
// [class][row], and returns whether some values need exact sums; mark(tile, row, marks) marks those as missing.
template <class T, bool weighted, class Kernel, class Tile>
TB_INLINE void leave_out_rows(const Column<T> *columns, const Layout &layout, const int32_t *codes,
                              const double *weights, const Kernel &kernel, Tile &t, int n_columns, int64_t n_classes,
                              double *out, int64_t start, int64_t stop, const Mark &marks) {
    std::vector<double> totals(n_classes * TILE);
    for (int64_t row = start; row < stop; row += TILE) {
        t.rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        read_tile(columns, n_columns, layout, row, t.rows, t.value);
        for (int r = 0; r < TILE; ++r) {
            t.own[r] = r < t.rows ? codes[row + r] : 0;
            t.code[r] = r < t.rows ? t.own[r] : -1.0;
            t.weight[r] = weighted && r < t.rows ? weights[row + r] : 1.0;
        }
        if (kernel.prepare(t) ? kernel.template score<true>(t, totals.data())
                              : kernel.template score<false>(t, totals.data())) {
            kernel.mark(t, row, marks);
            kernel.template score<true>(t, totals.data());
        }
        for (int64_t c = 0; c < n_classes; c += CLASS_BLOCK)
            add_totals(totals.data() + c * TILE, static_cast<int>(std::min<int64_t>(CLASS_BLOCK, n_classes - c)),
                       t.rows, out + row * n_classes + c, n_classes);
    }
}

} // namespace
} // namespace tb::TB_ISA
