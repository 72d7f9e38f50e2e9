// Tokens counted, text by text.
//
// Tokens come one after the other and wait until there are enough of them: then all are hashed, their slots fetched
// from memory at the same time, and all are counted. Where a token stands in the bag of its text, a small table says
// that belongs to the call and not to the lexicon: it stays in the cache, and threads may share a lexicon.
#pragma once
#include "text/lexicon.h"
#include "text/tokens_buckets.h"

namespace tb {

// What gives a token its number: a lexicon that grows, one that does not, or buckets. A token is prepared, then fetched,
// then numbered, and many others in between.
template <class L> struct Lookup {
    L &lexicon;
    Token prepared(const uint8_t *at, int64_t length) const {
        const Token token = Lexicon::token(at, length);
        lexicon.fetch_slot(token);
        return token;
    }
    void fetch(const Token &token) const { lexicon.fetch_bytes(token); }
};

struct Grow : Lookup<Lexicon> {
    int32_t number(const Token &token) const { return lexicon.add(token); }
};

struct Find : Lookup<const Lexicon> {
    int32_t number(const Token &token) const { return lexicon.find(token); }
};

struct Hash {
    const Buckets &buckets;
    Token prepared(const uint8_t *at, int64_t length) const { return {at, length, 0, 0}; }
    void fetch(const Token &) const {}
    int32_t number(const Token &token) const { return buckets.number(token.at, token.length); }
};

template <class Numbers> class TokenBags {
  public:
    static constexpr int64_t READ_BEHIND = 8; // bytes that may be read behind the end of every token

    explicit TokenBags(Numbers numbers) : numbers_(numbers) { indptr_.push(0); }

    // A token of the text, if it is wanted; its bytes stay where they are until `flush`.
    void push(const uint8_t *at, int64_t length, bool wanted = true) {
        waiting_[n_waiting_] = numbers_.prepared(at, length);
        n_waiting_ += wanted;
        if (n_waiting_ == WAITING) flush();
    }

    void flush() {
        size_t n = std::exchange(n_waiting_, 0);
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
        if (start_ - base_ > UINT32_MAX / 2) {
            base_ = start_;
            places_.set_size(0);
        }
    }

    Growing<int64_t> indptr_;
    Growing<int32_t> indices_, amounts_;

  private:
    static constexpr size_t WAITING = 128, FEWEST = 1024;
    static constexpr size_t SPARSE = 4; // so many places for each token: whether one is taken can be predicted

    // Where a token is in the result, counted from `base_` and from 1. What other texts have left counts as nothing: it
    // is from before the start of this one.
    struct Place {
        uint32_t at, number;
    };

    void count(const int32_t *numbers, size_t n) {
        indices_.reserve(indices_.size() + n);
        amounts_.reserve(amounts_.size() + n);
        const size_t most = indices_.size() + n - start_;
        if (most * SPARSE > mask_ + 1 || !places_.size()) more_places(most);
        int32_t *indices = indices_.data() + base_, *amounts = amounts_.data() + base_;
        const uint32_t start = uint32_t(start_ - base_) + 1;
        uint32_t size = uint32_t(indices_.size() - base_) + 1;
        for (size_t i = 0; i < n; ++i) {
            if (numbers[i] < 0) continue;
            const uint32_t number = uint32_t(numbers[i]);
            Place &place = place_of(number, start);
            // Half of the tokens are known, and nobody can predict which: no branches.
            const uint32_t known = place.at >= start, at = size ^ ((place.at ^ size) & (0 - known));
            const int32_t before = amounts[at - 1] & -int32_t(known);
            if (before == INT32_MAX) throw std::overflow_error("a token occurs too often in one text");
            place = {at, number};
            indices[at - 1] = int32_t(number);
            amounts[at - 1] = before + 1;
            size += 1 - known;
        }
        indices_.set_size(base_ + size - 1);
        amounts_.set_size(base_ + size - 1);
    }

    // The place of a token, or the first that is free.
    Place &place_of(uint32_t number, uint32_t start) {
        size_t slot = size_t(uint64_t(number) * 0x9E3779B97F4A7C15 >> 32) & mask_; // 2^64 / golden ratio
        const auto is_other = [&](Place place) {
            int other = int(place.at >= start) & int(place.number != number);
            asm("" : "+r"(other)); // or the compiler makes two branches of it, one of which cannot be predicted
            return other;
        };
        while (is_other(places_[slot])) slot = (slot + 1) & mask_;
        return places_[slot];
    }

    // A long text uses more of the table.
    void more_places(size_t wanted) {
        while (mask_ + 1 < wanted * SPARSE) mask_ = mask_ * 4 + 3;
        const uint32_t start = uint32_t(start_ - base_) + 1;
        if (mask_ >= places_.size()) {
            places_.set_size(0);
            places_.reserve(mask_ + 1);
            std::memset(places_.data(), 0, (mask_ + 1) * sizeof(Place));
            places_.set_size(mask_ + 1);
        }
        for (size_t i = start_; i < indices_.size(); ++i) {
            const uint32_t number = uint32_t(indices_[i]);
            place_of(number, start) = {uint32_t(i - base_) + 1, number};
        }
    }

    Numbers numbers_;
    size_t n_waiting_ = 0, start_ = 0, base_ = 0;
    size_t mask_ = FEWEST - 1; // so many places, less one, are in use for this text
    Growing<Place> places_;
    Token waiting_[WAITING];
};

} // namespace tb
