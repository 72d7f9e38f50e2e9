// Texts cut into words or characters, and n-grams made of them.
#pragma once
#include "text/tokeniser_address.h"
#include "text/tokeniser_bits.h"
#include "text/tokens_bags.h"

namespace tb {

template <class Numbers> class Tokeniser {
  public:
    Tokeniser(const Rules &rules, const Lexicon *stop_words, TokenBags<Numbers> &bags)
        : rules_(rules), word_(rules.word()), alone_(rules.shortest == 1 && rules.longest == 1),
          most_(rules.max_length ? rules.max_length : INT64_MAX), stop_words_(stop_words), bags_(bags),
          normaliser_(rules_) {
        if (rules.shortest < 1) throw std::invalid_argument("an n-gram has at least one word");
    }

    void text(const uint8_t *from, const uint8_t *end) {
        normaliser_.start(from, end);
        text_.set_size(0);
        if (rules_.characters) characters();
        else if (rules_.addresses) words_and_addresses();
        else words();
        bags_.end_text();
        joined_.set_size(0);
        starts_.set_size(0);
    }

  private:
    static constexpr int64_t PIECE = 1 << 14; // bytes of a text that are made ready at a time: they stay in the cache

    // Long texts go piece by piece. A word that has not ended with its piece is kept for the next, unless it is too
    // long already: then nothing but its end is waited for.
    void words() {
        bool open = false, too_long = false;
        while (!normaliser_.done()) {
            size_t scanned = text_.size(), start = 0;
            normaliser_.more(text_, PIECE);
            size_t n = edges(scanned, open), i = 0;
            const uint8_t *text = text_.data() + scanned;
            if (open && n) {
                if (!too_long) word(text_.data(), int64_t(scanned + edges_[i]));
                ++i;
                open = too_long = false;
            }
            if (alone_ && !stop_words_ && normaliser_.plain()) {
                for (; i + 1 < n; i += 2) {
                    int64_t length = edges_[i + 1] - edges_[i];
                    bags_.push(text + edges_[i], length, (length >= rules_.min_length) & (length <= most_));
                }
            } else {
                for (; i + 1 < n; i += 2) word(text + edges_[i], edges_[i + 1] - edges_[i]);
            }
            if (i < n) {
                start = scanned + edges_[i];
                open = true;
            }
            if (open && !too_long && normaliser_.done()) word(text_.data() + start, int64_t(text_.size() - start));
            bags_.flush();
            size_t rest = open ? text_.size() - start : 0;
            too_long = too_long || (rules_.max_length > 0 && rest / 4 > size_t(rules_.max_length));
            if (too_long) rest = 0;
            if (rest && start) std::memmove(text_.data(), text_.data() + start, rest);
            text_.set_size(rest);
        }
    }

    // The places, counted from `from`, where words begin and end in turn.
    size_t edges(size_t from, bool inside) {
        edges_.reserve(text_.size() - from + 1);
        uint32_t *edge = edges_.data();
        uint64_t before = inside;
        for (size_t at = from; at < text_.size(); at += 64) {
            uint64_t words = word_bits(text_.data() + at), changes = words ^ (words << 1 | before);
            before = words >> 63;
            if (text_.size() - at < 64) changes &= (uint64_t(1) << (text_.size() - at)) - 1;
            for (; changes; changes &= changes - 1) *edge++ = uint32_t(at - from) + uint32_t(std::countr_zero(changes));
        }
        return size_t(edge - edges_.data());
    }

    // An address may begin and end anywhere, so the text is made ready as a whole.
    void words_and_addresses() {
        while (!normaliser_.done()) normaliser_.more(text_, INT64_MAX);
        const uint8_t *at = text_.data(), *end = at + text_.size();
        Addresses addresses(at, end, word_);
        while (at < end) {
            const uint8_t *behind = at;
            if (!(addresses.kind(behind) & Addresses::WORD)) {
                at = behind;
                continue;
            }
            if (const uint8_t *address = addresses.match(at)) {
                behind = address;
            } else {
                for (const uint8_t *next = behind; next < end && addresses.kind(next) & Addresses::WORD;) behind = next;
            }
            word(at, behind - at);
            at = behind;
        }
        bags_.flush();
    }

    void characters() {
        static constexpr uint8_t BLANK[1 + TokenBags<Numbers>::READ_BEHIND] = {' '};
        bool begun = false, blank = false;
        while (!normaliser_.done()) {
            normaliser_.more(text_, PIECE);
            for (const uint8_t *at = text_.data(), *end = at + text_.size(); at < end;) {
                uint8_t c = *at;
                int n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
                if ((c >= 9 && c <= 13) || (c >= 28 && c <= 32)) {
                    blank = begun;
                } else {
                    if (blank) unit(BLANK, 1);
                    unit(at, n);
                    begun = true;
                    blank = false;
                }
                at += n;
            }
            bags_.flush();
            text_.set_size(0);
        }
    }

    void word(const uint8_t *at, int64_t length) {
        if (!fits(at, length)) return;
        if (stop_words_ && stop_words_->find(Lexicon::token(at, length, TokenBags<Numbers>::READ_BEHIND)) >= 0) return;
        unit(at, length);
    }

    // Whether a word has the right number of characters, which are counted only where bytes do not tell.
    bool fits(const uint8_t *at, int64_t length) const {
        if (normaliser_.plain()) return length >= rules_.min_length && length <= most_;
        if ((length + 3) / 4 >= rules_.min_length && length <= most_) return true;
        if (length < rules_.min_length || (length + 3) / 4 > most_) return false;
        int64_t characters = 0;
        for (int64_t i = 0; i < length; ++i) characters += (at[i] & 0xC0) != 0x80;
        return characters >= rules_.min_length && characters <= most_;
    }

    void unit(const uint8_t *at, int64_t length) {
        if (alone_) bags_.push(at, length);
        else grams(at, length);
    }

    // Units stand one after the other with a blank between words, so that an n-gram is a stretch of bytes.
    void grams(const uint8_t *at, int64_t length) {
        size_t needed = size_t(length) + 1 + size_t(TokenBags<Numbers>::READ_BEHIND);
        if (joined_.size() + needed > joined_.capacity()) {
            bags_.flush(); // what waits points into the bytes that are about to move
            forget_units();
            joined_.reserve(joined_.size() + std::max(needed, size_t(PIECE)));
        }
        starts_.push(joined_.size());
        uint8_t *to = joined_.data() + joined_.size();
        std::memcpy(to, at, size_t(length));
        to += length;
        for (int64_t n = rules_.shortest, units = int64_t(starts_.size()); n <= std::min(rules_.longest, units); ++n) {
            const uint8_t *from = joined_.data() + starts_[size_t(units - n)];
            bags_.push(from, to - from);
        }
        if (!rules_.characters) *to++ = ' ';
        joined_.set_size(size_t(to - joined_.data()));
    }

    // Drops the units that no later n-gram begins with, if they are most of the bytes.
    void forget_units() {
        size_t units = starts_.size(), kept = std::min(units, size_t(std::max<int64_t>(rules_.longest - 1, 0)));
        size_t from = kept ? starts_[units - kept] : joined_.size();
        if (from < joined_.size() - from) return;
        if (from < joined_.size()) std::memmove(joined_.data(), joined_.data() + from, joined_.size() - from);
        joined_.set_size(joined_.size() - from);
        for (size_t i = 0; i < kept; ++i) starts_[i] = starts_[units - kept + i] - from;
        starts_.set_size(kept);
    }

    const Rules rules_;
    uint8_t word_;
    bool alone_;   // no n-grams but words
    int64_t most_; // characters of a word
    const Lexicon *stop_words_;
    TokenBags<Numbers> &bags_;
    Normaliser normaliser_;
    Growing<uint8_t> text_, joined_; // made ready; units of n-grams
    Growing<uint32_t> edges_;
    Growing<size_t> starts_; // where each unit in `joined_` begins
};

} // namespace tb
