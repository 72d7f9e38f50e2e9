// add_codes, add_steps and add_bags: log likelihoods that are looked up.
//
// All have two stages. The first turns a few rows of values into pointers to rows of the table (a row of zeros where
// nothing is to be added); the second adds up the rows pointed at, with the totals in registers, in the order given.
// The step that holds a real is found by a grid of equal cells between the first and the last edge: the cell says how
// many edges lie below it, and a search of fixed depth settles those inside (a "cutpoint table", Chen & Asau 1974).
#ifndef TB_ISA
#include "score.h"

#include <nanobind/stl/optional.h>

namespace tb {
namespace {

constexpr int ROWS = 32; // rows whose pointers are kept at a time

using Pointer = const double *;
typedef double f64x2 __attribute__((vector_size(16)));

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

// Cells of a column's grid; monotone in x for any edges, which is all that the search needs to be exact.
struct Grid {
    double low, scale, top;
    int depth;             // steps of the search inside a cell
    size_t cells, edges;   // where they begin
};

TB_INLINE int32_t cell_of(const Grid &grid, double x) {
    double place = (x - grid.low) * grid.scale;
    place = place > 0 ? place : 0; // NaN, which 0 * inf gives, goes to the first cell
    return static_cast<int32_t>(place < grid.top ? place : grid.top);
}

struct Steps {
    std::vector<Grid> grids;
    std::vector<uint32_t> cells;  // edges below each cell
    std::vector<double> edges;    // of each column, then NaN, which nothing reaches
    const int64_t *offsets;
    Pointer table, zeros;
    int64_t n_classes;

    void build(Pointer all_edges, int64_t n_columns) {
        for (int64_t j = 0; j < n_columns; ++j) {
            const int64_t n = std::max<int64_t>(offsets[j + 1] - offsets[j] - 1, 0);
            add_column(all_edges + offsets[j] + 1, n);
        }
    }

    void add_column(Pointer e, int64_t n) {
        int64_t size = 64;
        while (size < 3 * n && size < 4096) size *= 2;
        const double range = n > 0 ? e[n - 1] - e[0] : 0.0;
        Grid grid{0.0, 0.0, static_cast<double>(size - 1), 0, cells.size(), edges.size()};
        if (range > 0 && std::isfinite(range)) grid.low = e[0], grid.scale = static_cast<double>(size) / range;
        cells.resize(grid.cells + size);
        uint32_t *below = &cells[grid.cells];
        int64_t most = 0, next = 0; // edges before `next` lie in an earlier cell
        for (int64_t k = 0; k < n;) {
            const int64_t here = cell_of(grid, e[k]), first = k;
            while (k < n && cell_of(grid, e[k]) == here) ++k;
            for (; next <= here; ++next) below[next] = static_cast<uint32_t>(first);
            most = std::max(most, k - first);
        }
        for (; next < size; ++next) below[next] = static_cast<uint32_t>(n);
        while ((int64_t{1} << grid.depth) <= most) ++grid.depth;
        edges.insert(edges.end(), e, e + n);
        edges.resize(edges.size() + (size_t{1} << grid.depth), std::numeric_limits<double>::quiet_NaN());
        grids.push_back(grid);
    }
};

constexpr int BATCH = 32; // entries looked up at a time, while those before them are added

// Entries of a sparse matrix as pointers and amounts; the rows of the table are on their way when they are needed.
struct Batch {
    Pointer where[BATCH];
    double amounts[BATCH];
};

struct Bags {
    const void *indices, *amounts;
    int64_t index_stride, amount_stride;
    Pointer table, zeros;
    int64_t n_classes;
};

using Fill = void (*)(const Bags &, int64_t, int, Batch &);

} // namespace
} // namespace tb

#define TB_FILE "score_tables.cpp"
#include "isa.h"

namespace tb {
namespace {

void add_codes(nb::list list, Vector<int64_t> origins, Vector<int64_t> offsets, Matrix<double> table,
               Out<double> out, int64_t start, int64_t stop) {
    if (nb::len(list) == 0) return;
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

int64_t add_steps(nb::list list, Vector<int64_t> offsets, Vector<double> edges, Matrix<double> table, Out<double> out,
                  int64_t start, int64_t stop) {
    return dispatch<double, float>(dtype_of_first(list), [&](auto zero) -> int64_t {
        using T = decltype(zero);
        const auto columns = columns_of<T>(list);
        const std::vector<double> zeros(out.shape(1));
        Steps steps{{}, {}, {}, offsets.data(), table.data(), zeros.data(), static_cast<int64_t>(out.shape(1))};
        Pointer all_edges = edges.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        steps.build(all_edges, static_cast<int64_t>(columns.size()));
        return TB_BEST(step_rows<T>)(columns, adjacent(columns), steps, to, start, stop);
    });
}

template <class I, class A> void fill_batch(const Bags &bags, int64_t from, int n, Batch &batch) {
    const Column<I> indices{static_cast<const I *>(bags.indices), bags.index_stride};
    const Column<A> amounts{static_cast<const A *>(bags.amounts), bags.amount_stride};
    const int64_t lines = std::min<int64_t>((bags.n_classes * 8 + 63) / 64, 4); // the rest comes by itself
    for (int i = 0; i < n; ++i) {
        Pointer row = bags.table + static_cast<int64_t>(indices[from + i]) * bags.n_classes;
        for (int64_t k = 0; k < lines; ++k) __builtin_prefetch(row + 8 * k);
        __builtin_prefetch(row + bags.n_classes - 1);
        const double amount = bags.amounts ? static_cast<double>(amounts[from + i]) : 1.0;
        batch.where[i] = amount != 0 ? row : bags.zeros; // 0 * -inf must add nothing
        batch.amounts[i] = amount;
    }
}

std::vector<int64_t> slice_of(Array array, int64_t start, int64_t stop) {
    return dispatch<int32_t, int64_t>(array.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Column<T> column{static_cast<const T *>(array.data()), array.stride(0)};
        std::vector<int64_t> values;
        for (int64_t i = start; i < stop; ++i) values.push_back(column[i]);
        return values;
    });
}

void add_bags(Array indptr, Array indices, std::optional<Array> amounts, Matrix<double> table, Out<double> out,
              int64_t start, int64_t stop) {
    const std::vector<int64_t> ends = slice_of(indptr, start, stop + 1);
    const std::vector<double> zeros(out.shape(1));
    const int64_t n_classes = static_cast<int64_t>(out.shape(1));
    const Bags bags{indices.data(), amounts ? amounts->data() : nullptr, indices.stride(0),
                    amounts ? amounts->stride(0) : 0, table.data(), zeros.data(), n_classes};
    const auto amount_type = amounts ? amounts->dtype() : nb::dtype<double>();
    const Fill fill = dispatch<int32_t, int64_t>(indices.dtype(), [&](auto index) {
        return dispatch<double, float, int64_t, int32_t>(amount_type, [&](auto amount) -> Fill {
            return fill_batch<decltype(index), decltype(amount)>;
        });
    });
    double *to = out.data() + start * n_classes;
    nb::gil_scoped_release release;
    if (start < stop) TB_BEST(bag_rows)(bags, fill, ends.front(), {ends.begin() + 1, ends.end()}, to);
}

} // namespace

void register_tables(nb::module_ &m) {
    m.def("add_codes", &add_codes);
    m.def("add_steps", &add_steps);
    m.def("add_bags", &add_bags, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

} // namespace tb

#else
#include "tile.h"

namespace tb::TB_ISA {
namespace {

// out[0 ..] += the rows pointed at (times the amounts), for `vectors` times four classes and a tail of up to three.
template <int vectors, int tail, bool weighted>
TB_INLINE void sum_rows(const Pointer *where, Pointer amounts, int n, int64_t at, double *out) {
    f64x4 sum[vectors > 0 ? vectors : 1];
    f64x2 pair{};
    double last = 0;
    for (int v = 0; v < vectors; ++v) sum[v] = load(out + at + 4 * v);
    const int64_t rest = at + 4 * vectors, single = rest + (tail & 2);
    if constexpr ((tail & 2) != 0) __builtin_memcpy(&pair, out + rest, sizeof pair);
    if constexpr ((tail & 1) != 0) last = out[single];
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
        Pointer row = where[i];
        const double amount = weighted ? amounts[i] : 1.0;
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) sum[v] += weighted ? amount * load(row + at + 4 * v) : load(row + at + 4 * v);
        if constexpr ((tail & 2) != 0) {
            f64x2 two;
            __builtin_memcpy(&two, row + rest, sizeof two);
            pair += weighted ? amount * two : two;
        }
        if constexpr ((tail & 1) != 0) last += weighted ? amount * row[single] : row[single];
    }
    for (int v = 0; v < vectors; ++v) store(out + at + 4 * v, sum[v]);
    if constexpr ((tail & 2) != 0) __builtin_memcpy(out + rest, &pair, sizeof pair);
    if constexpr ((tail & 1) != 0) out[single] = last;
}

// The same for several rows, each with n pointers.
template <int vectors, int tail>
TB_INLINE void sum_tile(const Pointer *where, int n, int rows, int64_t at, double *out, int64_t n_classes) {
    for (int r = 0; r < rows; ++r) sum_rows<vectors, tail, false>(where + r * n, nullptr, n, at, out + r * n_classes);
}

// call(vectors, tail) for the classes from `at` on: 32 at a time, then what is left.
#define TB_ALL_CLASSES(call)                                                                                          \
    int64_t at = 0;                                                                                                   \
    for (; at + 32 <= n_classes; at += 32) call(8, 0);                                                                \
    switch ((n_classes - at) / 4) {                                                                                   \
    case 1: call(1, 0); break;                                                                                        \
    case 2: call(2, 0); break;                                                                                        \
    case 3: call(3, 0); break;                                                                                        \
    case 4: call(4, 0); break;                                                                                        \
    case 5: call(5, 0); break;                                                                                        \
    case 6: call(6, 0); break;                                                                                        \
    case 7: call(7, 0); break;                                                                                        \
    }                                                                                                                 \
    at = n_classes / 4 * 4;                                                                                           \
    switch (n_classes - at) {                                                                                         \
    case 1: call(0, 1); break;                                                                                        \
    case 2: call(0, 2); break;                                                                                        \
    case 3: call(0, 3); break;                                                                                        \
    }

TB_INLINE void add_tile(const Pointer *where, int n, int rows, double *out, int64_t n_classes) {
#define TB_CALL(vectors, tail) sum_tile<vectors, tail>(where, n, rows, at, out, n_classes)
    TB_ALL_CLASSES(TB_CALL)
#undef TB_CALL
}

TB_INLINE void add_bag(const Pointer *where, Pointer amounts, int n, double *out, int64_t n_classes) {
#define TB_CALL(vectors, tail) sum_rows<vectors, tail, true>(where, amounts, n, at, out)
    TB_ALL_CLASSES(TB_CALL)
#undef TB_CALL
}
#undef TB_ALL_CLASSES

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
    const Grid grid = steps.grids[j];
    const uint32_t *below = &steps.cells[grid.cells];
    Pointer edge = &steps.edges[grid.edges], first = steps.table + steps.offsets[j] * steps.n_classes;
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

TB_INLINE int size_of(int64_t from, int64_t last) {
    return static_cast<int>(last - from < 0 ? 0 : last - from < BATCH ? last - from : BATCH);
}

// Entries row_ends[r - 1] .. row_ends[r] - 1 belong to row r; `first` is where row 0 begins.
inline void bag_rows(const Bags &bags, Fill fill, int64_t first, const std::vector<int64_t> &row_ends, double *out) {
    if (row_ends.empty()) return;
    const int64_t last = row_ends.back();
    Batch batches[2];
    fill(bags, first, size_of(first, last), batches[0]);
    int64_t row = 0;
    for (int64_t from = first, k = 0; from < last; from += BATCH, ++k) {
        fill(bags, from + BATCH, size_of(from + BATCH, last), batches[(k + 1) % 2]);
        const Batch &batch = batches[k % 2];
        const int64_t end = from + size_of(from, last);
        for (int64_t i = from; i < end;) {
            while (row_ends[row] <= i) ++row;
            const int64_t next = std::min(end, row_ends[row]);
            add_bag(batch.where + (i - from), batch.amounts + (i - from), static_cast<int>(next - i),
                    out + row * bags.n_classes, bags.n_classes);
            i = next;
        }
    }
}

} // namespace
} // namespace tb::TB_ISA
#endif
