// Compiles the kernels of a file for each instruction set: plain x86-64 (or whatever the machine is) and AVX2.
//
// A file that includes this defines TB_FILE as its own name and keeps its kernels in a part that is read while TB_ISA
// is defined, in the namespace tb::TB_ISA. TB_BEST(f) is the f for the machine that runs.
//
// Why not target_clones: GCC splits the operations on vectors that the default target lacks before it makes the
// clones, and before it inlines, so the AVX2 clone would get the pieces.
#define TB_ISA plain
#include TB_FILE
#undef TB_ISA

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2")
#define TB_ISA wide
#include TB_FILE
#undef TB_ISA
#pragma GCC pop_options
#define TB_BEST(...) (__builtin_cpu_supports("avx2") ? &wide::__VA_ARGS__ : &plain::__VA_ARGS__)
#else
#define TB_BEST(...) (&plain::__VA_ARGS__)
#endif
#undef TB_FILE
