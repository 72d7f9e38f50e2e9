// Which of the instruction sets that isa.h compiles is used: the widest that the processor has, or a narrower one that the
// environment variable TALLYBAYES_ISA asks for (plain, avx2, avx512). Decided once.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tb {

constexpr int PLAIN = 0, AVX2 = 1, AVX512 = 2;

inline int widest_instruction_set() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return !has_avx2 ? PLAIN : has_avx512 ? AVX512 : AVX2;
#else
    return PLAIN;
#endif
}

inline int instruction_set() {
    static const int chosen = [] {
        const char *asked = std::getenv("TALLYBAYES_ISA");
        const std::string_view name = asked ? asked : "";
        const int most = name == "plain" ? PLAIN : name == "avx2" ? AVX2 : AVX512, widest = widest_instruction_set();
        return most < widest ? most : widest;
    }();
    return chosen;
}

inline const char *instruction_set_name() {
    const int used = instruction_set();
    return used == AVX512 ? "avx512" : used == AVX2 ? "avx2" : "plain";
}

} // namespace tb
