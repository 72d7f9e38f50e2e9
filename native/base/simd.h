// Vectors of four doubles or integers. What is done with them is compiled once per instruction set: vectors.h, isa.h.
#pragma once
#include <cstdint>

#define TB_INLINE inline __attribute__((always_inline))

namespace tb {

// Where they lie in memory they belong into a struct with alignas(32): without AVX the compiler aligns them to 16 only,
// and the code for AVX2 expects 32.
typedef double f64x4 __attribute__((vector_size(32)));
typedef int64_t i64x4 __attribute__((vector_size(32)));

} // namespace tb
