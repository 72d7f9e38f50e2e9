// Vectors of four doubles and the choice of instruction set at run time.
//
// A function marked TB_CLONES is compiled twice, for plain x86-64 and for x86-64-v3 (AVX2 with FMA), and the loader
// picks one by what the processor supports. (GCC takes "arch=haswell" to mean that very processor and no later one.)
// Everything it calls must be marked TB_INLINE so that it is compiled along with it. Arithmetic is written so that
// both clones give the same bits: no contraction, no reassociation; fma only by name.
#pragma once
#include <cstdint>

#define TB_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__linux__) && (__GNUC__ >= 12 || __clang_major__ >= 17)
#define TB_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define TB_CLONES
#endif

namespace tb {

typedef double f64x4 __attribute__((vector_size(32)));
typedef int64_t i64x4 __attribute__((vector_size(32)));

TB_INLINE f64x4 broadcast(double x) { return f64x4{x, x, x, x}; }
TB_INLINE i64x4 as_bits(f64x4 x) { return reinterpret_cast<i64x4>(x); }
TB_INLINE f64x4 as_doubles(i64x4 x) { return reinterpret_cast<f64x4>(x); }
TB_INLINE f64x4 load(const double *p) {
    f64x4 x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
TB_INLINE void store(double *p, f64x4 x) { __builtin_memcpy(p, &x, sizeof x); }

} // namespace tb
