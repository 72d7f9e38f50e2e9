// A hash of bytes that nobody can foresee: its seeds are drawn when the module is loaded.
//
// Tables that use it cannot be flooded with words made up to collide. No result may depend on it: the numbers that
// tables give out follow the order in which words come.
#pragma once
#include <cstdint>
#include <cstring>
#include <random>

namespace tb {

inline const struct Seeds {
    uint64_t first, second;
    Seeds() {
        std::random_device random;
        auto draw = [&] { return (uint64_t(random()) << 32 | random()) | 1; };
        first = draw();
        second = draw();
    }
} SEEDS;

inline uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

// Eight bytes as a number, and the first of them: so many that a word has.
inline uint64_t eight(const uint8_t *from) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
}
inline uint64_t first(uint64_t word, int64_t length) {
    uint64_t kept = length >= 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * length)) - 1;
    return word & kept;
}

// Up to eight bytes as a number; `room` bytes may be read from `from` on.
inline uint64_t load(const uint8_t *from, int64_t length, int64_t room) {
    if (room >= 8) return first(eight(from), length);
    uint64_t word = 0;
    if (length > 0) std::memcpy(&word, from, size_t(length < 8 ? length : 8));
    return word;
}

// The hash of a word whose first eight bytes are `head` and whose last eight are `tail`, the head again if there are not
// more. Up to sixteen bytes, which nearly all words are, it is one multiplication of the two.
inline uint64_t hash_of(uint64_t head, uint64_t tail, const uint8_t *from, int64_t length) {
    uint64_t hash = mix(head ^ SEEDS.first, (tail + uint64_t(length)) ^ SEEDS.second);
    for (int64_t i = 8; i + 8 < length; i += 8) hash = mix(hash ^ eight(from + i), SEEDS.first);
    return hash;
}
inline uint64_t hash_of(uint64_t head, const uint8_t *from, int64_t length) {
    return hash_of(head, length > 8 ? eight(from + length - 8) : head, from, length);
}
// The same where eight bytes may be read from `from` on: without a branch.
inline uint64_t hash_with_room(uint64_t head, const uint8_t *from, int64_t length) {
    return hash_of(head, first(eight(from + (length > 8 ? length - 8 : 0)), length), from, length);
}

} // namespace tb
