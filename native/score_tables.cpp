// add_codes and add_steps: log likelihoods that are looked up.
//
// Both have two stages. The first turns a few rows of values into pointers to rows of the table (a row of zeros where
// nothing is to be added); the second adds up the rows pointed at, with the totals in registers, in the order given.
// The step that holds a real is found by a grid (grid.h).
#ifndef TB_ISA
#include "grid.h"
#include "head.h"

namespace tb {
namespace {

constexpr int ROWS = 32; // rows whose pointers are kept at a time

struct Codes {
    const int64_t *origins, *offsets;
    Pointer table, zeros;
    int64_t n_classes;
    std::vector<Pointer> bytes; // [column][value as a byte], for columns of bytes in calls with many rows

    TB_INLINE Pointer find(int64_t j, int64_t value) const {
        const uint64_t code = static_cast<uint64_t>(value) - static_cast<uint64_t>(origins[j]);
        const uint64_t size = offsets[j + 1] - offsets[j];
        return code < size ? table + (offsets[j] + code) * n_classes : zeros;
    }

    template <class T> void list_bytes(int64_t n_columns) {
        bytes.resize(256 * n_columns);
        for (int64_t j = 0; j < n_columns; ++j)
            for (int byte = 0; byte < 256; ++byte) bytes[256 * j + byte] = find(j, static_cast<T>(byte));
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

#define TB_FILE "score_tables.cpp"
#include "isa.h"

namespace tb {
namespace {

void add_codes(nb::object list, Vector<int64_t> origins, Vector<int64_t> offsets, Matrix<double> table,
               Out<double> out, int64_t start, int64_t stop) {
    if (offsets.shape(0) <= 1) return; // no columns
    dispatch<int8_t, int16_t, int32_t, int64_t, uint8_t>(dtype_of_first(list), [&](auto zero) {
        using T = decltype(zero);
        const std::vector<double> zeros(out.shape(1));
        Codes codes{origins.data(), offsets.data(), table.data(), zeros.data(), static_cast<int64_t>(out.shape(1)), {}};
        const auto columns = columns_of<T>(list);
        double *to = out.data();
        nb::gil_scoped_release release;
        if (sizeof(T) == 1 && stop - start >= 1024) codes.list_bytes<T>(static_cast<int64_t>(columns.size()));
        TB_BEST(code_rows<T>)(columns, codes, to, start, stop);
        return 0; // `dispatch` wants a result
    });
}

int64_t add_steps(nb::object list, Vector<int64_t> offsets, Vector<double> edges, Matrix<double> table, Out<double> out,
                  int64_t start, int64_t stop) {
    return dispatch<double, float>(dtype_of_first(list), [&](auto zero) -> int64_t {
        using T = decltype(zero);
        const auto columns = columns_of<T>(list);
        const std::vector<double> zeros(out.shape(1));
        Steps steps{{}, nullptr, offsets.data(), table.data(), zeros.data(), static_cast<int64_t>(out.shape(1))};
        Pointer all_edges = edges.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        if (stop - start < FEW)
            steps.all_edges = all_edges;
        else
            steps.build(all_edges, static_cast<int64_t>(columns.size()));
        return TB_BEST(step_rows<T>)(columns, adjacent(columns), steps, to, start, stop);
    });
}

// Few rows of a matrix, here and in add_lines: plain loops, and in the order of add_codes.
void add_laplace(nb::handle slots, nb::handle counts, nb::handle totals, double k, nb::handle n_values, bool silent,
                 nb::handle out, int64_t start, int64_t stop) {
    const View<double> values(slots, 2), total(totals, 2), sizes(n_values, 1), to(out, 2);
    const View<int64_t> table(counts, 2);
    const Py_ssize_t n_columns = values.shape[1], n_classes = to.shape[1];
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j) {
            if (std::isnan(values(row, j))) continue;
            const Py_ssize_t slot = static_cast<Py_ssize_t>(values(row, j));
            bool fresh = true;
            for (Py_ssize_t c = 0; slot >= 0 && c < n_classes; ++c) fresh &= table(slot, c) == 0;
            if (fresh && silent) continue;
            for (Py_ssize_t c = 0; c < n_classes; ++c) {
                const double n = slot < 0 ? 0.0 : static_cast<double>(table(slot, c));
                to(row, c) += log_share(n, total(j, c), k, sizes(j) + fresh);
            }
        }
}

bool add_lines(nb::handle slots, nb::handle known, nb::handle table, nb::handle out, int64_t start, int64_t stop) {
    const View<double> values(slots, 2), logs(table, 2), to(out, 2);
    const View<bool> is_known(known, 1);
    const Py_ssize_t n_columns = values.shape[1], n_classes = logs.shape[1], first_new = logs.shape[0] - n_columns;
    auto line = [&](Py_ssize_t row, Py_ssize_t j) {
        return values(row, j) < 0 ? first_new + j : static_cast<Py_ssize_t>(values(row, j));
    };
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j)
            if (!std::isnan(values(row, j)) && !is_known(line(row, j))) return false;
    for (Py_ssize_t row = start; row < stop; ++row)
        for (Py_ssize_t j = 0; j < n_columns; ++j)
            for (Py_ssize_t c = 0; c < n_classes && !std::isnan(values(row, j)); ++c) to(row, c) += logs(line(row, j), c);
    return true;
}

} // namespace

void register_tables(nb::module_ &m) {
    m.def("add_laplace", &add_laplace);
    m.def("add_lines", &add_lines);
    m.def("add_codes", &add_codes);
    m.def("add_steps", &add_steps);
}

} // namespace tb

#else
#include "tile.h"

#include "sum_rows.h"

namespace tb::TB_ISA {
namespace {

template <class T>
TB_INLINE void find_codes(const Codes &codes, int64_t j, Column<T> column, int64_t row, int rows, Pointer *where,
                          int n) {
    if (sizeof(T) == 1 && !codes.bytes.empty()) {
        const Pointer *found = &codes.bytes[256 * j];
        for (int r = 0; r < rows; ++r) where[r * n] = found[static_cast<uint8_t>(column[row + r])];
        return;
    }
    for (int r = 0; r < rows; ++r) where[r * n] = codes.find(j, static_cast<int64_t>(column[row + r]));
}

template <class T>
void code_rows(const std::vector<Column<T>> &columns, const Codes &codes, double *out, int64_t start, int64_t stop) {
    Pointer where[ROWS * CHUNK];
    const int64_t n_columns = static_cast<int64_t>(columns.size()), n_classes = codes.n_classes;
    for (int64_t row = start; row < stop; row += ROWS) {
        const int rows = static_cast<int>(std::min<int64_t>(ROWS, stop - row));
        for (int64_t first = 0; first < n_columns; first += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - first));
            for (int j = 0; j < n; ++j) find_codes(codes, first + j, columns[first + j], row, rows, where + j, n);
            add_tile(where, n, rows, out + row * n_classes, n_classes);
        }
    }
}

// The depth is known when compiled for all but odd edges: no loop, and above all no branch that would be a guess.
template <int known_depth>
TB_INLINE void search(const Grid &grid, const uint32_t *below, Pointer edge, const double *x, int rows, Pointer first,
                      int64_t n_classes, Pointer *where, int n) {
    const int depth = known_depth < 0 ? grid.depth : known_depth;
    for (int r = 0; r < rows; ++r) {
        const double value = x[r];
        int64_t step = below[cell_of(grid, value)];
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

TB_INLINE bool all_finite(const double *x, int n) {
    i64x4 strange{};
    for (int i = 0; i < n * TILE; i += 4) strange |= as_bits(load(x + i) - load(x + i)); // 0 where finite, else NaN
    return !any(strange);
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
int64_t step_rows(const std::vector<Column<T>> &columns, bool side_by_side, const Steps &steps, double *out,
                  int64_t start, int64_t stop) {
    alignas(32) double x[CHUNK * TILE];
    Pointer where[TILE * CHUNK];
    const int64_t n_columns = static_cast<int64_t>(columns.size()), n_classes = steps.n_classes;
    int64_t bad = -1;
    for (int64_t row = start; row < stop; row += TILE) {
        const int rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        for (int64_t first = 0; first < n_columns; first += CHUNK) {
            const int n = static_cast<int>(std::min<int64_t>(CHUNK, n_columns - first));
            read_tile(&columns[first], n, side_by_side, row, rows, x);
            Next::behind(&columns[first], n, side_by_side, row).prefetch(0, TILE);
            for (int j = 0; j < n; ++j) find_steps(steps, first + j, x + j * TILE, rows, where + j, n);
            if (!all_finite(x, n)) {
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
