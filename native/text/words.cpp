// The different words of a column of text, numbered in the order in which they come.
//
// An open-addressing hash table over the bytes. Words of at most eight bytes, which most categories are, are compared
// as one number; longer ones by their hash (hash.h), their length and then their bytes.
#include "base/columns.h"
#include "base/hash.h"

#include <cstring>

namespace tb {

namespace {

struct WordSlot {
    uint64_t hash;
    uint64_t head; // the first eight bytes
    int64_t length;
    int32_t id = -1;
};

class Words {
  public:
    Words(const uint8_t *data, int64_t size) : data_(data), size_(size), slots_(1024) {}

    int32_t find(int64_t from, int64_t length) {
        uint64_t head = load(data_ + from, length, size_ - from), hash = hash_of(head, data_ + from, length);
        for (size_t place = hash & (slots_.size() - 1);; place = (place + 1) & (slots_.size() - 1)) {
            WordSlot &slot = slots_[place];
            if (slot.id < 0) return enter(place, WordSlot{hash, head, length, int32_t(first_.size())}, from);
            if (slot.head == head && slot.length == length &&
                (length <= 8 || (slot.hash == hash &&
                                 !std::memcmp(data_ + starts_[slot.id] + 8, data_ + from + 8, size_t(length - 8)))))
                return slot.id;
        }
    }

    void at_row(int64_t row) { row_ = row; }
    std::vector<int64_t> &&first() && { return std::move(first_); }

  private:
    int32_t enter(size_t place, WordSlot slot, int64_t from) {
        if (first_.size() >= size_t(INT32_MAX)) throw std::overflow_error("more different words than can be numbered");
        first_.push_back(row_);
        starts_.push_back(from);
        slots_[place] = slot;
        if (first_.size() * 2 > slots_.size()) grow();
        return slot.id;
    }

    void grow() {
        std::vector<WordSlot> old(slots_.size() * 4);
        old.swap(slots_);
        for (const WordSlot &slot : old) {
            if (slot.id < 0) continue;
            size_t place = slot.hash & (slots_.size() - 1);
            while (slots_[place].id >= 0) place = (place + 1) & (slots_.size() - 1);
            slots_[place] = slot;
        }
    }

    const uint8_t *data_;
    int64_t size_, row_ = 0;
    std::vector<WordSlot> slots_;
    std::vector<int64_t> first_, starts_;
};

} // namespace

void register_words(nb::module_ &m) {
    m.def(
        "number_words",
        [](Vector<int32_t> offsets, Vector<uint8_t> data, std::optional<Vector<bool>> valid) {
            Contract contract;
            contract.array("offsets", offsets, {plus_one(ROWS)});
            if (valid) contract.array("valid", *valid, {ROWS});
            const int64_t rows = contract[ROWS], size = int64_t(data.shape(0));
            const int32_t *at = offsets.data();
            Contract::ends("offsets", at, rows + 1, size);
            std::vector<int32_t> codes(static_cast<size_t>(rows));
            Words words(data.data(), size);
            {
                nb::gil_scoped_release release;
                for (int64_t r = 0; r < rows; ++r) {
                    words.at_row(r);
                    codes[size_t(r)] = valid && !valid->data()[r] ? -1 : words.find(at[r], at[r + 1] - at[r]);
                }
            }
            std::vector<int64_t> first = std::move(words).first();
            size_t n_words = first.size();
            return nb::make_tuple(to_numpy(std::move(codes), {size_t(rows)}), to_numpy(std::move(first), {n_words}));
        },
        nb::arg("offsets"), nb::arg("data"), nb::arg("valid").none());
}

} // namespace tb
