// count_known_cells: real numbers counted per class in cells that are given.
//
// A cell is a double as an integer in the same order, without its lowest `level` bits (cells.cpp). The cells of a column
// are sorted; several rows are looked up at a time, because each step of a search waits for the one before.
#include "base/columns.h"
#include "counting/cell_keys.h"

#include <bit>
#include <cmath>

namespace tb {

namespace {

constexpr int64_t SEARCHES_AT_ONCE = 8; // rows that are looked up together

int64_t ordered(double x) {
    const auto bits = std::bit_cast<int64_t>(x + 0.0); // -0.0 becomes 0.0
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

struct KnownCells { // of one column
    const int64_t *first;
    int64_t n, level;
};

// The first cell that is not below a key, for several keys.
void look_up(const KnownCells &cells, const int64_t *keys, int64_t *places) {
    int64_t length = cells.n;
    std::fill_n(places, SEARCHES_AT_ONCE, int64_t(0));
    while (length > 1) {
        const int64_t half = length / 2;
        for (int64_t i = 0; i < SEARCHES_AT_ONCE; ++i)
            places[i] += cells.first[places[i] + half - 1] < keys[i] ? half : 0;
        length -= half;
    }
    for (int64_t i = 0; length && i < SEARCHES_AT_ONCE; ++i) places[i] += cells.first[places[i]] < keys[i];
}

// Adds the rows of a column to the table; returns the first row whose number is in no cell, or -1.
template <class T>
int64_t add_column(const Column<T> &column, const KnownCells &cells, const int32_t *codes, int64_t n_classes,
                   int64_t start, int64_t stop, int64_t *table) {
    int64_t unknown = -1;
    for (int64_t row = start; row < stop; row += SEARCHES_AT_ONCE) {
        const int64_t n = std::min(SEARCHES_AT_ONCE, stop - row);
        int64_t keys[SEARCHES_AT_ONCE] = {}, places[SEARCHES_AT_ONCE];
        for (int64_t i = 0; i < n; ++i) {
            const double x = static_cast<double>(column[row + i]);
            keys[i] = std::isfinite(x) ? ordered(x) >> cells.level : NO_KEY;
        }
        look_up(cells, keys, places);
        for (int64_t i = 0; i < n; ++i) {
            const int32_t code = codes[row + i];
            if (code < 0 || std::isnan(column[row + i])) continue;
            const bool is_known = keys[i] != NO_KEY && places[i] < cells.n && cells.first[places[i]] == keys[i];
            if (is_known) [[likely]]
                ++table[places[i] * n_classes + code];
            else if (unknown < 0) unknown = row + i;
        }
    }
    return unknown;
}

nb::tuple count_known_cells(nb::object list, Vector<int32_t> codes, int64_t n_classes, Vector<int64_t> levels,
                            Vector<int64_t> offsets, Vector<int64_t> cells, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    contract.array("levels", levels, {COLUMNS});
    Contract::below("levels", levels.data(), contract[COLUMNS], 64);
    contract.array("cells", cells, {LINES});
    contract.array("offsets", offsets, {plus_one(COLUMNS)});
    Contract::ends("offsets", offsets.data(), contract[COLUMNS] + 1, contract[LINES]);
    std::vector<int64_t> table(size_t(contract[LINES] * n_classes));
    const int64_t unknown = block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        const int64_t *level = levels.data(), *offset = offsets.data(), *cell = cells.data();
        nb::gil_scoped_release release;
        int64_t first = -1;
        for (size_t j = 0; j < columns.size(); ++j) {
            const KnownCells own{cell + offset[j], offset[j + 1] - offset[j], level[j]};
            const int64_t row =
                add_column(columns[j], own, code, n_classes, start, stop, table.data() + offset[j] * n_classes);
            const int64_t place = row * int64_t(columns.size()) + int64_t(j);
            if (row >= 0 && (first < 0 || place < first)) first = place;
        }
        return first;
    });
    return nb::make_tuple(to_numpy(std::move(table), {size_t(contract[LINES]), size_t(n_classes)}), unknown);
}

} // namespace

void register_known_cells(nb::module_ &m) { define_kernel(m, "count_known_cells", &count_known_cells); }

} // namespace tb
