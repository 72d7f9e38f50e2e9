// log1p of columns that differ in `half`, column by column, by a few terms of its series where values are near.
// Read once per instruction set (isa.h), in score_reals.cpp.

namespace tb::TB_ISA {
namespace {

constexpr int VECTORS = 8, ROWS = VECTORS * LANES;
using Block = Lanes[VECTORS];

// log1p by its first terms, highest first: s * (1 - s * (1/2 - s * (1/3 - ..))).
template <int TERMS> TB_INLINE Lanes first_terms(Lanes s) {
    Lanes sum = broadcast<Lanes>(1.0 / TERMS);
#pragma GCC unroll 16
    for (int k = TERMS - 1; k > 0; --k) sum = 1.0 / k - s * sum;
    return s * sum;
}

// Subtracts half * log1p(z*z) of columns that differ in `half`; marks the rows that are far.
template <int TERMS, int BITS, bool gaps, bool low>
TB_INLINE void subtract_series(const double *x, const Tables &t, int64_t table, const Group &g, Block &sum,
                               Block &constants, Mask<Lanes> &far) {
    constexpr double LIMIT = TERMS > 1 ? 1.0 / double(uint64_t(1) << BITS) : 0.0;
    for (int j = g.first; j < g.last; ++j) {
        const Lanes mean = broadcast<Lanes>(t.mean[table + j]), inverse = broadcast<Lanes>(t.inverse[table + j]);
        const Lanes mean_low = broadcast<Lanes>(t.low[table + j]), constant = broadcast<Lanes>(t.constant[table + j]);
        const Lanes half = broadcast<Lanes>(t.half[table + j]);
        Block s;
        Mask<Lanes> large{};
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            const Lanes value = load<Lanes>(x + j * TILE + LANES * v);
            Lanes z = value - mean;
            if constexpr (low) z -= mean_low;
            z *= inverse;
            s[v] = z * z;
            if constexpr (gaps) {
                const Mask<Lanes> there = value == value;
                s[v] = only(s[v], there);
                constants[v] += only(constant, there);
            }
            large |= ~(s[v] < LIMIT);
        }
        if (TERMS == 1 || any(large)) {
            for (int v = 0; v < VECTORS; ++v) {
                const Mask<Lanes> small = s[v] < LIMIT, near = s[v] < NEAR;
                Lanes log = first_terms<TERMS>(s[v]);
                if (TERMS == 1 || any(~small)) {
                    far |= ~near;
                    const Lanes whole = lanes_log1p(only(s[v], near));
                    log = small ? log : whole;
                }
                sum[v] -= half * log;
            }
            continue;
        }
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) sum[v] -= half * first_terms<TERMS>(s[v]);
    }
}

template <bool gaps, bool low>
TB_INLINE void subtract_terms(const double *x, const Tables &t, int64_t table, const Group &g, Block &sum,
                              Block &constants, Mask<Lanes> &far) {
    if (g.terms == SERIES[0].terms)
        subtract_series<SERIES[0].terms, SERIES[0].bits, gaps, low>(x, t, table, g, sum, constants, far);
    else if (g.terms == SERIES[1].terms)
        subtract_series<SERIES[1].terms, SERIES[1].bits, gaps, low>(x, t, table, g, sum, constants, far);
    else if (g.terms == SERIES[2].terms)
        subtract_series<SERIES[2].terms, SERIES[2].bits, gaps, low>(x, t, table, g, sum, constants, far);
    else
        subtract_series<SERIES[3].terms, SERIES[3].bits, gaps, low>(x, t, table, g, sum, constants, far);
}

} // namespace
} // namespace tb::TB_ISA
