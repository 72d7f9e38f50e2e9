// Operations on vectors of doubles.
// Read once per instruction set (isa.h), behind simd.h.

namespace tb::TB_ISA {
namespace {

// As many rows as a register holds. Where sums run across the lanes it must be f64x4, for the same bits everywhere.
constexpr int LANES = TB_LANES;
typedef double Lanes __attribute__((vector_size(8 * LANES)));

template <class V> using Mask = decltype(V{} < V{}); // as many whole numbers, -1 for true

// For any vector of doubles V.
template <class V = f64x4> TB_INLINE V broadcast(double x) { return x - V{}; }
template <class V = f64x4> TB_INLINE V load(const double *p) {
    V x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
template <class V> TB_INLINE void store(double *p, V x) { __builtin_memcpy(p, &x, sizeof x); }
template <class V> TB_INLINE Mask<V> as_bits(V x) { return reinterpret_cast<Mask<V>>(x); }
template <class V> TB_INLINE V as_reals(Mask<V> bits) { return reinterpret_cast<V>(bits); }
template <class V> TB_INLINE V only(V x, Mask<V> where) { return as_reals<V>(as_bits(x) & where); }

// Whether any bit is set.
template <class M> TB_INLINE bool any(M mask) {
#if TB_BITS == 512
    typedef long long Eight __attribute__((vector_size(64)));
    if constexpr (sizeof mask == 64)
        return __builtin_ia32_ptestmq512(reinterpret_cast<Eight>(mask), reinterpret_cast<Eight>(mask), -1) != 0;
#endif
#if TB_BITS >= 256
    typedef long long Four __attribute__((vector_size(32)));
    if constexpr (sizeof mask == 32)
        return !__builtin_ia32_ptestz256(reinterpret_cast<Four>(mask), reinterpret_cast<Four>(mask));
#endif
    int64_t joint = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < sizeof mask / sizeof joint; ++i) joint |= mask[i];
    return joint != 0;
}

TB_INLINE void transpose(f64x4 &a, f64x4 &b, f64x4 &c, f64x4 &d) {
    f64x4 ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    f64x4 cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    a = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
    c = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
    d = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

} // namespace
} // namespace tb::TB_ISA
