// Which of 64 bytes belong to words, in a text that was made ready: ASCII letters, digits, underscores and all above 127.
#pragma once
#include <cstdint>
#ifdef __SSE2__ // part of every x86-64: nothing to choose at run time (base/isa.h)
#include <emmintrin.h>
#endif

namespace tb {

#ifdef __SSE2__
inline uint64_t word_bits(const uint8_t *from) {
    uint64_t bits = 0;
    for (int i = 0; i < 4; ++i) {
        auto below = [](__m128i v, char first, char n) { // unsigned v - first < n
            __m128i from_first = _mm_sub_epi8(v, _mm_set1_epi8(first));
            return _mm_cmpeq_epi8(_mm_min_epu8(from_first, _mm_set1_epi8(char(n - 1))), from_first);
        };
        __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + 16 * i));
        __m128i letter = below(_mm_or_si128(v, _mm_set1_epi8(32)), 'a', 26), digit = below(v, '0', 10);
        __m128i line = _mm_cmpeq_epi8(v, _mm_set1_epi8('_'));
        __m128i word = _mm_or_si128(_mm_or_si128(letter, digit), _mm_or_si128(line, v)); // the highest bits count
        bits |= uint64_t(uint32_t(_mm_movemask_epi8(word))) << (16 * i);
    }
    return bits;
}
#else
inline uint64_t word_bits(const uint8_t *from) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; ++i) {
        uint8_t c = from[i];
        bool word = uint8_t((c | 32) - 'a') < 26 || uint8_t(c - '0') < 10 || c == '_' || c >= 0x80;
        bits |= uint64_t(word) << i;
    }
    return bits;
}
#endif

} // namespace tb
