// half * log1p(s), by a few terms of its series where s is small.
// Read once per instruction set (isa.h), in score_reals.cpp.

namespace tb::TB_ISA {
namespace {

constexpr int SERIES_VECTORS = 8, SERIES_ROWS = SERIES_VECTORS * LANES;
using RowVectors = Lanes[SERIES_VECTORS];

// log1p by its first terms, highest first: s * (1 - s * (1/2 - s * (1/3 - ..))).
template <int TERMS> TB_INLINE Lanes first_terms(Lanes s) {
    Lanes sum = broadcast<Lanes>(1.0 / TERMS);
#pragma GCC unroll 16
    for (int k = TERMS - 1; k > 0; --k) sum = 1.0 / k - s * sum;
    return s * sum;
}

// f<series>() for the series that a group has.
template <class F> TB_INLINE void with_series(int series, F f) {
    switch (series) {
    case 0: f.template operator()<0>(); break;
    case 1: f.template operator()<1>(); break;
    case 2: f.template operator()<2>(); break;
    default: f.template operator()<3>();
    }
}

// sum -= half * log1p(s), by the series where s is small; marks the rows that are far.
template <int series> TB_INLINE void subtract_logs(const RowVectors &s, Lanes half, RowVectors &sum, Mask<Lanes> &far) {
    constexpr int TERMS = SERIES[series].terms;
    constexpr double SERIES_LIMIT = TERMS > 1 ? 1.0 / double(1 << SERIES[series].bits) : 0.0;
    Mask<Lanes> large{};
    if constexpr (TERMS > 1) {
#pragma GCC unroll 8
        for (int v = 0; v < SERIES_VECTORS; ++v) large |= ~(s[v] < SERIES_LIMIT);
    }
    if (TERMS == 1 || any(large)) {
#pragma GCC unroll 1
        for (int v = 0; v < SERIES_VECTORS; ++v) {
            const Mask<Lanes> small = s[v] < SERIES_LIMIT, near = s[v] < NEAR;
            Lanes log = first_terms<TERMS>(s[v]);
            if (TERMS == 1 || any(~small)) {
                far |= ~near;
                const Lanes whole = lanes_log1p(only(s[v], near));
                log = small ? log : whole;
            }
            sum[v] -= half * log;
        }
        return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < SERIES_VECTORS; ++v) sum[v] -= half * first_terms<TERMS>(s[v]);
}

// The same for columns that share no logarithm, one after the other.
template <int series, bool gaps, bool low>
TB_INLINE void subtract_series(const double *x, const RealTables &t, int64_t table, const LogGroup &g, RowVectors &sum,
                               RowVectors &constants, Mask<Lanes> &far) {
    for (int j = g.first; j < g.last; ++j) {
        const Lanes mean = broadcast<Lanes>(t.mean[table + j]), inverse = broadcast<Lanes>(t.inverse[table + j]);
        const Lanes mean_low = broadcast<Lanes>(t.low[table + j]), constant = broadcast<Lanes>(t.constant[table + j]);
        RowVectors s;
#pragma GCC unroll 8
        for (int v = 0; v < SERIES_VECTORS; ++v) {
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
        }
        subtract_logs<series>(s, broadcast<Lanes>(t.half[table + j]), sum, far);
    }
}

} // namespace
} // namespace tb::TB_ISA
