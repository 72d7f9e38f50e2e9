// log gamma of the doubles in a vector, all positive and normal.
// Read once per instruction set (isa.h), behind logexp.h.

namespace tb::TB_ISA {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();

// Stirling's series, for z >= 8.
template <class V> TB_INLINE V log_gamma_from_8(V z) {
    V r = 1.0 / z, t = r * r;
    // clang-format off
    V series =
        r * (1.0 / 12 -
             t * (1.0 / 360 -
                  t * (1.0 / 1260 -
                       t * (1.0 / 1680 -
                            t * (1.0 / 1188 - t * (691.0 / 360360 - t * (1.0 / 156 - t * (3617.0 / 122400))))))));
    // clang-format on
    return (z - 0.5) * lanes_log(z) - z + (0.918938533204672741780 + series);
}

// The same for z >= 64, where the terms after the third are less than half a unit in the last place.
template <class V> TB_INLINE V log_gamma_from_64(V z) {
    V r = 1.0 / z, t = r * r;
    V series = r * (1.0 / 12 - t * (1.0 / 360 - t * (1.0 / 1260)));
    return (z - 0.5) * lanes_log(z) - z + (0.918938533204672741780 + series);
}

// Below 8 by way of lgamma(z) = lgamma(z + 8) - log(z (z + 1) .. (z + 7)).
template <class V = f64x4> TB_INLINE V log_gamma(V z) {
    Mask<V> small = z < 8.0;
    V result = log_gamma_from_8(small ? z + 8.0 : z);
    if (any(small)) {
        V product = (z * (z + 1.0)) * ((z + 2.0) * (z + 3.0)) * (((z + 4.0) * (z + 5.0)) * ((z + 6.0) * (z + 7.0)));
        result = small ? result - lanes_log(product) : result;
    }
    return result;
}

} // namespace
} // namespace tb::TB_ISA
