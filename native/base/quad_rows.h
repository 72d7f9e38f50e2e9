// One vector of four values per row of four columns (quads.h), whatever their layout.
// Read once per instruction set (isa.h), behind quads.h.
#include "base/vectors.h"

namespace tb::TB_ISA {
namespace {

TB_INLINE f64x4 absolute(f64x4 x) { return as_reals<f64x4>(as_bits(x) & INT64_MAX); }
TB_INLINE f64x4 larger(f64x4 a, f64x4 b) { return a > b ? a : b; }  // b where a is NaN
TB_INLINE f64x4 smaller(f64x4 a, f64x4 b) { return a < b ? a : b; } // b where a is NaN
// a * b + c rounded once, by one instruction where there is one.
TB_INLINE f64x4 fused(f64x4 a, f64x4 b, f64x4 c) {
    return f64x4{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1]), __builtin_fma(a[2], b[2], c[2]),
                 __builtin_fma(a[3], b[3], c[3])};
}

template <bool Adjacent, class T> TB_INLINE typename Quad<T>::Values read_row(const Quad<T> &quad, int64_t row) {
    if constexpr (Adjacent) {
        typedef T Raw __attribute__((vector_size(4 * sizeof(T))));
        Raw raw;
        __builtin_memcpy(&raw, quad.data[0] + row * quad.stride[0], sizeof raw);
        return __builtin_convertvector(raw, typename Quad<T>::Values);
    } else {
        using E = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
        return typename Quad<T>::Values{E(quad.data[0][row * quad.stride[0]]), E(quad.data[1][row * quad.stride[1]]),
                                        E(quad.data[2][row * quad.stride[2]]), E(quad.data[3][row * quad.stride[3]])};
    }
}

} // namespace
} // namespace tb::TB_ISA
