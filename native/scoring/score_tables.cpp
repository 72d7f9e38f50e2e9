// add_codes and add_steps: log likelihoods that are looked up.
//
// Both have two stages. The first turns a few rows of values into pointers to rows of the table (a row of zeros where
// nothing is to be added); the second adds up the rows pointed at, with the totals in registers, in the order given.
// The step that holds a real is found by a grid (grid.h).
#ifndef TB_ISA
#include "scoring/grid.h"
#include "base/array_view.h"

namespace tb {
namespace {

constexpr int POINTER_ROWS = 32; // rows whose pointers are kept at a time

struct Codes {
    const int64_t *origins, *offsets;
    Pointer table, zeros;
    int64_t n_classes;
    // For columns of bytes in calls with many rows: the table with a line of zeros behind it, and where in it a value is,
    // [column][value as a byte]. Half as large as pointers, so that the first cache holds it for many columns.
    // (Not 256 apart: most columns use the same few bytes, and the cache would have all of them in the same few places.)
    static constexpr int64_t APART = 256 + 16;
    std::vector<double> lines;
    std::vector<uint32_t> bytes;
    // With few classes lines are whole vectors, and for columns with one stride, as those of a matrix or of most frames,
    // this is where each is, counted from the first.
    std::vector<int64_t> places;

    // The line of a value, -1 if it has none.
    TB_INLINE int64_t line(int64_t j, int64_t value) const {
        const uint64_t code = static_cast<uint64_t>(value) - static_cast<uint64_t>(origins[j]);
        const uint64_t size = offsets[j + 1] - offsets[j];
        return code < size ? static_cast<int64_t>(offsets[j] + code) : -1;
    }
    TB_INLINE Pointer find(int64_t j, int64_t value) const {
        const int64_t found = line(j, value);
        return found < 0 ? zeros : table + found * n_classes;
    }

    template <class T> void list_bytes(const std::vector<Column<T>> &columns) {
        const int64_t n_lines = offsets[columns.size()], width = n_classes > 4 ? n_classes : n_classes > 2 ? 4 : 2;
        if (n_lines * width >= std::numeric_limits<uint32_t>::max()) return;
        lines.resize((n_lines + 1) * width);
        for (int64_t line = 0; line < n_lines; ++line)
            std::copy_n(table + line * n_classes, n_classes, lines.begin() + line * width);
        bytes.resize(APART * columns.size());
        for (size_t j = 0; j < columns.size(); ++j)
            for (int byte = 0; byte < 256; ++byte) {
                const int64_t found = line(j, static_cast<T>(byte));
                bytes[APART * j + byte] = static_cast<uint32_t>((found < 0 ? n_lines : found) * width);
            }
        if (n_classes < 1 || n_classes > 4) return;
        for (const Column<T> &column : columns) {
            if (column.stride != columns[0].stride) return places.clear();
            places.push_back(column.data - columns[0].data);
        }
    }
};

struct Steps {
    Grids grids;
    Pointer all_edges; // for few rows there is no grid: a search among these
    const int64_t *offsets;
    Pointer table, zeros;
    int64_t n_classes;

    void build(Pointer all_edges, int64_t n_columns) {
        for (int64_t j = 0; j < n_columns; ++j) {
            const int64_t n = std::max<int64_t>(offsets[j + 1] - offsets[j] - 1, 0);
            grids.add_column(all_edges + offsets[j] + 1, n);
        }
    }
};

} // namespace
} // namespace tb

#define TB_FILE "scoring/score_tables.cpp"
#include "base/isa.h"

namespace tb {
namespace {

void add_codes(nb::object list, Vector<int64_t> origins, Vector<int64_t> offsets, Matrix<double> table, Out<double> out,
               int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("out", out, {ROWS, CLASSES});
    contract.array("origins", origins, {COLUMNS});
    contract.array("offsets", offsets, {plus_one(COLUMNS)});
    contract.array("table", table, {LINES, CLASSES});
    Contract::ends("offsets", offsets.data(), contract[COLUMNS] + 1, contract[LINES]);
    block.visit<int64_t, int8_t, int16_t, int32_t, uint8_t>([&]<class T>(const std::vector<Column<T>> &columns) {
        const std::vector<double> zeros(out.shape(1));
        Codes codes{origins.data(), offsets.data(), table.data(), zeros.data(), contract[CLASSES], {}, {}, {}};
        double *to = out.data();
        nb::gil_scoped_release release;
        if constexpr (sizeof(T) == 1)
            if (stop - start >= 1024) codes.list_bytes(columns);
        TB_BEST(code_rows<T>)(columns, codes, to, start, stop);
        return true;
    });
}

int64_t add_steps(nb::object list, Vector<int64_t> offsets, Vector<double> edges, Matrix<double> table, Out<double> out,
                  int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("out", out, {ROWS, CLASSES});
    contract.array("offsets", offsets, {plus_one(COLUMNS)});
    contract.array("table", table, {LINES, CLASSES});
    contract.array("edges", edges, {LINES});
    Contract::ends("offsets", offsets.data(), contract[COLUMNS] + 1, contract[LINES]);
    return block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) -> int64_t {
        const std::vector<double> zeros(out.shape(1));
        Steps steps{{}, nullptr, offsets.data(), table.data(), zeros.data(), contract[CLASSES]};
        Pointer all_edges = edges.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        if (stop - start < UNGRIDDED_ROWS) steps.all_edges = all_edges;
        else steps.build(all_edges, contract[COLUMNS]);
        return TB_BEST(step_rows<T>)(columns, steps, to, start, stop);
    });
}

// A slot of a small matrix: -1 for a value never seen, or a line of a table.
Py_ssize_t slot_of(double value, int64_t n_slots) {
    if (!(value >= -1 && value < static_cast<double>(n_slots))) [[unlikely]]
        refuse_real("slots from -1 to below " + std::to_string(n_slots), value);
    return static_cast<Py_ssize_t>(value);
}

// Few rows of a matrix, here and in add_slots: plain loops, and in the order of add_codes.
void add_laplace(nb::handle slots, nb::handle counts, nb::handle totals, double k, nb::handle n_values, bool silent,
                 nb::handle out, int64_t start, int64_t stop) {
    const View<const double> values(slots, 2), total(totals, 2), sizes(n_values, 1);
    const View<double> to(out, 2);
    const View<const int64_t> table(counts, 2);
    Contract contract(start, stop);
    contract.array("slots", values, {ROWS, COLUMNS});
    contract.array("out", to, {ROWS, CLASSES});
    contract.array("counts", table, {LINES, CLASSES});
    contract.array("totals", total, {COLUMNS, CLASSES});
    contract.array("n_values", sizes, {COLUMNS});
    const Py_ssize_t n_columns = contract[COLUMNS], n_classes = contract[CLASSES];
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j) {
            if (std::isnan(values(row, j))) continue;
            const Py_ssize_t slot = slot_of(values(row, j), contract[LINES]);
            bool fresh = true;
            for (Py_ssize_t c = 0; slot >= 0 && c < n_classes; ++c) fresh &= table(slot, c) == 0;
            if (fresh && silent) continue;
            for (Py_ssize_t c = 0; c < n_classes; ++c) {
                const double n = slot < 0 ? 0.0 : static_cast<double>(table(slot, c));
                to(row, c) += log_share(n, total(j, c), k, sizes(j) + fresh);
            }
        }
}

bool add_slots(nb::handle slots, nb::handle known, nb::handle table, nb::handle out, int64_t start, int64_t stop) {
    const View<const double> values(slots, 2), logs(table, 2);
    const View<double> to(out, 2);
    const View<const bool> is_known(known, 1);
    Contract contract(start, stop);
    contract.array("slots", values, {ROWS, COLUMNS});
    contract.array("out", to, {ROWS, CLASSES});
    contract.array("table", logs, {LINES, CLASSES});
    contract.array("known", is_known, {LINES});
    const Py_ssize_t n_columns = contract[COLUMNS], n_classes = contract[CLASSES],
                     first_new = contract[LINES] - n_columns;
    if (first_new < 0) refuse("a table with at least " + std::to_string(n_columns) + " lines", contract[LINES]);
    auto line = [&](Py_ssize_t row, Py_ssize_t j) {
        const Py_ssize_t slot = slot_of(values(row, j), contract[LINES]);
        return slot < 0 ? first_new + j : slot;
    };
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j)
            if (!std::isnan(values(row, j)) && !is_known(line(row, j))) return false;
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j)
            for (Py_ssize_t c = 0; c < n_classes && !std::isnan(values(row, j)); ++c)
                to(row, c) += logs(line(row, j), c);
    return true;
}

} // namespace

void register_tables(nb::module_ &m) {
    define_kernel(m, "add_laplace", &add_laplace);
    define_kernel(m, "add_slots", &add_slots);
    define_kernel(m, "add_codes", &add_codes);
    define_kernel(m, "add_steps", &add_steps);
}

} // namespace tb

#else
#include "base/tile.h"

#include "scoring/sum_rows.h"

namespace tb::TB_ISA {
namespace {

template <class T>
TB_INLINE void find_codes(const Codes &codes, int64_t j, Column<T> column, int64_t row, int rows, Pointer *where,
                          int n) {
    if (sizeof(T) == 1 && !codes.bytes.empty()) {
        const uint32_t *found = &codes.bytes[Codes::APART * j];
        const Pointer lines = codes.lines.data();
        for (int r = 0; r < rows; ++r) where[r * n] = lines + found[static_cast<uint8_t>(column[row + r])];
        return;
    }
    for (int r = 0; r < rows; ++r) where[r * n] = codes.find(j, static_cast<int64_t>(column[row + r]));
}

// Adds the lines of several rows, whose totals stay in registers, one vector each.
template <int classes, int rows>
TB_INLINE void add_byte_lines(const Codes &codes, const uint8_t *from, int64_t stride, double *out) {
    using V = std::conditional_t<classes <= 2, f64x2, f64x4>;
    V sum[rows] = {};
    for (int r = 0; r < rows; ++r) __builtin_memcpy(&sum[r], out + r * classes, 8 * classes);
    const uint32_t *found = codes.bytes.data();
    for (const int64_t place : codes.places) {
        const uint8_t *value = from + place;
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) sum[r] += load<V>(codes.lines.data() + found[value[r * stride]]);
        found += Codes::APART;
    }
    for (int r = 0; r < rows; ++r) __builtin_memcpy(out + r * classes, &sum[r], 8 * classes);
}

template <int classes>
void byte_rows(const Codes &codes, const uint8_t *first, int64_t stride, double *out, int64_t start, int64_t stop) {
    constexpr int SUMS_AT_ONCE = 4; // sums of which none waits for another
    int64_t row = start;
    for (; row + SUMS_AT_ONCE <= stop; row += SUMS_AT_ONCE)
        add_byte_lines<classes, SUMS_AT_ONCE>(codes, first + row * stride, stride, out + row * classes);
    for (; row < stop; ++row) add_byte_lines<classes, 1>(codes, first + row * stride, stride, out + row * classes);
}

template <class T>
void code_rows(const std::vector<Column<T>> &columns, const Codes &codes, double *out, int64_t start, int64_t stop) {
    if (!codes.places.empty()) {
        const auto *first = reinterpret_cast<const uint8_t *>(columns[0].data);
        const auto run = codes.n_classes == 1   ? byte_rows<1>
                         : codes.n_classes == 2 ? byte_rows<2>
                         : codes.n_classes == 3 ? byte_rows<3>
                                                : byte_rows<4>;
        return run(codes, first, columns[0].stride, out, start, stop);
    }
    Pointer where[POINTER_ROWS * CHUNK];
    const int64_t n_columns = static_cast<int64_t>(columns.size()), n_classes = codes.n_classes;
    for (int64_t row = start; row < stop; row += POINTER_ROWS) {
        const int rows = static_cast<int>(std::min<int64_t>(POINTER_ROWS, stop - row));
        for (int64_t first = 0; first < n_columns; first += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - first));
            for (int j = 0; j < n; ++j) find_codes(codes, first + j, columns[first + j], row, rows, where + j, n);
            add_tile(where, n, rows, out + row * n_classes, n_classes);
        }
    }
}

// cell_of for the rows of a tile, four at a time.
TB_INLINE void find_cells(const Grid &grid, const double *x, int32_t *cells) {
    typedef int32_t i32x4 __attribute__((vector_size(16)));
    for (int r = 0; r < TILE; r += 4) {
        f64x4 place = (load(x + r) - grid.low) * grid.scale;
        place = place > 0 ? place : f64x4{};
        place = place < grid.top ? place : broadcast(grid.top);
        const i32x4 four = __builtin_convertvector(place, i32x4);
        __builtin_memcpy(cells + r, &four, sizeof four);
    }
}

// The depth is known when compiled for all but odd edges: no loop, and above all no branch that would be a guess.
template <int known_depth>
TB_INLINE void search(const Grid &grid, const uint32_t *below, Pointer edge, const double *x, int rows, Pointer first,
                      int64_t n_classes, Pointer *where, int n) {
    const int depth = known_depth < 0 ? grid.depth : known_depth;
    int32_t cells[TILE];
    find_cells(grid, x, cells);
    for (int r = 0; r < rows; ++r) {
        const double value = x[r];
        int64_t step = below[cells[r]];
        __asm__("" : "+r"(step)); // keeps GCC from forming vectors, which would be taken apart again for the lookups
#pragma GCC unroll 4
        for (int shift = depth - 1; shift >= 0; --shift)
            step += static_cast<int64_t>(edge[step + (int64_t{1} << shift) - 1] <= value) << shift;
        where[r * n] = first + step * n_classes;
    }
}

TB_INLINE void find_steps(const Steps &steps, int64_t j, const double *x, int rows, Pointer *where, int n) {
    if (steps.all_edges) {
        const Pointer from = steps.all_edges + steps.offsets[j] + 1, to = steps.all_edges + steps.offsets[j + 1];
        for (int r = 0; r < rows; ++r) {
            const int64_t step = from < to ? std::upper_bound(from, to, x[r]) - from : 0;
            where[r * n] = steps.table + (steps.offsets[j] + step) * steps.n_classes;
        }
        if (from > to)
            for (int r = 0; r < rows; ++r) where[r * n] = steps.zeros;
        return;
    }
    const Grid grid = steps.grids.columns[j];
    const uint32_t *below = &steps.grids.cells[grid.cells];
    Pointer edge = &steps.grids.edges[grid.edges], first = steps.table + steps.offsets[j] * steps.n_classes;
    switch (grid.depth) {
    case 1: search<1>(grid, below, edge, x, rows, first, steps.n_classes, where, n); break;
    case 2: search<2>(grid, below, edge, x, rows, first, steps.n_classes, where, n); break;
    case 3: search<3>(grid, below, edge, x, rows, first, steps.n_classes, where, n); break;
    default: search<-1>(grid, below, edge, x, rows, first, steps.n_classes, where, n);
    }
    if (steps.offsets[j] == steps.offsets[j + 1])
        for (int r = 0; r < rows; ++r) where[r * n] = steps.zeros;
}

// Lets the missing values of a tile add nothing; returns the first infinite one as r * n_columns + j, or -1.
inline int64_t drop_missing(const double *x, int rows, Pointer zeros, Pointer *where, int n, int64_t n_columns) {
    int64_t bad = -1;
    for (int r = rows - 1; r >= 0; --r)
        for (int j = n - 1; j >= 0; --j) {
            if (std::isnan(x[j * TILE + r])) where[r * n + j] = zeros;
            if (std::isinf(x[j * TILE + r])) bad = r * n_columns + j;
        }
    return bad;
}

template <class T>
int64_t step_rows(const std::vector<Column<T>> &columns, const Steps &steps, double *out, int64_t start, int64_t stop) {
    alignas(32) double x[CHUNK * TILE];
    Pointer where[TILE * CHUNK];
    const int64_t n_columns = static_cast<int64_t>(columns.size()), n_classes = steps.n_classes;
    std::vector<Layout> layouts; // of each chunk of columns
    for (int64_t first = 0; first < n_columns; first += CHUNK)
        layouts.push_back(layout_of(&columns[first], std::min<int64_t>(CHUNK, n_columns - first), stop - start));
    int64_t bad = -1;
    for (int64_t row = start; row < stop; row += TILE) {
        const int rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        for (int64_t first = 0; first < n_columns; first += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - first));
            const Layout &layout = layouts[first / CHUNK];
            i64x4 strange{};
            read_tile(&columns[first], n, layout, row, rows, x, [&](int, f64x4 four) __attribute__((always_inline)) {
                strange |= as_bits(four - four); // 0 where finite, else NaN
                return four;
            });
            Next::behind(&columns[first], layout, row).prefetch(0, TILE);
            for (int j = 0; j < n; ++j) find_steps(steps, first + j, x + j * TILE, rows, where + j, n);
            if (any(strange)) {
                const int64_t place = drop_missing(x, rows, steps.zeros, where, n, n_columns);
                if (place >= 0) bad = first_place(bad, row * n_columns + first + place);
            }
            add_tile(where, n, rows, out + row * n_classes, n_classes);
        }
    }
    return bad;
}

} // namespace
} // namespace tb::TB_ISA
#endif
