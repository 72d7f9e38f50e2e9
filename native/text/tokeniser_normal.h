// A text made ready to be cut: invalid bytes replaced, characters dropped, folded and changed as the rules say.
//
// What comes out is UTF-8. To make cutting simple, it says less than the text did: all white space is ASCII, and where
// only words are asked for, a character beyond ASCII that is no part of a word is a blank; so every byte above 127 is.
// ASCII is folded sixteen bytes at a time, everything else one character at a time through the tables of unicode.h.
#pragma once
#include "text/tokens_array.h"
#include "text/unicode.h"

#include <bit>

namespace tb {

static_assert(std::endian::native == std::endian::little, "bytes are looked at as numbers");

// As tallybayes.arrays.token_rules.Rules, in its order.
struct Rules {
    int64_t letters, accents, digits, addresses, python, characters, shortest, longest, min_length, max_length;
    uint8_t word() const { return python ? unicode::WORD : unicode::WORD | unicode::MARK; } // what words are made of
};

class Normaliser {
  public:
    static constexpr size_t ZEROS_BEHIND = 64; // zeros behind the end of what was written

    explicit Normaliser(const Rules &rules)
        : rules_(rules), word_(rules.word()), only_words_(!rules.characters && !rules.addresses) {
        for (uint8_t c = 0; c < 128; ++c) ascii_[c] = folded(c);
    }

    void start(const uint8_t *from, const uint8_t *end) {
        at_ = from;
        end_ = end;
        cased_ = false;
        plain_ = true;
    }

    bool done() const { return at_ == end_; }
    bool plain() const { return plain_; } // nothing beyond ASCII so far

    // Adds what the next bytes of the text become, as many as are asked for or up to three more.
    void more(Growing<uint8_t> &to, int64_t bytes) {
        const uint8_t *stop = end_ - at_ > bytes ? at_ + bytes : end_;
        uint8_t *out = to.data() + to.size();
        auto make_room = [&] { // CHARACTER bytes for one character, or as many as there are for ASCII
            size_t size = size_t(out - to.data());
            to.reserve(size + size_t(stop - at_) + CHARACTER + ZEROS_BEHIND);
            out = to.data() + size;
        };
        make_room();
        while (at_ < stop) {
            if (*at_ < 0x80) out = ascii(out, stop);
            plain_ &= at_ >= stop;
            while (at_ < stop && *at_ >= 0x80) {
                if (to.data() + to.capacity() - out < int64_t(CHARACTER + ZEROS_BEHIND) + (stop - at_)) make_room();
                out = character(out);
            }
        }
        std::memset(out, 0, ZEROS_BEHIND);
        to.set_size(size_t(out - to.data()));
    }

  private:
    static constexpr size_t CHARACTER = 256; // 3 characters by case folding, 18 of each by NFKD, 4 bytes each, is less

    typedef uint8_t Sixteen __attribute__((vector_size(16)));

    uint8_t folded(uint8_t c) const {
        if (rules_.letters && c >= 'A' && c <= 'Z') return uint8_t(c + 32);
        return rules_.digits && c >= '0' && c <= '9' ? '0' : c;
    }

    uint8_t *ascii(uint8_t *out, const uint8_t *stop) {
        const uint8_t *from = at_;
        const uint8_t upper = rules_.letters ? 32 : 0, digit = rules_.digits ? 15 : 0; // '5' without low bits is '0'
        while (stop - at_ >= 16) {
            Sixteen block;
            std::memcpy(&block, at_, 16);
            uint64_t high[2];
            std::memcpy(high, at_, 16);
            Sixteen is_upper = (Sixteen)(block - 'A' < 26), is_digit = (Sixteen)(block - '0' < 10);
            block = (block + (is_upper & upper)) & ~(is_digit & digit);
            std::memcpy(out, &block, 16);
            high[0] &= 0x8080808080808080, high[1] &= 0x8080808080808080;
            if (high[0] | high[1]) {
                int n = high[0] ? std::countr_zero(high[0]) / 8 : 8 + std::countr_zero(high[1]) / 8;
                at_ += n, out += n;
                break;
            }
            at_ += 16, out += 16;
        }
        while (at_ < stop && *at_ < 0x80) *out++ = ascii_[*at_++];
        if (rules_.letters == 1)
            for (const uint8_t *last = at_; last > from;)
                if (seen(unicode::traits(*--last))) break;
        return out;
    }

    uint8_t *character(uint8_t *out) {
        uint32_t c = unicode::decoded(at_, end_);
        uint8_t traits = unicode::traits(c);
        if (traits & unicode::FORMAT && !rules_.python) return out;
        auto put = [&](uint32_t part) {
            uint8_t kind = unicode::traits(part);
            if (rules_.digits && kind & unicode::DIGIT) part = '0';
            if (only_words_ ? !(kind & word_) : kind & unicode::SPACE) part = ' ';
            out = unicode::encoded(part, out);
        };
        auto strip = [&](uint32_t part) { rules_.accents ? unicode::stripped(part, put) : put(part); };
        if (!rules_.letters) {
            strip(c);
        } else if (rules_.letters != 1) {
            unicode::folded(c, strip);
        } else {
            if (c == unicode::CAPITAL_SIGMA)
                c = cased_ && !cased_follows() ? unicode::FINAL_SIGMA : unicode::SMALL_SIGMA;
            unicode::lowered(c, strip);
            seen(traits);
        }
        return out;
    }

    // Remembers for the next sigma whether a letter with a case came before; false if it will look past this character.
    bool seen(uint8_t traits) {
        if (traits & unicode::PASSED_OVER) return false;
        cased_ = traits & unicode::CASED;
        return true;
    }

    bool cased_follows() const {
        for (const uint8_t *at = at_; at < end_;) {
            uint8_t traits = unicode::traits(unicode::decoded(at, end_));
            bool dropped = traits & unicode::FORMAT && !rules_.python;
            if (!dropped && !(traits & unicode::PASSED_OVER)) return traits & unicode::CASED;
        }
        return false;
    }

    const Rules &rules_;
    uint8_t word_;
    bool only_words_, cased_ = false, plain_ = true;
    const uint8_t *at_ = nullptr, *end_ = nullptr;
    uint8_t ascii_[128];
};

} // namespace tb
