// URLs and e-mail addresses in a text that was made ready, as the patterns in kernels/reference/tokeniser.py find them.
//
// Every byte is looked at a bounded number of times: whatever was found out about an @ sign is kept until the next one.
#pragma once
#include "text/tokeniser_normal.h"

#include <array>

namespace tb {

class Addresses {
  public:
    enum CharacterKind : uint8_t {
        WORD = 1,     // part of a word
        LABEL = 2,    // or of a name of a host
        LOCAL = 4,    // or of what stands before the @
        STOP = 8,     // cannot be part of a URL
        TRAILING = 16 // cannot be its last character; may be punctuation of the sentence around it
    };

    // The text from `begin` to `end`; zeros follow it.
    Addresses(const uint8_t *begin, const uint8_t *end, uint8_t word) : begin_(begin), end_(end), word_(word) {}

    // What the character at a place is, and the place behind it.
    uint8_t kind(const uint8_t *&at) const {
        if (*at < 0x80) return KINDS[*at++];
        return unicode::traits(unicode::decoded(at, end_)) & word_ ? WORD | LABEL | LOCAL : 0;
    }

    // The end of the address that begins at a place where a word could, or null.
    const uint8_t *match(const uint8_t *at) {
        const uint8_t *end = url(at);
        return end ? end : mail(at);
    }

  private:
    static constexpr std::array<uint8_t, 128> KINDS = [] {
        std::array<uint8_t, 128> kinds{};
        for (int c = 0; c < 128; ++c) {
            bool letter = (c | 32) >= 'a' && (c | 32) <= 'z', digit = c >= '0' && c <= '9';
            if (letter || digit || c == '_') kinds[size_t(c)] = WORD | LABEL | LOCAL;
            if ((c >= 9 && c <= 13) || (c >= 28 && c <= 32)) kinds[size_t(c)] = STOP | TRAILING;
        }
        kinds['-'] = LABEL | LOCAL;
        kinds['.'] = LOCAL | TRAILING;
        kinds['+'] = LOCAL;
        kinds['<'] = kinds['>'] = kinds['"'] = STOP | TRAILING;
        for (char c : {',', ';', ':', '!', '?', '\'', ')', ']', '}'}) kinds[size_t(c)] = TRAILING;
        return kinds;
    }();

    // Whether the text goes on with some ASCII in either case; zeros behind the end are unlike every pattern.
    static const uint8_t *after(const uint8_t *at, const char *pattern) {
        for (; *pattern; ++pattern, ++at) {
            bool letter = *pattern >= 'a' && *pattern <= 'z';
            if ((letter ? *at | 32 : *at) != *pattern) return nullptr;
        }
        return at;
    }

    const uint8_t *url(const uint8_t *at) const {
        const uint8_t *rest = nullptr;
        switch (*at | 32) {
        case 'h': (rest = after(at, "http://")) || (rest = after(at, "https://")); break;
        case 'f': rest = after(at, "ftp://"); break;
        case 'w': rest = after(at, "www."); break;
        }
        if (!rest) return nullptr;
        const uint8_t *last = rest;
        while (last < end_ && (*last >= 0x80 || !(KINDS[*last] & STOP))) ++last;
        while (last > rest && last[-1] < 0x80 && KINDS[last[-1]] & TRAILING) --last;
        return last > rest ? last : nullptr;
    }

    const uint8_t *mail(const uint8_t *at) {
        if (sign_ < at) {
            sign_ = static_cast<const uint8_t *>(std::memchr(at, '@', size_t(end_ - at)));
            if (!sign_) sign_ = end_;
            local_ = sign_;
            if (sign_ < end_)
                for (int n = 0; n < 64 && local_ > begin_; ++n) {
                    const uint8_t *before = local_ - 1;
                    while ((*before & 0xC0) == 0x80) --before; // what was written by the normaliser is valid
                    const uint8_t *behind = before;
                    if (!(kind(behind) & LOCAL)) break;
                    local_ = before;
                }
            domain_known_ = false;
        }
        if (at < local_ || sign_ == end_) return nullptr;
        if (!domain_known_) {
            domain_ = domain(sign_ + 1);
            domain_known_ = true;
        }
        return domain_;
    }

    // The end of two names or more with dots between them, or null.
    const uint8_t *domain(const uint8_t *at) const {
        const uint8_t *end = nullptr;
        at = label(at);
        while (at && *at == '.' && (at = label(at + 1))) end = at;
        return end;
    }

    // The end of at least one and at most 63 characters of a name, or null.
    const uint8_t *label(const uint8_t *at) const {
        const uint8_t *behind = at, *end = nullptr;
        for (int n = 0; n < 63 && behind < end_ && kind(behind) & LABEL; ++n) end = behind;
        return end;
    }

    const uint8_t *begin_, *end_;
    uint8_t word_;
    const uint8_t *sign_ = nullptr;  // the next @
    const uint8_t *local_ = nullptr; // the first place from which nothing but a name of up to 64 characters leads to it
    bool domain_known_ = false;
    const uint8_t *domain_ = nullptr; // the end of the names behind it, or null
};

} // namespace tb
