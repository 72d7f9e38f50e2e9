// Mean and variance of a cell whose sums are short, as those of ordinary data are: the same numbers, correctly rounded,
// as from whole numbers of any size (moments.cpp), in a few registers and three divisions.
#pragma once
#include "sums/exact.h"

namespace tb {

// The first 127 bits of a whole number and whether there are others: number = (bits + a little) * 2**exponent.
struct Leading {
    u128 bits;
    int64_t exponent;
    bool more;

    static Leading of(u128 number) {
        const uint64_t high = uint64_t(number >> 64);
        const int zeros = high ? std::countl_zero(high) : 64 + std::countl_zero(uint64_t(number));
        if (zeros == 0) return {number >> 1, 1, (number & 1) != 0};
        return {number << (zeros - 1), 1 - zeros, false};
    }

    template <int N> static Leading of(const uint64_t (&limbs)[N]) {
        int k = N - 1;
        while (k > 2 && limbs[k] == 0) --k;
        const uint64_t high = limbs[k], next = limbs[k - 1], low = limbs[k - 2];
        if (high == 0) return of(u128(next) << 64 | low);
        const int zeros = std::countl_zero(high);
        u128 bits = u128(high) << 64 | next;
        if (zeros) bits = bits << zeros | low >> (64 - zeros);
        bool more = (bits & 1) || (low << zeros) != 0;
        for (int i = 0; i < k - 2; ++i) more |= limbs[i] != 0;
        return {bits >> 1, 64 * int64_t(k - 1) - zeros + 1, more};
    }
};

// The quotient of a division whose result has at most 64 bits: one instruction where there is one.
inline uint64_t divided(u128 n, uint64_t d) {
#if defined(__x86_64__) && defined(__GNUC__)
    uint64_t q, rest;
    __asm__("divq %4" : "=a"(q), "=d"(rest) : "0"(uint64_t(n)), "1"(uint64_t(n >> 64)), "r"(d) : "cc");
    return q;
#else
    return uint64_t(n / d);
#endif
}

// number / d with 63 or 64 bits, as q * 2**exponent and a rest; d has its top bit set.
struct Division {
    uint64_t q, rest;
    int64_t exponent;
    bool more; // the rest is not zero

    Division(const Leading &number, uint64_t d) : exponent(number.exponent) {
        q = divided(number.bits, d);
        rest = uint64_t(number.bits - u128(q) * d);
        more = number.more || rest != 0;
    }
};

// S, a sum of x, with its sign apart; `fits` if it has at most 126 bits.
struct ShortSum {
    u128 size = 0;
    bool negative, fits;

    explicit ShortSum(const TrimmedDigits &x) : negative(x.last < 0) {
        const int64_t room = int64_t(1) << (x.width == 4 ? 30 : 62);
        fits = x.width <= 4 && x.last < room && x.last > -room;
        if (!fits) return;
        __int128 sum = x.last;
        for (int64_t k = x.width - 2; k >= 0; --k) sum = sum * (int64_t(1) << 32) + x.digits[k];
        size = negative ? -u128(sum) : u128(sum);
    }
};

// SS, a sum of x*x, in limbs; `fits` if it is below 2**255.
struct ShortSquares {
    uint64_t limbs[4] = {};
    bool fits;

    explicit ShortSquares(const TrimmedDigits &xx) {
        fits = xx.width <= 8 && xx.last >= 0 && (xx.width < 8 || xx.last < int64_t(1) << 31);
        if (!fits) return;
        for (int64_t k = 0; k + 1 < xx.width; ++k) limbs[k / 2] |= uint64_t(xx.digits[k]) << (k % 2 * 32);
        const int64_t top = (xx.width - 1) / 2;
        if (xx.width % 2) {
            limbs[top] = uint64_t(xx.last);
        } else {
            limbs[top] |= uint64_t(xx.last) << 32;
            if (top < 3) limbs[top + 1] = uint64_t(xx.last) >> 32;
        }
    }
};

// n * SS * 2**max(shift, 0) - S * S * 2**max(-shift, 0) below 2**320; false if it is negative.
inline bool scaled_variance(u128 s, const uint64_t (&ss)[4], uint64_t n, int64_t shift, uint64_t (&result)[5]) {
    uint64_t a[5] = {}, b[5] = {}, carry = 0;
    for (int i = 0; i < 4; ++i) {
        const u128 product = u128(ss[i]) * n + carry;
        a[i] = uint64_t(product), carry = uint64_t(product >> 64);
    }
    a[4] = carry;
    const uint64_t low = uint64_t(s), high = uint64_t(s >> 64);
    const u128 squared = u128(low) * low, mixed = u128(low) * high, top = u128(high) * high;
    const u128 first = (squared >> 64) + 2 * u128(uint64_t(mixed)); // below 2**66
    const u128 second = top + 2 * u128(uint64_t(mixed >> 64)) + uint64_t(first >> 64);
    b[0] = uint64_t(squared), b[1] = uint64_t(first), b[2] = uint64_t(second), b[3] = uint64_t(second >> 64);
    uint64_t (&moved)[5] = shift > 0 ? a : b;
    for (int64_t left = shift > 0 ? shift : -shift; left > 0; left -= 32) {
        for (int i = 4; i > 0; --i) moved[i] = moved[i] << 32 | moved[i - 1] >> 32;
        moved[0] <<= 32;
    }
    uint64_t borrow = 0;
    for (int i = 0; i < 5; ++i) {
        const u128 difference = u128(a[i]) - b[i] - borrow;
        result[i] = uint64_t(difference), borrow = uint64_t(difference >> 64) & 1;
    }
    return borrow == 0;
}

// Writes mean, its low part and variance in units of 2**unit, `step` apart; false, with nothing to rely on, if the sums
// are too long, or the mean lies where doubles end.
inline bool short_moments(const TrimmedDigits &x, int64_t x_low, const TrimmedDigits &xx, int64_t xx_low, int64_t count,
                          int64_t unit, double *to, int64_t step) {
    const int64_t shift = 32 * xx_low - 64 * x_low;
    if (count <= 0 || count >= int64_t(1) << 32 || shift > 32 || shift < -64) return false;
    const ShortSum s(x);
    const ShortSquares ss(xx);
    if (!s.fits || !ss.fits) return false;
    const uint64_t n = uint64_t(count);

    to[0] = to[step] = to[2 * step] = 0.0;
    if (s.size != 0) {
        const int lift = std::countl_zero(n);
        const uint64_t d = n << lift;
        const Division mean(Leading::of(s.size), d);
        const int64_t exponent = mean.exponent + 32 * x_low - unit + lift;
        const int zeros = std::countl_zero(mean.q);
        if (exponent > 900 || exponent < -900) return false;
        to[0] = rounded(mean.q, mean.more, exponent);
        // What rounding has changed, in units of the last bit of q: at most half of its last 11 bits.
        const uint64_t q = mean.q << zeros,
                       kept = (std::bit_cast<uint64_t>(to[0]) & 0xFFFFFFFFFFFFF) << 11 | uint64_t(1) << 63;
        int64_t change = int64_t(q - kept);
        if (kept == uint64_t(1) << 63 && q >> 63 && q > uint64_t(3) << 62) change = int64_t(q); // up to a power of two
        const __int128 left = __int128(change) * d + (__int128(mean.rest) << zeros);
        if (s.negative) to[0] = -to[0];
        if (left != 0) {
            const Division low(Leading::of(left < 0 ? -u128(left) : u128(left)), d);
            const double size = rounded(low.q, low.more, low.exponent + exponent - zeros);
            to[step] = (left < 0) != s.negative ? -size : size;
        }
    }

    uint64_t numerator[5];
    if (!scaled_variance(s.size, ss.limbs, n, shift, numerator)) return false;
    if ((numerator[0] | numerator[1] | numerator[2] | numerator[3] | numerator[4]) == 0) return true;
    const uint64_t square = n * n;
    const int lift = std::countl_zero(square);
    const Division variance(Leading::of(numerator), square << lift);
    to[2 * step] =
        rounded(variance.q, variance.more, variance.exponent + lift + std::min(32 * xx_low, 64 * x_low) - 2 * unit);
    return true;
}

} // namespace tb
