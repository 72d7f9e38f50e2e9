// Keys of cells in order: sorting them, and how far they are coarsened.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace tb {

constexpr int64_t NO_KEY = std::numeric_limits<int64_t>::min(); // no finite number has it

struct KeySlot { // a key, and the number or the class of what has it
    int64_t key, id;
};

// By the first bits in which the keys differ (radix sort: no comparison to mispredict), which leaves few neighbours to
// be compared. `other` is memory that is used meanwhile.
inline void sort_by_key(std::vector<KeySlot> &slots, std::vector<KeySlot> &other) {
    const int bits = slots.size() < 512 ? 8 : 11, most_bits = slots.size() < 512 ? 24 : 22;
    auto rank = [](const KeySlot &slot) { return uint64_t(slot.key) ^ uint64_t(1) << 63; };
    other.resize(slots.size());
    uint64_t differing = 0;
    for (const KeySlot &slot : slots) differing |= uint64_t(slot.key) ^ uint64_t(slots[0].key);
    const int width = std::bit_width(differing), low = std::max(0, width - most_bits);
    uint32_t next[2049];
    for (int shift = low; shift < width; shift += bits) {
        std::fill_n(next, (1 << bits) + 1, 0);
        auto digit = [&](const KeySlot &slot) { return rank(slot) >> shift & ((1 << bits) - 1); };
        for (const KeySlot &slot : slots) ++next[digit(slot) + 1];
        for (int d = 1; d < 1 << bits; ++d) next[d] += next[d - 1];
        for (const KeySlot &slot : slots) other[next[digit(slot)]++] = slot;
        slots.swap(other);
    }
    for (size_t i = 1; low && i < slots.size(); ++i) {
        if (slots[i].key >= slots[i - 1].key) continue;
        size_t first = i - 1, last = i + 1; // those that have these bits
        while (first > 0 && rank(slots[first - 1]) >> low == rank(slots[i]) >> low) --first;
        while (last < slots.size() && rank(slots[last]) >> low == rank(slots[i]) >> low) ++last;
        std::sort(slots.begin() + first, slots.begin() + last,
                  [](const KeySlot &a, const KeySlot &b) { return a.key < b.key; });
        i = last;
    }
}

struct Coarsening {
    int64_t rise, left; // by how many levels, and how many different keys there are then
};

// How keys in order become at most `limit`. Neighbours merge at the level where all bits in which they differ are shifted
// out; so counting those lengths finds the level without trying each.
inline Coarsening coarsening(const std::vector<KeySlot> &slots, int64_t limit) {
    int64_t parted_at[65] = {}, rise = 0; // by how many bits neighbours differ
    for (size_t i = 1; i < slots.size(); ++i)
        ++parted_at[std::bit_width(uint64_t(slots[i].key) ^ uint64_t(slots[i - 1].key))];
    int64_t left = int64_t(slots.size()) - parted_at[0];
    while (left > limit) left -= parted_at[++rise];
    return {rise, left};
}

// Whether many of the first keys come again, so that it is quicker to look each up than to sort them all.
inline bool repeats(const std::vector<KeySlot> &slots, std::vector<KeySlot> &other) {
    constexpr size_t MANY_KEYS = 512, SAMPLE = 128;
    if (slots.size() < MANY_KEYS) return false;
    std::vector<KeySlot> first(slots.begin(), slots.begin() + SAMPLE);
    sort_by_key(first, other);
    size_t distinct = 1;
    for (size_t i = 1; i < SAMPLE; ++i) distinct += first[i].key != first[i - 1].key;
    return 4 * distinct < 3 * SAMPLE; // as of 200 different ones
}

} // namespace tb
