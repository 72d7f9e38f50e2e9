// Tokens numbered in the order in which they come.
//
// All tokens stand in one block of bytes, and an open-addressing table leads to them. A slot has the token itself if it
// is of eight bytes or less, as most are, or else its place in the block. The table is at most 5/8 full. Where a token
// stands is told by the highest bits of its hash, which are kept in the slot: so the table grows without a look at the
// tokens, from the first slot to the last. A token takes its bytes, 8 for where it ends and 26 to 52 in the table.
//
// Any number of threads may look tokens up while nobody adds any.
#pragma once
#include "base/hash.h"
#include "text/tokens_array.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <memory>
#include <stdexcept>

namespace tb {

// A token that is looked for.
struct Token {
    const uint8_t *at;
    int64_t length;
    uint64_t head, hash; // the first eight bytes, filled up with zeros; hash_of
};

class Lexicon {
  public:
    Lexicon() = default;
    Lexicon(const Lexicon &other) : bytes_(other.bytes_), offsets_(other.offsets_) {
        if (other.slots_) build(other.mask_ + 1);
    }
    Lexicon &operator=(const Lexicon &) = delete;

    int64_t size() const { return offsets_.size() ? int64_t(offsets_.size()) - 1 : 0; }
    const Growing<uint8_t> &bytes() const { return bytes_; }
    const Growing<int64_t> &offsets() const { return offsets_; } // one more than tokens; none if nothing was added

    // A token with all that is known of it; `room` bytes may be read from `at` on.
    static Token token(const uint8_t *at, int64_t length, int64_t room) {
        uint64_t head = load(at, length, room);
        return {at, length, head, hash_of(head, at, length)};
    }

    // The same where eight bytes may be read from `at` on, and behind every token.
    static Token token(const uint8_t *at, int64_t length) {
        const uint64_t head = first(eight(at), length);
        return {at, length, head, hash_with_room(head, at, length)};
    }

    // Asks for the memory that `find` or `add` will look at; the second part some time after the first.
    void fetch_slot(const Token &token) const {
        if (slots_) __builtin_prefetch(&slots_[home(token.hash)]);
    }
    void fetch_bytes(const Token &token) const {
        if (token.length <= SHORT_TOKEN || !slots_) return;
        const TokenSlot &slot = slots_[home(token.hash)];
        if (slot.tag == tag(token)) __builtin_prefetch(bytes_.data() + slot.content);
    }

    // The number of a token that was prepared, -1 if it has none.
    int32_t find(const Token &token) const { return slots_ ? found(slots_[place(token)]) : without_table(); }

    // The number of a token that was prepared; one that has none gets the next.
    int32_t add(const Token &token) {
        if (!slots_ && without_table() < 0) build(16);
        size_t at = place(token);
        return slots_[at].tag ? slots_[at].number : enter(at, token);
    }

  private:
    static constexpr int64_t SHORT_TOKEN = 8;
    static constexpr size_t MOST_BY_TAG = 1 << 24; // slots that the bits of the hash in a tag tell apart

    struct TokenSlot {
        uint64_t content; // the bytes of a short token, the place of a long one
        uint32_t tag;     // 24 bits of the hash, one more than the length as far as a byte goes; 0: the slot is free
        int32_t number;
    };

    struct Free {
        void operator()(void *block) const { std::free(block); }
    };

    static uint32_t tag(const Token &token) {
        return uint32_t(token.hash >> 40) << 8 | uint32_t(std::min<int64_t>(token.length, 254) + 1);
    }

    size_t home(uint64_t hash) const { return size_t(hash >> shift_); }

    // Where the token is, or the free slot where it would be.
    size_t place(const Token &token) const {
        uint32_t wanted = tag(token);
        for (size_t at = home(token.hash);; at = (at + 1) & mask_) {
            const TokenSlot &slot = slots_[at];
            if (slot.tag == wanted ? same(slot, token) : !slot.tag) return at;
        }
    }

    static int32_t found(const TokenSlot &slot) { return slot.tag ? slot.number : -1; }

    // Whether a token of the same tag is the same.
    bool same(const TokenSlot &slot, const Token &token) const {
        if (token.length <= SHORT_TOKEN) return slot.content == token.head;
        const uint8_t *bytes = bytes_.data() + slot.content;
        size_t number = size_t(slot.number), last = size_t(token.length) - 8;
        if (token.length <= 16) return eight(bytes) == token.head && eight(bytes + last) == eight(token.at + last);
        if (token.length >= 254 && offsets_[number + 1] - offsets_[number] != token.length) return false; // see `tag`
        return !std::memcmp(bytes, token.at, size_t(token.length));
    }

    __attribute__((noinline)) int32_t enter(size_t at, const Token &token) {
        size_t n = size_t(size()), before = bytes_.size(), after = before + size_t(token.length);
        if (n >= size_t(INT32_MAX)) throw std::overflow_error("more different tokens than can be numbered");
        bytes_.reserve(after);
        offsets_.reserve(n + 2);
        if ((n + 1) * 8 > (mask_ + 1) * 5) {
            build((mask_ + 1) * 2);
            at = place(token);
        }
        if (token.length) std::memcpy(bytes_.data() + before, token.at, size_t(token.length));
        bytes_.set_size(after);
        if (!n) offsets_.push(0);
        offsets_.push(int64_t(after));
        slots_[at] = slot_of(token, before, n);
        return int32_t(n);
    }

    static TokenSlot slot_of(const Token &token, size_t at, size_t number) {
        return {token.length <= SHORT_TOKEN ? token.head : at, tag(token), int32_t(number)};
    }

    // The table anew, with `size` slots, a power of two.
    __attribute__((noinline)) void build(size_t size) {
        const size_t old_size = mask_ + 1;
        auto old = std::move(slots_);
        if (size > MOST_BY_TAG) old.reset(); // before the new one is made: it is not needed
        slots_.reset(static_cast<TokenSlot *>(std::calloc(size, sizeof(TokenSlot))));
        if (!slots_) throw std::bad_alloc(); // and whatever is asked of this lexicon from now on, see `without_table`
        use_huge_pages(slots_.get(), size * sizeof(TokenSlot));
        mask_ = size - 1;
        shift_ = 64 - std::countr_zero(size);
        if (!old) return fill();
        for (size_t i = 0; i < old_size; ++i)
            if (old[i].tag) slots_[free_from(uint64_t(old[i].tag >> 8) << 40)] = old[i];
    }

    size_t free_from(uint64_t hash) const {
        size_t at = home(hash);
        while (slots_[at].tag) at = (at + 1) & mask_;
        return at;
    }

    // Puts all tokens into an empty table.
    void fill() {
        Token some[32]; // their slots are fetched before any is written
        for (size_t i = 0, n = size_t(this->size()); i < n;) {
            size_t m = std::min(std::size(some), n - i);
            for (size_t j = 0; j < m; ++j) {
                int64_t from = offsets_[i + j], to = offsets_[i + j + 1];
                some[j] = token(bytes_.data() + from, to - from, int64_t(bytes_.size()) - from);
                fetch_slot(some[j]);
            }
            for (size_t j = 0; j < m; ++j, ++i) {
                slots_[free_from(some[j].hash)] = slot_of(some[j], size_t(offsets_[i]), i);
            }
        }
    }

    int32_t without_table() const {
        if (size()) throw std::bad_alloc();
        return -1;
    }

    Growing<uint8_t> bytes_;
    Growing<int64_t> offsets_;
    std::unique_ptr<TokenSlot[], Free> slots_;
    size_t mask_ = 0;
    int shift_ = 63;
};

} // namespace tb
