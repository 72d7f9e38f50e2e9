// Characters: read from bytes and written to them, what they are and what they become.
//
// The tables are written by unicode.py from the Python that builds.
#pragma once
#include <cstdint>

namespace tb::unicode {

extern const uint16_t trait_block[], lower_block[], fold_block[], strip_block[];
extern const uint8_t trait_value[];
extern const uint32_t lower_value[], fold_value[], strip_value[], pool[];

constexpr uint32_t REPLACEMENT = 0xFFFD, CAPITAL_SIGMA = 0x3A3, SMALL_SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2;

enum Trait : uint8_t {
    WORD = 1,        // letter, digit or low line
    MARK = 2,        // category M
    SPACE = 4,       // str.isspace
    FORMAT = 8,      // category Cf
    DIGIT = 16,      // category Nd
    CASED = 32,      // makes a sigma behind it a final one
    PASSED_OVER = 64 // is not looked at when a sigma asks for its neighbours
};

inline size_t place_of(const uint16_t *blocks, uint32_t c) { return size_t(blocks[c >> 7]) << 7 | (c & 127); }
inline uint8_t traits(uint32_t c) { return trait_value[place_of(trait_block, c)]; }

// What a character becomes: calls f with each of the characters.
template <class F> inline void changed(const uint16_t *blocks, const uint32_t *values, uint32_t c, F &&f) {
    uint32_t to = values[place_of(blocks, c)];
    if (!to) return f(c);
    if (!(to >> 31)) return f(to);
    const uint32_t *from = pool + (to & 0xFFFFFF);
    for (uint32_t i = 0, n = to >> 24 & 127; i < n; ++i) f(from[i]);
}

template <class F> inline void lowered(uint32_t c, F &&f) { changed(lower_block, lower_value, c, f); }
template <class F> inline void folded(uint32_t c, F &&f) { changed(fold_block, fold_value, c, f); }

// NFKD without what combines. Hangul syllables by the arithmetic of the Unicode standard, section 3.12.
template <class F> inline void stripped(uint32_t c, F &&f) {
    uint32_t syllable = c - 0xAC00;
    if (syllable >= 11172) return changed(strip_block, strip_value, c, f);
    f(0x1100 + syllable / 588);
    f(0x1161 + syllable % 588 / 28);
    if (syllable % 28) f(0x11A7 + syllable % 28);
}

// The next character, and `at` behind it. What is not UTF-8 is U+FFFD, one for each longest beginning of a sequence
// that could have become one (the Unicode standard, section 3.9, and Python).
inline uint32_t decoded(const uint8_t *&at, const uint8_t *end) {
    uint32_t lead = *at++;
    if (lead < 0x80) return lead;
    if (lead < 0xC2 || lead > 0xF4) return REPLACEMENT;
    int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint32_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;  // not longer than needed
    uint32_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF; // no surrogate, at most U+10FFFF
    uint32_t c = lead & (0x3F >> more);
    for (; more; --more, lowest = 0x80, highest = 0xBF) {
        if (at == end || *at < lowest || *at > highest) return REPLACEMENT;
        c = c << 6 | (*at++ & 0x3F);
    }
    return c;
}

// Writes a character and returns the place behind it; four bytes may be written.
inline uint8_t *encoded(uint32_t c, uint8_t *to) {
    if (c < 0x80) {
        *to++ = uint8_t(c);
        return to;
    }
    if (c < 0x800) {
        *to++ = uint8_t(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = uint8_t(0xE0 | c >> 12);
        } else {
            *to++ = uint8_t(0xF0 | c >> 18);
            *to++ = uint8_t(0x80 | (c >> 12 & 0x3F));
        }
        *to++ = uint8_t(0x80 | (c >> 6 & 0x3F));
    }
    *to++ = uint8_t(0x80 | (c & 0x3F));
    return to;
}

} // namespace tb::unicode
