// log, log1p and exp of four doubles, below one and a half units in the last place.
//
// The reductions and polynomials are those of FreeBSD's msun (e_log.c, e_exp.c: Sun Microsystems 1993), without their
// branches: every lane goes through the same operations, so a value gives the same bits whatever its neighbours are.
// No fma, so that the clones for plain x86-64 and for AVX2 agree bit for bit.
// Read once per instruction set (isa.h), behind tile.h.

namespace tb::TB_ISA {
namespace {

typedef uint64_t u64x4 __attribute__((vector_size(32))); // AVX2 shifts right only these in one step

constexpr double LN2_HIGH = 6.93147180369123816490e-01; // 32 bits: times a small whole number it is exact
constexpr double LN2_LOW = 1.90821492927058770002e-10;

// exponent * log 2 + log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
TB_INLINE f64x4 log_reduced(f64x4 exponent, f64x4 f) {
    f64x4 s = f / (2.0 + f), z = s * s, w = z * z;
    f64x4 even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    f64x4 odd = z * (6.666666666666735130e-01 +
                     w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    f64x4 half_square = 0.5 * f * f;
    f64x4 rest = s * (half_square + (even + odd)) + exponent * LN2_LOW;
    return exponent * LN2_HIGH - ((half_square - rest) - f);
}

// x = fraction * 2**exponent with sqrt(1/2) <= fraction < sqrt(2); x positive, normal and finite.
struct Parts {
    f64x4 fraction, exponent;
    i64x4 biased; // exponent + 1023
};

TB_INLINE Parts parts_of(f64x4 x) {
    constexpr int64_t ROOT_HALF = 0x3fe6a09e00000000, ONE = 0x3ff0000000000000, FRACTION = 0x000fffffffffffff;
    i64x4 bits = as_bits(x) + (ONE - ROOT_HALF);
    i64x4 biased = reinterpret_cast<i64x4>(reinterpret_cast<u64x4>(bits) >> 52); // bits are positive
    f64x4 fraction = as_doubles((bits & FRACTION) + ROOT_HALF);
    f64x4 exponent = as_doubles(biased | 0x4330000000000000) - (0x1p52 + 1023.0);
    return {fraction, exponent, biased};
}

// For positive, normal and finite x.
TB_INLINE f64x4 log4(f64x4 x) {
    Parts p = parts_of(x);
    return log_reduced(p.exponent, p.fraction - 1.0);
}

// log(1 + q) for 0 <= q < 2**1023. What 1 + q rounds away is put back, scaled, behind the fraction.
TB_INLINE f64x4 log1p4(f64x4 q) {
    f64x4 u = 1.0 + q, kept = u - 1.0;
    f64x4 lost = (1.0 - (u - kept)) + (q - kept); // exact: Knuth's sum of two
    Parts p = parts_of(u);
    f64x4 scale = as_doubles((2046 - p.biased) << 52); // 2**-exponent
    return log_reduced(p.exponent, (p.fraction - 1.0) + lost * scale);
}

// For x <= 709, -inf included; what would fall below 2**-1022 is 0.
TB_INLINE f64x4 exp4(f64x4 x) {
    f64x4 shifted = x * 1.44269504088896338700 + 0x1.8p52; // the whole part now sits in the lowest bits
    f64x4 whole = shifted - 0x1.8p52;
    f64x4 high = x - whole * LN2_HIGH, low = whole * LN2_LOW;
    f64x4 r = high - low, t = r * r;
    f64x4 c = r - t * (1.66666666666666019037e-01 +
                       t * (-2.77777777770155933842e-03 +
                            t * (6.61375632143793436117e-05 +
                                 t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    f64x4 y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    f64x4 power = as_doubles((as_bits(shifted) << 52) + 0x3ff0000000000000);
    return as_doubles(as_bits(y * power) & (x >= -708.39));
}

} // namespace
} // namespace tb::TB_ISA
