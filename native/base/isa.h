// The one mechanism for instruction sets: compiles the kernels of a file for each, plain x86-64 (or whatever the machine
// is), AVX2 with FMA, and AVX-512. Which of them runs is chosen by instruction_set.h, once. Only GCC compiles more than
// the plain one.
//
// A file that includes this defines TB_FILE as its own name and keeps its kernels in a part that is read while TB_ISA
// is defined, in the namespace tb::TB_ISA. TB_BEST(f) is the f for the machine that runs. TB_LANES is how many doubles
// a vector register holds; results must not depend on it, nor on the instruction set: no contraction, and fma only by name.
// TB_BITS is how wide the registers are. (GCC before 13 defines no __AVX__ where a pragma has set the target.)
//
// A file whose vectors hold four values whatever the registers are defines TB_FOURS too. It is compiled for AVX2 at most:
// AVX-512 puts comparisons into mask registers, with which the exact sums took a third longer.
//
// Why not target_clones: GCC splits the operations on vectors that the default target lacks before it makes the
// clones, and before it inlines, so the AVX2 clone would get the pieces.
#define TB_ISA plain
#define TB_LANES 4
#define TB_BITS 128
#include TB_FILE
#undef TB_ISA
#undef TB_BITS

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define TB_ISA wide
#define TB_BITS 256
#include TB_FILE
#undef TB_ISA
#undef TB_BITS
#pragma GCC pop_options

#ifdef TB_FOURS
#define TB_BEST(...) (tb::instruction_set() == tb::PLAIN ? &plain::__VA_ARGS__ : &wide::__VA_ARGS__)
#else
#undef TB_LANES
#define TB_LANES 8
#pragma GCC push_options
#pragma GCC target("fma,avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#define TB_ISA widest
#define TB_BITS 512
#include TB_FILE
#undef TB_ISA
#undef TB_BITS
#pragma GCC pop_options

#define TB_BEST(...)                                                                                                   \
    (tb::instruction_set() == tb::AVX512 ? &widest::__VA_ARGS__                                                        \
     : tb::instruction_set() == tb::AVX2 ? &wide::__VA_ARGS__                                                          \
                                         : &plain::__VA_ARGS__)
#endif
#else
#define TB_BEST(...) (&plain::__VA_ARGS__)
#endif
#undef TB_LANES
#undef TB_FILE
#undef TB_FOURS
