// Counting categories, which are integers, per class.
//
// Rows are taken in tiles and the columns of a tile one after the other, so that a C-ordered matrix is read from
// memory once and the counters of a column stay near. Bytes have a counter for each of their values, and are counted row
// by row: where a counter is follows from the byte alone.
#include "base/columns.h"
#include "base/simd.h"

#include <algorithm>
#include <limits>

namespace tb {
namespace {

// Counters of one column. Small ones are kept four times, one for every fourth row: adding to a counter that was
// written a moment ago would wait for that write. A further value and class take what is not to be counted.
struct ValueCounters {
    uint64_t origin, size;
    int64_t n_classes;
    int64_t *result;
    std::vector<uint32_t> small; // (value, class, 4)

    static constexpr uint64_t SMALL = 4096;

    ValueCounters(int64_t origin, int64_t size, int64_t n_classes, int64_t *result)
        : origin(origin), size(size), n_classes(n_classes), result(result) {
        if (this->size * n_classes <= SMALL) small.assign((size + 1) * (n_classes + 1) * 4, 0);
    }

    // `classes` has n_classes for rows to be left out.
    template <class T> void add(const Column<T> &column, const uint32_t *classes, int64_t start, int64_t rows) {
        const T *value = column.data + start * column.stride;
        const int64_t stride = column.stride;
        const uint64_t from = origin, end = size, per_value = n_classes + 1;
        if (small.empty()) {
            for (int64_t r = 0; r < rows; ++r) {
                uint64_t v = uint64_t(int64_t(value[r * stride])) - from;
                if (v < end && classes[r] < n_classes) ++result[v * n_classes + classes[r]];
            }
            return;
        }
        uint32_t *counter = small.data();
        auto one = [&](int64_t r, int way) {
            uint64_t v = std::min(uint64_t(int64_t(value[r * stride])) - from, end);
            ++counter[(v * per_value + classes[r]) * 4 + way];
        };
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4) one(r, 0), one(r + 1, 1), one(r + 2, 2), one(r + 3, 3);
        for (; r < rows; ++r) one(r, 0);
    }

    void fold() {
        if (small.empty()) return;
        for (uint64_t v = 0; v < size; ++v)
            for (int64_t c = 0; c < n_classes; ++c) {
                uint32_t *four = small.data() + (v * (n_classes + 1) + c) * 4;
                result[v * n_classes + c] += int64_t(four[0]) + four[1] + four[2] + four[3];
            }
        std::fill(small.begin(), small.end(), 0);
    }
};

template <class T>
void fill_counters(const std::vector<Column<T>> &columns, std::vector<ValueCounters> &counters, const int32_t *codes,
                   int64_t n_classes, int64_t start, int64_t stop) {
    constexpr int64_t ROWS_AT_ONCE = 1024, FOLD_EVERY = int64_t(1) << 31; // a uint32 counter holds that many
    uint32_t classes[ROWS_AT_ONCE];
    int64_t since_fold = 0;
    for (int64_t from = start; from < stop; from += ROWS_AT_ONCE) {
        int64_t rows = std::min(ROWS_AT_ONCE, stop - from);
        for (int64_t r = 0; r < rows; ++r) classes[r] = codes[from + r] < 0 ? n_classes : codes[from + r];
        for (size_t j = 0; j < columns.size(); ++j) counters[j].add(columns[j], classes, from, rows);
        since_fold += rows;
        if (since_fold < FOLD_EVERY) continue;
        for (auto &counter : counters) counter.fold();
        since_fold = 0;
    }
    for (auto &counter : counters) counter.fold();
}

// Counters of columns of bytes that have one stride, as those of a matrix and of most frames, (class, column, byte).
class ByteCounters {
  public:
    template <class T>
    ByteCounters(const std::vector<Column<T>> &columns, int64_t n_classes)
        : first_(reinterpret_cast<const uint8_t *>(columns[0].data)), stride_(columns[0].stride),
          counts_(n_classes * columns.size() * APART) {
        for (const Column<T> &column : columns) places_.push_back(column.data - columns[0].data);
    }

    // Whether there is a stride for all and the counters are few beside the rows.
    template <class T> static bool fit(const std::vector<Column<T>> &columns, int64_t n_classes, int64_t rows) {
        if (sizeof(T) != 1 || columns.empty() || rows < 4 * VALUES * n_classes || rows >> 31 > 0) return false;
        return std::all_of(columns.begin(), columns.end(), [&](auto &own) { return own.stride == columns[0].stride; });
    }

    void add(const int32_t *codes, int64_t start, int64_t stop) {
        const int64_t n = static_cast<int64_t>(places_.size()), stride = stride_;
        const int64_t *places = places_.data();
        for (int64_t row = start; row < stop; ++row) {
            if (codes[row] < 0) continue;
            uint32_t *own = counts_.data() + codes[row] * n * APART;
            const uint8_t *from = first_ + row * stride;
            for (int64_t j = 0; j < n; ++j) ++own[APART * j + from[places[j]]];
        }
    }

    int64_t count(int64_t code, int64_t column, uint8_t value) const {
        return counts_[(code * static_cast<int64_t>(places_.size()) + column) * APART + value];
    }

  private:
    // Counters of columns are not a power of 2 apart: most columns use the same few bytes, and the cache would have all of
    // them in the same few places.
    static constexpr int64_t VALUES = 256, APART = VALUES + 16;
    const uint8_t *first_;
    int64_t stride_;
    std::vector<int64_t> places_; // of the columns, counted from the first
    std::vector<uint32_t> counts_;
};

template <class T>
void count_bytes(const std::vector<Column<T>> &columns, const int64_t *origins, const int64_t *sizes,
                 const int32_t *codes, int64_t n_classes, int64_t start, int64_t stop, int64_t *result) {
    ByteCounters counters(columns, n_classes);
    counters.add(codes, start, stop);
    for (size_t j = 0; j < columns.size(); result += sizes[j++] * n_classes)
        for (int64_t value = std::numeric_limits<T>::min(); value <= std::numeric_limits<T>::max(); ++value) {
            const uint64_t place = static_cast<uint64_t>(value) - static_cast<uint64_t>(origins[j]);
            for (int64_t c = 0; place < static_cast<uint64_t>(sizes[j]) && c < n_classes; ++c)
                result[place * n_classes + c] = counters.count(c, j, static_cast<uint8_t>(value));
        }
}

nb::object count_values(nb::object list, Vector<int64_t> origins, Vector<int64_t> sizes, Vector<int32_t> codes,
                        int64_t n_classes, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("origins", origins, {COLUMNS});
    contract.array("sizes", sizes, {COLUMNS});
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    const int64_t *origin = origins.data(), *size = sizes.data();
    int64_t total = 0;
    for (size_t j = 0; j < block.size(); total += size[j++]) Contract::up_to("sizes", size[j], MOST);
    std::vector<int64_t> result(total * n_classes);
    std::vector<ValueCounters> counters;
    int64_t *table = result.data();
    for (size_t j = 0; j < block.size(); table += size[j++] * n_classes)
        counters.emplace_back(origin[j], size[j], n_classes, table);
    block.visit<int64_t, int8_t, int16_t, int32_t, uint8_t>([&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        nb::gil_scoped_release release;
        if constexpr (sizeof(T) == 1)
            if (ByteCounters::fit(columns, n_classes, stop - start)) {
                count_bytes(columns, origin, size, code, n_classes, start, stop, result.data());
                return true;
            }
        fill_counters(columns, counters, code, n_classes, start, stop);
        return true;
    });
    return nb::cast(to_numpy(std::move(result), {size_t(total), size_t(n_classes)}));
}

} // namespace

void register_value_counts(nb::module_ &m) { define_kernel(m, "count_values", &count_values); }

} // namespace tb
