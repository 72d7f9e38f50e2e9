// Counting real numbers per class on the finest grid that keeps within a limit of cells.
//
// Doubles are taken as integers in the same order, and a cell is such an integer without its lowest `level` bits. The
// level starts at 0 and rises when the limit is passed: what it ends at depends on the set of numbers alone, because
// the cells of some of the numbers are never more than the cells of all.
#ifndef TB_ISA
#include "counting/cell_keys.h"
#include "base/quads.h"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace tb {
namespace {

constexpr int64_t KEY_ROWS = 1024; // long, because every change of column brings another hash table into the cache
constexpr int64_t FEW_ROWS = 8192; // that are sorted: of more, most fall into cells that are there already

struct alignas(32) QuadKeys { // of four columns
    i64x4 key[KEY_ROWS];
};

} // namespace
} // namespace tb

#define TB_FILE "counting/cells.cpp"
#define TB_FOURS
#include "base/isa.h"

namespace tb {
namespace {

// The cells of one column: an open-addressing hash table from key to the row of a table of counts per class.
class CellTable {
  public:
    CellTable(int64_t n_classes, int64_t limit)
        : n_classes_(n_classes), limit_(std::clamp<int64_t>(limit, 2, int64_t(1) << 40)) {
        rehash(256);
    }

    // Counts every fourth key from `key` on.
    void add(const int64_t *key, const int32_t *codes, int64_t rows) {
        if ((since_fold_ += rows) > MOST_ROWS) fold();
        for (int64_t r = 0; r < rows;)
            r = by_key_.empty() ? add_by_id(key, codes, r, rows) : add_by_key(key, codes, r, rows);
    }

    void add(const std::vector<KeySlot> &keys) { // with their classes
        for (auto [key, code] : keys) {
            const int64_t id = hashed(key >> level_);
            ++counts_[(id < 0 ? look_up(key) : id) * n_classes_ + code];
        }
    }

    void finish() {
        fold();
        if (int64_t(keys_.size()) > limit_) coarsen();
    }

    int64_t level() const { return level_; }

    // Appends the cells in order, and their counts.
    void emit(std::vector<int64_t> &cells, std::vector<int64_t> &table) const {
        for (auto [key, id] : sorted()) {
            cells.push_back(key);
            table.insert(table.end(), counts_.begin() + id * n_classes_, counts_.begin() + (id + 1) * n_classes_);
        }
    }

  private:
    struct Span { // keys of one sign, those of negative numbers second, whose ids stand in `ids_` from `start` on
        int64_t first;
        uint64_t size, start;
    };
    static constexpr int64_t MOST_ROWS = int64_t(1) << 31; // a counter of 32 bits holds them
    static constexpr int64_t FEW_CLASSES = 4;              // with more, counters by key would lie too far apart

    size_t home(int64_t key) const { return uint64_t(key) * 0x9E3779B97F4A7C15 >> shift_; }

    // Where a key stands in the spans, or -1.
    static TB_INLINE int64_t place_of(int64_t key, const Span &span) {
        const uint64_t at = uint64_t(key) - uint64_t(span.first);
        return at < span.size ? int64_t(span.start + at) : -1;
    }

    // Both count until a key has no cell yet, which may change everything, and return the row behind it.
    int64_t add_by_key(const int64_t *key, const int32_t *codes, int64_t r, int64_t rows) {
        const Span spans[] = {spans_[0], spans_[1]};
        const int64_t level = level_, n_classes = n_classes_;
        uint32_t *counts = by_key_.data();
        for (; r < rows; ++r) {
            const int64_t own = key[4 * r];
            if (own == NO_KEY || codes[r] < 0) continue;
            const int64_t place = place_of(own >> level, spans[own < 0]);
            if (place >= 0) [[likely]] {
                ++counts[place * n_classes + codes[r]];
            } else if (const int64_t id = hashed(own >> level); id >= 0) {
                ++counts_[id * n_classes + codes[r]];
            } else {
                return count_new(own, codes[r]), r + 1;
            }
        }
        return r;
    }
    int64_t add_by_id(const int64_t *key, const int32_t *codes, int64_t r, int64_t rows) {
        const Span spans[] = {spans_[0], spans_[1]};
        const int64_t level = level_, n_classes = n_classes_;
        const int32_t *ids = ids_.data();
        int64_t *counts = counts_.data();
        for (; r < rows; ++r) {
            const int64_t own = key[4 * r];
            if (own == NO_KEY || codes[r] < 0) continue;
            const int64_t place = place_of(own >> level, spans[own < 0]);
            const int64_t id = place < 0 ? hashed(own >> level) : ids[place];
            if (id < 0) [[unlikely]]
                return count_new(own, codes[r]), r + 1;
            ++counts[id * n_classes + codes[r]];
        }
        return r;
    }
    int64_t hashed(int64_t key) const {
        size_t s = home(key);
        while (slots_[s].key != key && slots_[s].key != NO_KEY) s = (s + 1) & (slots_.size() - 1);
        return slots_[s].key == key ? slots_[s].id : -1;
    }
    void count_new(int64_t full_key, int64_t code) {
        const int64_t id = look_up(full_key);
        ++counts_[id * n_classes_ + code];
    }

    __attribute__((noinline)) int64_t look_up(int64_t full_key) {
        int64_t key = full_key >> level_;
        for (size_t s = home(key);; s = (s + 1) & (slots_.size() - 1)) {
            if (slots_[s].key == key) return slots_[s].id;
            if (slots_[s].key == NO_KEY) return insert(s, full_key);
        }
    }

    __attribute__((noinline)) int64_t insert(size_t slot, int64_t full_key) {
        const int64_t key = full_key >> level_, id = appended(key);
        slots_[slot] = {key, id};
        if (id >= 2 * limit_) { // twice the limit, so that a level is not left as soon as it is reached
            coarsen();
            return look_up(full_key);
        }
        if (keys_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
        return id;
    }

    void rehash(size_t n_slots) {
        shift_ = 64 - std::countr_zero(n_slots);
        slots_.assign(n_slots, {NO_KEY, 0});
        for (size_t id = 0; id < keys_.size(); ++id) {
            size_t s = home(keys_[id]);
            while (slots_[s].key != NO_KEY) s = (s + 1) & (n_slots - 1);
            slots_[s] = {keys_[id], int64_t(id)};
        }
    }

    std::vector<KeySlot> sorted() const {
        std::vector<KeySlot> cells(keys_.size()), other;
        for (size_t id = 0; id < keys_.size(); ++id) cells[id] = {keys_[id], int64_t(id)};
        sort_by_key(cells, other);
        return cells;
    }

    // Adds what was counted by key to the cells, which may become more than the limit until they are coarsened.
    void fold() {
        since_fold_ = 0;
        if (by_key_.empty()) return; // as without classes
        const std::vector<uint32_t> counted = std::exchange(by_key_, {});
        for (size_t place = 0; place < counted.size() / n_classes_; ++place) {
            const uint32_t *own = &counted[place * n_classes_];
            if (std::all_of(own, own + n_classes_, [](uint32_t count) { return count == 0; })) continue;
            const Span &span = spans_[spans_[1].size && place >= spans_[1].start];
            const int64_t key = span.first + int64_t(place - span.start),
                          id = ids_[place] >= 0 ? ids_[place] : appended(key);
            for (int64_t c = 0; c < n_classes_; ++c) counts_[id * n_classes_ + c] += own[c];
        }
        rehash(std::max(slots_.size(), std::bit_ceil(2 * keys_.size())));
        by_key_.assign(counted.size(), 0);
    }

    int64_t appended(int64_t key) {
        const int64_t id = keys_.size();
        keys_.push_back(key);
        list_id(key, id);
        counts_.resize(counts_.size() + n_classes_);
        return id;
    }

    // To the lowest level with at most `limit` cells.
    void coarsen() {
        fold();
        std::vector<KeySlot> cells = sorted();
        const auto [rise, left] = coarsening(cells, limit_);
        std::vector<int64_t> keys, counts;
        keys.reserve(left);
        counts.reserve(left * n_classes_);
        for (auto [key, id] : cells) {
            if (keys.empty() || keys.back() != key >> rise) {
                keys.push_back(key >> rise);
                counts.resize(counts.size() + n_classes_);
            }
            for (int64_t c = 0; c < n_classes_; ++c)
                counts[(keys.size() - 1) * n_classes_ + c] += counts_[id * n_classes_ + c];
        }
        level_ += rise;
        keys_.swap(keys);
        counts_.swap(counts);
        rehash(slots_.size());
        list_ids();
    }

    // Coarse keys of one sign lie close together: most cells are then found by their key, without hashing.
    void list_ids() {
        constexpr uint64_t MOST_LISTED = 1 << 14;
        const size_t n_negative = std::lower_bound(keys_.begin(), keys_.end(), 0) - keys_.begin(); // they are in order
        const size_t ends[] = {n_negative, keys_.size(), 0, n_negative}; // of the others, of the negative ones
        uint64_t start = 0;
        for (int negative = 0; negative < 2; ++negative) {
            const size_t from = ends[2 * negative], to = ends[2 * negative + 1];
            const uint64_t size = from < to ? uint64_t(keys_[to - 1]) - uint64_t(keys_[from]) + 1 : 0;
            spans_[negative] = size > MOST_LISTED || !size ? Span{} : Span{keys_[from], size, start};
            start += spans_[negative].size;
        }
        ids_.assign(start, -1);
        by_key_.assign(n_classes_ <= FEW_CLASSES ? start * n_classes_ : 0, 0);
        for (size_t id = 0; id < keys_.size(); ++id) list_id(keys_[id], int64_t(id));
    }

    void list_id(int64_t key, int64_t id) {
        const Span &span = spans_[key < 0];
        const uint64_t at = uint64_t(key) - uint64_t(span.first);
        if (at < span.size) ids_[span.start + at] = int32_t(id);
    }

    int64_t n_classes_, limit_, level_ = 0;
    int shift_;
    std::vector<KeySlot> slots_;
    Span spans_[2] = {};
    std::vector<int32_t> ids_;     // of the cells in both spans, -1 where there is none
    std::vector<uint32_t> by_key_; // counts by key and class in both spans since the last fold; empty with many classes
    int64_t since_fold_ = 0;
    std::vector<int64_t> keys_, counts_; // by cell, and by cell and class
};

template <class T>
int64_t first_infinity(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop) {
    for (int64_t r = start; r < stop; ++r)
        for (size_t j = 0; codes[r] >= 0 && j < columns.size(); ++j)
            if (std::isinf(columns[j][r])) return r * int64_t(columns.size()) + int64_t(j);
    return -1;
}

template <class T>
int64_t count_cells(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop,
                    std::vector<CellTable> &grids) {
    auto keys = std::make_unique<QuadKeys>();
    const auto fill_keys = TB_BEST(fill_keys<T>);
    const std::vector<int> order = by_address(columns.data(), columns.size());
    const std::vector<Column<T>> ordered = in_order(columns, order);
    int64_t bad = -1;
    for (int64_t from = start; from < stop; from += KEY_ROWS) {
        int64_t rows = std::min(KEY_ROWS, stop - from);
        bool infinite = false;
        for (size_t first = 0; first < columns.size(); first += 4) {
            infinite |= fill_keys(Quad<T>::at(ordered, first), from, rows, *keys);
            for (size_t j = first; j < std::min(first + 4, columns.size()); ++j)
                grids[order[j]].add(reinterpret_cast<const int64_t *>(keys->key) + (j - first), codes + from, rows);
        }
        if (infinite && bad < 0) bad = first_infinity(columns, codes, from, from + rows);
    }
    return bad;
}

struct CountedCells { // of all columns, one after the other
    std::vector<int64_t> levels, offsets = {0}, found, table;

    void add(CellTable &column) {
        column.finish();
        column.emit(found, table);
        end_column(column.level());
    }

    void end_column(int64_t level) {
        levels.push_back(level);
        offsets.push_back(found.size());
    }
};

// The same of few rows, most of which have cells of their own: sorting finds those that are equal.
template <class T>
int64_t count_few(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop,
                  int64_t n_classes, int64_t limit, CountedCells &cells) {
    auto keys = std::make_unique<QuadKeys>();
    const auto fill_keys = TB_BEST(fill_keys<T>);
    std::vector<KeySlot> there[4], other;
    bool infinite = false;
    const size_t most = columns.size() * std::min(stop - start, limit);
    cells.found.reserve(most);
    cells.table.reserve(most * n_classes);
    for (size_t first = 0; first < columns.size(); first += 4) {
        const size_t n = std::min<size_t>(4, columns.size() - first);
        for (size_t j = 0; j < n; ++j) there[j].clear();
        for (int64_t from = start; from < stop; from += KEY_ROWS) {
            const int64_t rows = std::min(KEY_ROWS, stop - from);
            infinite |= fill_keys(Quad<T>::at(columns, first), from, rows, *keys);
            for (size_t j = 0; j < n; ++j)
                for (int64_t r = 0; r < rows; ++r)
                    if (const int64_t key = keys->key[r][j]; key != NO_KEY && codes[from + r] >= 0)
                        there[j].push_back({key, codes[from + r]});
        }
        for (size_t j = 0; j < n; ++j) {
            if (repeats(there[j], other)) {
                CellTable grid(n_classes, limit);
                grid.add(there[j]);
                cells.add(grid);
                continue;
            }
            sort_by_key(there[j], other);
            const int64_t level = coarsening(there[j], limit).rise;
            int64_t last = NO_KEY;
            for (auto [key, code] : there[j]) {
                if (last == NO_KEY || key >> level != last) {
                    cells.found.push_back(last = key >> level);
                    cells.table.resize(cells.table.size() + n_classes);
                }
                ++cells.table[cells.table.size() - n_classes + code];
            }
            cells.end_column(level);
        }
    }
    return infinite ? first_infinity(columns, codes, start, stop) : -1;
}

nb::tuple list_cells(nb::object list, Vector<int32_t> codes, int64_t n_classes, int64_t limit, int64_t start,
                     int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    if (limit < 2) refuse("limit from 2 on", limit); // numbers below and above 0 are never in one cell
    CountedCells cells;
    int64_t bad = block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        nb::gil_scoped_release release;
        if (stop - start <= FEW_ROWS)
            return count_few(columns, code, start, stop, n_classes, std::clamp<int64_t>(limit, 2, int64_t(1) << 40),
                             cells);
        std::vector<CellTable> grids(columns.size(), CellTable(n_classes, limit));
        int64_t first_bad = count_cells(columns, code, start, stop, grids);
        for (CellTable &grid : grids) cells.add(grid);
        return first_bad;
    });
    const size_t n_columns = cells.levels.size(), n_cells = cells.found.size();
    return nb::make_tuple(to_numpy(std::move(cells.levels), {n_columns}),
                          to_numpy(std::move(cells.offsets), {n_columns + 1}),
                          to_numpy(std::move(cells.found), {n_cells}),
                          to_numpy(std::move(cells.table), {n_cells, size_t(n_classes)}), bad);
}

} // namespace

void register_cells(nb::module_ &m) { define_kernel(m, "count_cells", &list_cells); }

} // namespace tb

#else
#include "base/quad_rows.h"

namespace tb::TB_ISA {
namespace {

// ordered(x), or NO_KEY where x is not finite. Returns whether there is an infinity.
template <bool Adjacent, class T>
TB_INLINE bool fill_keys(const Quad<T> &quad, int64_t start, int64_t rows, QuadKeys &keys) {
    i64x4 infinite = i64x4{};
    for (int64_t r = 0; r < rows; ++r) {
        f64x4 x = read_row<Adjacent>(quad, start + r) + 0.0; // -0.0 becomes 0.0
        i64x4 bits = as_bits(x), ordered = bits ^ ((bits < 0) & INT64_MAX);
        f64x4 size = absolute(x);
        infinite |= size == std::numeric_limits<double>::infinity();
        keys.key[r] = size < std::numeric_limits<double>::infinity() ? ordered : i64x4{} + NO_KEY;
    }
    return any(infinite);
}
template <class T> bool fill_keys(const Quad<T> &quad, int64_t start, int64_t rows, QuadKeys &keys) {
    return quad.adjacent ? fill_keys<true>(quad, start, rows, keys) : fill_keys<false>(quad, start, rows, keys);
}

} // namespace
} // namespace tb::TB_ISA
#endif
