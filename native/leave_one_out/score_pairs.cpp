// add_pairs and add_step_pairs: log likelihoods looked up by a value and the class of the row itself.
//
// As in score_tables.cpp, a few rows become pointers to rows of the table, which are then added.
#ifndef TB_ISA
#include "scoring/grid.h"

namespace tb {
namespace {

constexpr int POINTER_ROWS = 64; // rows whose pointers are kept at a time

// The table: for every value a row for each class.
struct Pairs {
    Pointer table, zeros;
    uint64_t n_values;
    int64_t n_classes;
    const int32_t *codes;

    // Where the row of a value and a class is; null if there is no such class.
    TB_INLINE Pointer find(uint64_t value, int32_t code) const {
        if (value >= n_values) return zeros;
        if (code < 0 || code >= n_classes) [[unlikely]]
            return nullptr;
        return table + (static_cast<int64_t>(value) * n_classes + code) * n_classes;
    }
};

// The first row that meets a mark, and the first whose code is not a class; -1 if there is none.
struct Met {
    int64_t marked = -1, strange = -1;
};

} // namespace
} // namespace tb

#define TB_FILE "leave_one_out/score_pairs.cpp"
#include "base/isa.h"

namespace tb {
namespace {

// The table has a line for each value and class; a code is looked at where a value is met.
Contract pair_contract(const Array &column, const Vector<int32_t> &codes, const Matrix<double> &table,
                       const Out<double> &out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.array("column", column, {ROWS});
    contract.array("codes", codes, {ROWS});
    contract.array("out", out, {ROWS, CLASSES});
    contract.array("table", table, {LINES, CLASSES});
    if (contract[CLASSES] && contract[LINES] % contract[CLASSES])
        refuse("a table with a multiple of " + std::to_string(contract[CLASSES]) + " lines", contract[LINES]);
    return contract;
}

int64_t marked(const Met &met, int64_t n_classes, const int32_t *codes) {
    if (met.strange >= 0)
        refuse("a class code from 0 to below " + std::to_string(n_classes), codes[met.strange], met.strange);
    return met.marked;
}

int64_t add_pairs(Array column, int64_t origin, Vector<int32_t> codes, Matrix<double> table, Out<double> out,
                  int64_t start, int64_t stop) {
    const Contract contract = pair_contract(column, codes, table, out, start, stop);
    return dispatch<int8_t, int16_t, int32_t, int64_t, uint8_t>(column.dtype(), [&](auto zero) -> int64_t {
        using T = decltype(zero);
        const int64_t n_classes = contract[CLASSES];
        if (n_classes == 0) return -1;
        const std::vector<double> zeros(n_classes);
        const Pairs pairs{table.data(), zeros.data(), table.shape(0) / n_classes, n_classes, codes.data()};
        const Column<T> values{static_cast<const T *>(column.data()), column.stride(0)};
        Met met;
        double *to = out.data();
        {
            nb::gil_scoped_release release;
            met = TB_BEST(pair_rows<T>)(values, origin, pairs, to, start, stop);
        }
        return marked(met, n_classes, codes.data());
    });
}

int64_t add_step_pairs(Array column, Vector<double> edges, Vector<int32_t> codes, Matrix<double> table, Out<double> out,
                       int64_t start, int64_t stop) {
    Contract contract = pair_contract(column, codes, table, out, start, stop);
    contract.array("edges", edges, {int64_t(edges.shape(0))});
    return dispatch<double, float>(column.dtype(), [&](auto zero) -> int64_t {
        using T = decltype(zero);
        const int64_t n_classes = contract[CLASSES], n_edges = static_cast<int64_t>(edges.shape(0));
        if (n_classes == 0 || n_edges == 0) return -1;
        if (contract[LINES] / n_classes < n_edges)
            refuse("a table with at least " + std::to_string(n_edges * n_classes) + " lines", contract[LINES]);
        const std::vector<double> zeros(n_classes);
        const Pairs pairs{table.data(), zeros.data(), static_cast<uint64_t>(n_edges), n_classes, codes.data()};
        const Column<T> values{static_cast<const T *>(column.data()), column.stride(0)};
        Pointer inner = edges.data() + 1;
        Met met;
        double *to = out.data();
        {
            nb::gil_scoped_release release;
            Grids grids;
            if (stop - start >= UNGRIDDED_ROWS) grids.add_column(inner, n_edges - 1);
            met = TB_BEST(step_pair_rows<T>)(values, inner, grids, pairs, to, start, stop);
        }
        return marked(met, n_classes, codes.data());
    });
}

} // namespace

void register_pairs(nb::module_ &m) {
    define_kernel(m, "add_pairs", &add_pairs);
    define_kernel(m, "add_step_pairs", &add_step_pairs);
}

} // namespace tb

#else
#include "base/tile.h"

#include "scoring/sum_rows.h"

namespace tb::TB_ISA {
namespace {

// Adds what number(row) finds to every row; a number that is none of the table's values adds nothing.
template <class Number>
TB_INLINE Met add_found(Number number, const Pairs &pairs, double *out, int64_t start, int64_t stop) {
    Pointer where[POINTER_ROWS];
    Met met;
    for (int64_t row = start; row < stop; row += POINTER_ROWS) {
        const int rows = static_cast<int>(std::min<int64_t>(POINTER_ROWS, stop - row));
        bool strange = false;
        for (int r = 0; r < rows; ++r) {
            where[r] = pairs.find(number(row + r), pairs.codes[row + r]);
            strange |= !where[r] || std::isnan(*where[r]);
        }
        for (int r = 0; strange && r < rows; ++r) {
            if (!where[r]) return {met.marked, row + r};
            if (met.marked < 0 && std::isnan(*where[r])) met.marked = row + r;
        }
        add_tile(where, 1, rows, out + row * pairs.n_classes, pairs.n_classes);
    }
    return met;
}

template <class T>
Met pair_rows(Column<T> column, int64_t origin, const Pairs &pairs, double *out, int64_t start, int64_t stop) {
    const uint64_t first = static_cast<uint64_t>(origin);
    return add_found([=](int64_t row) { return static_cast<uint64_t>(static_cast<int64_t>(column[row])) - first; },
                     pairs, out, start, stop);
}

template <class T>
Met step_pair_rows(Column<T> column, Pointer inner, const Grids &grids, const Pairs &pairs, double *out, int64_t start,
                   int64_t stop) {
    constexpr uint64_t NO_STEP = ~uint64_t{0};
    if (grids.columns.empty()) {
        const Pointer end = inner + (pairs.n_values - 1);
        auto number = [=](int64_t row) {
            const double x = column[row];
            return std::isnan(x) ? NO_STEP : static_cast<uint64_t>(std::upper_bound(inner, end, x) - inner);
        };
        return add_found(number, pairs, out, start, stop);
    }
    const Grid grid = grids.columns[0];
    const uint32_t *below = grids.cells.data();
    Pointer edge = grids.edges.data();
    auto number = [=](int64_t row) {
        const double x = column[row];
        uint64_t step = below[cell_of(grid, x)];
        for (int shift = grid.depth - 1; shift >= 0; --shift)
            step += static_cast<uint64_t>(edge[step + (uint64_t{1} << shift) - 1] <= x) << shift;
        return std::isnan(x) ? NO_STEP : step;
    };
    return add_found(number, pairs, out, start, stop);
}

} // namespace
} // namespace tb::TB_ISA
#endif
