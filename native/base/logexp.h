// log, log1p and exp of the doubles in a vector, below one and a half units in the last place.
//
// The reductions and polynomials are those of FreeBSD's msun (e_log.c, e_exp.c: Sun Microsystems 1993), without their
// branches: every lane goes through the same operations, so a value gives the same bits whatever its neighbours are.
// No fma, so that all instruction sets agree bit for bit.
// Read once per instruction set (isa.h), behind tile.h.

namespace tb::TB_ISA {
namespace {

constexpr double LN2_HIGH = 6.93147180369123816490e-01; // 32 bits: times a small whole number it is exact
constexpr double LN2_LOW = 1.90821492927058770002e-10;

// exponent * log 2 + log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
template <class V> TB_INLINE V log_reduced(V exponent, V f) {
    V s = f / (2.0 + f), z = s * s, w = z * z;
    V even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    V odd = z * (6.666666666666735130e-01 +
                 w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    V half_square = 0.5 * f * f;
    V rest = s * (half_square + (even + odd)) + exponent * LN2_LOW;
    return exponent * LN2_HIGH - ((half_square - rest) - f);
}

// Bits as unsigned integers: a lane whose value is not used may overflow, and AVX2 shifts right only these in one step.
template <class V> struct UnsignedOf {
    typedef uint64_t type __attribute__((vector_size(sizeof(V))));
};
template <class V> using Unsigned = typename UnsignedOf<V>::type;
template <class V> TB_INLINE Unsigned<V> as_unsigned(V x) { return reinterpret_cast<Unsigned<V>>(x); }

// x = fraction * 2**exponent with sqrt(1/2) <= fraction < sqrt(2); x positive, normal and finite.
template <class V> struct Parts {
    V fraction, exponent;
    Unsigned<V> biased; // exponent + 1023
};

template <class V> TB_INLINE Parts<V> parts_of(V x) {
    constexpr uint64_t ROOT_HALF = 0x3fe6a09e00000000, ONE = 0x3ff0000000000000, FRACTION = 0x000fffffffffffff;
    Unsigned<V> bits = as_unsigned(x) + (ONE - ROOT_HALF), biased = bits >> 52;
    V fraction = reinterpret_cast<V>((bits & FRACTION) + ROOT_HALF);
    V exponent = reinterpret_cast<V>(biased | 0x4330000000000000) - (0x1p52 + 1023.0);
    return {fraction, exponent, biased};
}

// For positive, normal and finite x.
template <class V> TB_INLINE V lanes_log(V x) {
    Parts<V> p = parts_of(x);
    return log_reduced(p.exponent, p.fraction - 1.0);
}

// log(1 + q) for 0 <= q < 2**1023. What 1 + q rounds away is put back, scaled, behind the fraction.
template <class V> TB_INLINE V lanes_log1p(V q) {
    V u = 1.0 + q, more = q > 1.0 ? q : broadcast<V>(1.0), less = q > 1.0 ? broadcast<V>(1.0) : q;
    V lost = less - (u - more); // exact: Dekker's sum of two
    Parts<V> p = parts_of(u);
    V scale = reinterpret_cast<V>((2046 - p.biased) << 52); // 2**-exponent
    return log_reduced(p.exponent, (p.fraction - 1.0) + lost * scale);
}

// For x <= 709, -inf included; what would fall below 2**-1022 is 0.
template <class V> TB_INLINE V lanes_exp(V x) {
    V shifted = x * 1.44269504088896338700 + 0x1.8p52; // the whole part now sits in the lowest bits
    V whole = shifted - 0x1.8p52;
    V high = x - whole * LN2_HIGH, low = whole * LN2_LOW;
    V r = high - low, t = r * r;
    V c = r - t * (1.66666666666666019037e-01 +
                   t * (-2.77777777770155933842e-03 +
                        t * (6.61375632143793436117e-05 +
                             t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    V y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    V power = reinterpret_cast<V>((as_unsigned(shifted) << 52) + 0x3ff0000000000000);
    return as_reals<V>(as_bits(y * power) & (x >= -708.39));
}

// Of four doubles, whatever the instruction set.
TB_INLINE f64x4 log4(f64x4 x) { return lanes_log(x); }
TB_INLINE f64x4 exp4(f64x4 x) { return lanes_exp(x); }

} // namespace
} // namespace tb::TB_ISA
