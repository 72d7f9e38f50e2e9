// Tokens numbered by a hash with a key: SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
#pragma once
#include "base/hash.h"

#include <bit>

namespace tb {

class Buckets {
  public:
    Buckets(uint64_t low, uint64_t high, int64_t size) : low_(low), high_(high), size_(uint64_t(size)) {}

    int64_t size() const { return int64_t(size_); }
    uint64_t low() const { return low_; }
    uint64_t high() const { return high_; }
    int32_t number(const uint8_t *from, int64_t length) const { return int32_t(hash(from, length) % size_); }

  private:
    uint64_t hash(const uint8_t *from, int64_t length) const {
        uint64_t v0 = low_ ^ 0x736F6D6570736575, v1 = high_ ^ 0x646F72616E646F6D;
        uint64_t v2 = low_ ^ 0x6C7967656E657261, v3 = high_ ^ 0x7465646279746573;
        auto round = [&] {
            v0 += v1, v2 += v3;
            v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
            v0 = std::rotl(v0, 32) + v3, v2 += v1;
            v3 = std::rotl(v3, 21) ^ v0, v1 = std::rotl(v1, 17) ^ v2;
            v2 = std::rotl(v2, 32);
        };
        auto take = [&](uint64_t word) {
            v3 ^= word;
            round(), round();
            v0 ^= word;
        };
        int64_t whole = length & ~int64_t(7);
        for (int64_t i = 0; i < whole; i += 8) take(eight(from + i));
        take(load(from + whole, length - whole, length - whole) | uint64_t(length) << 56);
        v2 ^= 255;
        round(), round(), round(), round();
        return v0 ^ v1 ^ v2 ^ v3;
    }

    uint64_t low_, high_, size_;
};

} // namespace tb
