// Sums of rows of a table, with the totals of up to 32 classes in registers.
// Read once per instruction set (isa.h), behind tile.h.

namespace tb::TB_ISA {
namespace {

// out[at ..] += row(0) + row(1) + .. in that order, for `vectors` times four classes and a tail of up to three.
// If the rows are weighted, each times its amount; an amount of 0 adds nothing, even where the row has -inf.
template <int vectors, int tail, class Rows> TB_INLINE void sum_rows(Rows rows, int64_t n, int64_t at, double *out) {
    f64x4 sum[vectors > 0 ? vectors : 1];
    f64x2 pair{};
    double last = 0;
    for (int v = 0; v < vectors; ++v) sum[v] = load(out + at + 4 * v);
    const int64_t rest = at + 4 * vectors, single = rest + (tail & 2);
    if constexpr ((tail & 2) != 0) __builtin_memcpy(&pair, out + rest, sizeof pair);
    if constexpr ((tail & 1) != 0) last = out[single];
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) {
        rows.template prefetch<8 * (4 * vectors + tail)>(i, at);
        Pointer row = rows.row(i);
        double amount = 1.0;
        if constexpr (Rows::weighted) {
            amount = rows.amount(i);
            if (amount == 0) [[unlikely]]
                continue;
        }
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            f64x4 four = load(row + at + 4 * v);
            sum[v] += Rows::weighted ? amount * four : four;
        }
        if constexpr ((tail & 2) != 0) {
            f64x2 two;
            __builtin_memcpy(&two, row + rest, sizeof two);
            pair += Rows::weighted ? amount * two : two;
        }
        if constexpr ((tail & 1) != 0) last += Rows::weighted ? amount * row[single] : row[single];
    }
    for (int v = 0; v < vectors; ++v) store(out + at + 4 * v, sum[v]);
    if constexpr ((tail & 2) != 0) __builtin_memcpy(out + rest, &pair, sizeof pair);
    if constexpr ((tail & 1) != 0) out[single] = last;
}

// f<vectors, tail>(at) for the classes from `at` on: 32 at a time, then what is left.
template <class F> TB_INLINE void for_classes(int64_t n_classes, F f) {
    int64_t at = 0;
    for (; at + 32 <= n_classes; at += 32) f.template operator()<8, 0>(at);
    switch ((n_classes - at) / 4) {
    case 1: f.template operator()<1, 0>(at); break;
    case 2: f.template operator()<2, 0>(at); break;
    case 3: f.template operator()<3, 0>(at); break;
    case 4: f.template operator()<4, 0>(at); break;
    case 5: f.template operator()<5, 0>(at); break;
    case 6: f.template operator()<6, 0>(at); break;
    case 7: f.template operator()<7, 0>(at); break;
    }
    at = n_classes / 4 * 4;
    switch (n_classes - at) {
    case 1: f.template operator()<0, 1>(at); break;
    case 2: f.template operator()<0, 2>(at); break;
    case 3: f.template operator()<0, 3>(at); break;
    }
}

// Rows that are added as they stand.
struct Found {
    static constexpr bool weighted = false;
    const Pointer *where;

    TB_INLINE Pointer row(int64_t i) const { return where[i]; }
    template <int bytes> TB_INLINE void prefetch(int64_t, int64_t) const {}
};

// Adds up what was found for several rows, n pointers each.
TB_INLINE void add_tile(const Pointer *where, int n, int rows, double *out, int64_t n_classes) {
    for_classes(n_classes, [&]<int vectors, int tail>(int64_t at) {
        for (int r = 0; r < rows; ++r) sum_rows<vectors, tail>(Found{where + r * n}, n, at, out + r * n_classes);
    });
}

} // namespace
} // namespace tb::TB_ISA
