// Tokens counted, text by text.
//
// Tokens come one after the other and wait until there are enough of them: then all are hashed, their slots fetched
// from memory at the same time, and all are counted. Where a token stands in the bag of its text, a small table says
// that belongs to the call and not to the lexicon: it stays in the cache, and threads may share a lexicon.
#pragma once
#include "lexicon.h"
#include "tokens_buckets.h"

namespace tb {

// What gives a token its number: a lexicon that grows, one that does not, or buckets.
struct Grow {
    Lexicon &lexicon;
    void prepare(Token &token) const {
        token = Lexicon::token(token.at, token.length, 8);
        lexicon.fetch_slot(token);
    }
    void fetch(const Token &token) const { lexicon.fetch_bytes(token); }
    int32_t number(const Token &token) const { return lexicon.add(token); }
};

struct Find {
    const Lexicon &lexicon;
    void prepare(Token &token) const {
        token = Lexicon::token(token.at, token.length, 8);
        lexicon.fetch_slot(token);
    }
    void fetch(const Token &token) const { lexicon.fetch_bytes(token); }
    int32_t number(const Token &token) const { return lexicon.find(token); }
};

struct Hash {
    const Buckets &buckets;
    void prepare(Token &) const {}
    void fetch(const Token &) const {}
    int32_t number(const Token &token) const { return buckets.number(token.at, token.length); }
};

template <class Numbers> class Bags {
  public:
    static constexpr int64_t ROOM = 8; // bytes that may be read behind the end of every token

    explicit Bags(Numbers numbers) : numbers_(numbers) { indptr_.push(0); }

    // A token of the text, if it is wanted; its bytes stay where they are until `flush`.
    void push(const uint8_t *at, int64_t length, bool wanted = true) {
        waiting_[n_waiting_].at = at;
        waiting_[n_waiting_].length = length;
        n_waiting_ += wanted;
        if (n_waiting_ == WAITING) flush();
    }

    void flush() {
        size_t n = std::exchange(n_waiting_, 0);
        for (size_t i = 0; i < n; ++i) numbers_.prepare(waiting_[i]);
        for (size_t i = 0; i < n; ++i) numbers_.fetch(waiting_[i]);
        int32_t found[WAITING];
        for (size_t i = 0; i < n; ++i) found[i] = numbers_.number(waiting_[i]);
        count(found, n);
    }

    void end_text() {
        flush();
        indptr_.push(int64_t(indices_.size()));
        start_ = indices_.size();
        mask_ = FEWEST - 1;
        if (++text_ == 0) { // after 2^32 texts the table would take the first for this one
            places_.set_size(0);
            text_ = 1;
        }
    }

    Growing<int64_t> indptr_;
    Growing<int32_t> indices_, amounts_;

  private:
    static constexpr size_t WAITING = 128, FEWEST = 256;

    struct Place {
        uint64_t key; // text and number of a token
        size_t at;    // where it is in the result
    };

    void count(const int32_t *numbers, size_t n) {
        indices_.reserve(indices_.size() + n);
        amounts_.reserve(amounts_.size() + n);
        size_t most = indices_.size() + n - start_;
        if (most * 2 > mask_ + 1 || !places_.size()) more_places(most);
        int32_t *indices = indices_.data(), *amounts = amounts_.data();
        size_t size = indices_.size();
        for (size_t i = 0; i < n; ++i) {
            int32_t number = numbers[i];
            if (number < 0) continue;
            Place &place = place_of(number);
            uint64_t key = key_of(number);
            // Half of the tokens are known, and nobody can predict which: no branches.
            size_t known = place.key == key, at = size ^ ((place.at ^ size) & (0 - known));
            place = {key, at};
            int32_t before = amounts[at] & -int32_t(known);
            if (before == INT32_MAX) throw std::overflow_error("a token occurs too often in one text");
            indices[at] = number;
            amounts[at] = before + 1;
            size += 1 - known;
        }
        indices_.set_size(size);
        amounts_.set_size(size);
    }

    uint64_t key_of(int32_t number) const { return uint64_t(text_) << 32 | uint32_t(number); }

    // Where the place of a token is written, or may be: what other texts have left there counts as nothing.
    Place &place_of(int32_t number) {
        size_t slot = size_t(uint64_t(uint32_t(number)) * 0x9E3779B97F4A7C15 >> 32) & mask_; // 2^64 / golden ratio
        const uint64_t key = key_of(number);
        while ((places_[slot].key ^ key) - 1 < UINT32_MAX) slot = (slot + 1) & mask_; // same text, other number
        return places_[slot];
    }

    // A long text uses more of the table. What it has left in the smaller part is true in any place.
    void more_places(size_t wanted) {
        while (mask_ + 1 < wanted * 2) mask_ = mask_ * 4 + 3;
        if (mask_ >= places_.size()) {
            places_.set_size(0);
            places_.reserve(mask_ + 1);
            std::memset(places_.data(), 0, (mask_ + 1) * sizeof(Place));
            places_.set_size(mask_ + 1);
        }
        for (size_t at = start_; at < indices_.size(); ++at) place_of(indices_[at]) = {key_of(indices_[at]), at};
    }

    Numbers numbers_;
    size_t n_waiting_ = 0, start_ = 0;
    uint32_t text_ = 1;
    size_t mask_ = FEWEST - 1; // so many places, less one, are in use for this text
    Growing<Place> places_;
    Token waiting_[WAITING];
};

} // namespace tb
