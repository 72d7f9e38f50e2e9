// Exact sums: cells of digits in base 2**32 that never round.
//
// The value of a cell is the sum over k of digit[k] * 2**(32 * (low + k)) (the small superaccumulator of Neal 2015,
// "Fast exact summation using small and large superaccumulators"). All cells share one window of digits, which grows
// when a number lands outside. A digit has 64 bits for 32, so carries wait until 2**30 numbers were added.
//
// Below it, whole numbers of any size and their correctly rounded quotient.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/simd.h"

namespace tb {

using u128 = unsigned __int128;

// m * 2**exponent or its negative, with m odd (or zero, for zero): so no digit is used that only holds zeros.
struct Number {
    uint64_t m;
    int64_t exponent;
    bool negative;
};

inline Number number_of(double x) {
    uint64_t bits = std::bit_cast<uint64_t>(x), fraction = bits & ((uint64_t(1) << 52) - 1);
    int64_t biased = bits >> 52 & 2047;
    uint64_t m = biased ? fraction | uint64_t(1) << 52 : fraction;
    int zeros = m ? std::countr_zero(m) : 0;
    return {m >> zeros, std::max<int64_t>(biased, 1) - 1075 + zeros, bits >> 63 != 0};
}

// Digit i of the number in `words` (base 2**32, N of them) times 2**shift, 0 <= shift < 32, 0 <= i <= N.
template <int N> TB_INLINE int64_t shifted_digit(const uint32_t (&words)[N], int i, int shift) {
    uint64_t upper = i < N ? words[i] : 0, lower = i > 0 ? words[i - 1] : 0;
    return uint32_t((upper << 32 | lower) >> (32 - shift));
}

class Store {
  public:
    explicit Store(int64_t n_cells) : n_cells_(n_cells) {}

    // Adds v * 2**exponent.
    void add(int64_t cell, int64_t v, int64_t exponent) {
        if (v == 0) return;
        int zeros = std::countr_zero(uint64_t(v));
        exponent += zeros;
        __int128 shifted = __int128(v >> zeros) << (exponent & 31);
        int64_t *digit = reach(cell, exponent >> 5, 3);
        digit[0] += uint32_t(shifted);
        digit[1] += uint32_t(shifted >> 32);
        digit[2] += int64_t(shifted >> 64);
    }

    void add(int64_t cell, const Number &x) { add(cell, x.negative ? -int64_t(x.m) : int64_t(x.m), x.exponent); }

    // Adds the number in `words` (base 2**32) times 2**exponent, or takes it away.
    template <int N> void add(int64_t cell, const uint32_t (&words)[N], int64_t exponent, bool negative) {
        int64_t *digit = reach(cell, exponent >> 5, N + 1);
        for (int i = 0; i <= N; ++i) {
            int64_t part = shifted_digit(words, i, exponent & 31);
            digit[i] += negative ? -part : part;
        }
    }

    // Adds a * b.
    void add_product(int64_t cell, const Number &a, const Number &b) {
        u128 product = u128(a.m) * b.m;
        if (product == 0) return;
        uint32_t words[4] = {uint32_t(product), uint32_t(product >> 32), uint32_t(product >> 64),
                             uint32_t(product >> 96)};
        add(cell, words, a.exponent + b.exponent, a.negative != b.negative);
    }

    // Adds w * x * x, which is below 2**159.
    void add_product(int64_t cell, const Number &w, const Number &x, const Number &same) {
        u128 square = u128(x.m) * same.m;
        u128 low = u128(uint64_t(square)) * w.m, high = u128(uint64_t(square >> 64)) * w.m + uint64_t(low >> 64);
        if (low == 0 && high == 0) return;
        uint32_t words[5] = {uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32),
                             uint32_t(high >> 64)};
        add(cell, words, w.exponent + x.exponent + same.exponent, w.negative);
    }

    // Brings every digit but the last into [0, 2**32).
    void carry() {
        for (int64_t cell = 0; cell < n_cells_; ++cell) {
            int64_t *digit = digits_.data() + cell * width_;
            for (int64_t k = 0; k + 1 < width_; ++k) {
                digit[k + 1] += digit[k] >> 32;
                digit[k] &= 0xFFFFFFFF;
            }
        }
        pending_ = 0;
    }

    // Carries, and leaves at least one digit.
    void finish() {
        if (width_ == 0) grow(0, 1);
        carry();
    }

    int64_t low() const { return low_; }
    int64_t width() const { return width_; }
    std::vector<int64_t> &&take() { return std::move(digits_); }

  private:
    // The cell's digit of 2**(32 * place); it, the `span` - 1 above and one more for the carries are there.
    int64_t *reach(int64_t cell, int64_t place, int64_t span) {
        if (++pending_ >= int64_t(1) << 30) carry();
        if (place < low_ || place + span >= low_ + width_) [[unlikely]]
            grow(place, place + span + 1);
        return digits_.data() + cell * width_ + (place - low_);
    }

    __attribute__((noinline)) void grow(int64_t from, int64_t to) {
        if (width_) from = std::min(from, low_), to = std::max(to, low_ + width_);
        std::vector<int64_t> wider(n_cells_ * (to - from));
        for (int64_t cell = 0; cell < n_cells_ && width_; ++cell)
            std::copy_n(digits_.data() + cell * width_, width_, wider.data() + cell * (to - from) + (low_ - from));
        digits_ = std::move(wider);
        low_ = from;
        width_ = to - from;
    }

    int64_t n_cells_, low_ = 0, width_ = 0, pending_ = 0;
    std::vector<int64_t> digits_;
};

// The digits of a cell without those that hold only zeros or the sign, to keep numbers short.
struct TrimmedDigits {
    const int64_t *digits;
    int64_t width, last; // the last digit, with the sign
    int64_t skipped = 0; // how many of the lowest were left out

    static TrimmedDigits trimmed(const int64_t *digits, int64_t width) {
        int64_t skipped = 0, last = digits[width - 1];
        while (skipped < width - 1 && digits[skipped] == 0) ++skipped;
        for (; width > skipped + 1 && (last == 0 || last == -1); --width)
            last = last * (int64_t(1) << 32) + digits[width - 2];
        return {digits + skipped, width - skipped, last, skipped};
    }
};

// A whole number of any size, sign apart.
struct Big {
    std::vector<uint64_t> limbs; // lowest first; zeros at the top are allowed
    bool negative = false;

    void set(u128 value, bool is_negative) {
        limbs.assign({uint64_t(value), uint64_t(value >> 64)});
        negative = is_negative;
    }

    // The digits of a cell; the last is signed and may use all its 64 bits.
    void set(const int64_t *digits, int64_t width) { set({digits, width, digits[width - 1]}); }

    void set(const TrimmedDigits &cell) {
        const int64_t width = cell.width;
        limbs.assign(width / 2 + 1, 0);
        for (int64_t k = 0; k + 1 < width; ++k) limbs[k / 2] |= uint64_t(cell.digits[k]) << (k % 2 * 32);
        negative = cell.last < 0;
        if (width % 2) {
            limbs[width / 2] = uint64_t(cell.last);
        } else {
            limbs[width / 2 - 1] |= uint64_t(cell.last) << 32;
            limbs[width / 2] = uint64_t(cell.last >> 32);
        }
        if (negative) negate_bits();
    }

    void multiply(const Big &a, uint64_t factor, bool factor_negative) {
        limbs.resize(a.limbs.size() + 1);
        uint64_t carry = 0;
        for (size_t i = 0; i < a.limbs.size(); ++i) {
            u128 product = u128(a.limbs[i]) * factor + carry;
            limbs[i] = uint64_t(product);
            carry = uint64_t(product >> 64);
        }
        limbs.back() = carry;
        negative = a.negative != factor_negative;
    }

    void square(const Big &a) {
        size_t n = a.limbs.size();
        limbs.assign(2 * n, 0);
        for (size_t i = 0; i < n; ++i) {
            uint64_t carry = 0;
            for (size_t j = 0; j < n; ++j) {
                u128 product = u128(a.limbs[i]) * a.limbs[j] + limbs[i + j] + carry;
                limbs[i + j] = uint64_t(product);
                carry = uint64_t(product >> 64);
            }
            limbs[i + n] = carry;
        }
        negative = false;
    }

    void shift_left(int64_t bits) {
        if (bits == 0) return;
        int64_t whole = bits / 64, part = bits % 64, n = limbs.size();
        limbs.resize(n + whole + 1, 0);
        for (int64_t i = n + whole; i >= 0; --i) {
            uint64_t upper = i >= whole && i - whole < n ? limbs[i - whole] : 0;
            uint64_t lower = i > whole ? limbs[i - whole - 1] : 0;
            limbs[i] = part ? upper << part | lower >> (64 - part) : upper;
        }
    }

    // a - b
    void subtract(const Big &a, const Big &b) {
        size_t n = std::max(a.limbs.size(), b.limbs.size()) + 1;
        limbs.resize(n);
        bool differ = a.negative != b.negative; // then the sizes add up
        u128 carry = differ ? 0 : 1;
        for (size_t i = 0; i < n; ++i) {
            uint64_t other = i < b.limbs.size() ? b.limbs[i] : 0;
            carry += u128(i < a.limbs.size() ? a.limbs[i] : 0) + (differ ? other : ~other);
            limbs[i] = uint64_t(carry);
            carry >>= 64;
        }
        bool below = limbs.back() >> 63; // the size of a is below that of b
        if (below) negate_bits();
        negative = a.negative != below;
    }

    int64_t bit_length() const {
        int64_t i = limbs.size();
        while (i > 0 && limbs[i - 1] == 0) --i;
        return i == 0 ? 0 : 64 * i - std::countl_zero(limbs[i - 1]);
    }

    // The 64 bits from `position` on, which may lie outside.
    uint64_t bits_at(int64_t position) const {
        int64_t i = position >> 6, shift = position & 63;
        return limb(i) >> shift | (shift ? limb(i + 1) << (64 - shift) : 0);
    }

    bool any_below(int64_t position) const {
        for (int64_t i = 0; 64 * i < position; ++i) {
            uint64_t mask = 64 * (i + 1) <= position ? ~uint64_t(0) : (uint64_t(1) << (position & 63)) - 1;
            if (limb(i) & mask) return true;
        }
        return false;
    }

  private:
    uint64_t limb(int64_t i) const { return i >= 0 && i < int64_t(limbs.size()) ? limbs[i] : 0; }

    void negate_bits() {
        bool carry = true;
        for (uint64_t &limb : limbs) {
            limb = ~limb + carry;
            carry = carry && limb == 0;
        }
    }
};

// (q + a little, if `sticky`) * 2**exponent, rounded to the nearest double, ties to even. q has its top bit or the
// next one set.
inline double rounded(uint64_t q, bool sticky, int64_t exponent) {
    int zeros = std::countl_zero(q);
    q <<= zeros;
    int64_t top = exponent - zeros + 63; // 2**top <= value < 2**(top + 1)
    if (top > 1023) return std::numeric_limits<double>::infinity();
    if (top < -1075) return 0.0;
    int kept = top >= -1022 ? 53 : int(53 + top + 1022), dropped = 64 - kept; // dropped is 11 to 64
    uint64_t m = dropped < 64 ? q >> dropped : 0, rest = dropped < 64 ? q << kept : q;
    uint64_t half = uint64_t(1) << 63;
    if (rest > half || (rest == half && (sticky || (m & 1)))) ++m;
    // A carry out of the fraction moves on into the exponent, as it should, up to infinity.
    return std::bit_cast<double>(top >= -1022 ? (uint64_t(top + 1022) << 52) + m : m);
}

// n / d * 2**exponent correctly rounded, where d > 0 is taken as -d if asked. Numbers too large for a double become
// infinite with the sign of n, as in the reference.
inline double quotient(const Big &n, bool d_negative, u128 d, int64_t exponent) {
    bool negative = n.negative != d_negative;
    int64_t n_bits = n.bit_length();
    if (n_bits == 0) return d_negative ? -0.0 : 0.0;
    // n is brought to 191 bits and d to 128, so that one step of long division gives 63 or 64 bits (Knuth 4.3.1 D).
    int64_t low = n_bits - 191;
    uint64_t n0 = n.bits_at(low), n1 = n.bits_at(low + 64), n2 = n.bits_at(low + 128);
    uint64_t d_high = uint64_t(d >> 64);
    int lift = d_high ? std::countl_zero(d_high) : 64 + std::countl_zero(uint64_t(d));
    d <<= lift;
    uint64_t d1 = uint64_t(d >> 64), d0 = uint64_t(d);
    u128 upper = u128(n2) << 64 | n1;
    uint64_t q = uint64_t(upper / d1);
    u128 rest = upper - u128(q) * d1;
    while (rest >> 64 == 0 && u128(q) * d0 > (rest << 64 | n0)) --q, rest += d1;
    bool sticky = (rest << 64 | n0) != u128(q) * d0 || n.any_below(low);
    double size = rounded(q, sticky, exponent + low + lift);
    if (size == std::numeric_limits<double>::infinity()) return n.negative ? -size : size;
    return negative ? -size : size;
}

} // namespace tb
