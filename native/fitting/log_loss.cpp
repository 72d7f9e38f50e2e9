// log_loss: the log loss of a weighted sum of evidence and its gradient, for fitting column weights, slopes and tables.
//
// Rows are taken in tiles that stay in the cache: the sum over the columns, the probabilities of the classes, then the
// gradient. Sums over rows have four lanes whatever the instruction set, so that all give the same bits.
#ifndef TB_ISA
#include "base/tile_sizes.h"

namespace tb {
namespace {

// What is added up for a class: weights times evidence, slopes times values, and a line of a table for each cell.
struct LossTerms {
    const double *evidence, *weights, *values, *slopes;
    const int32_t *cells;
    const double *tables;
    int64_t n_classes, n_columns, n_values, n_tables, n_cells, n_rows;
};

struct Gradient {
    std::vector<double> weights, slopes, tables, scores;
};

} // namespace
} // namespace tb

#define TB_FILE "fitting/log_loss.cpp"
#include "base/isa.h"

namespace tb {
namespace {

template <class T> using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

nb::tuple log_loss(Cube<double> evidence, Matrix<double> weights, Matrix<double> values, Matrix<double> slopes,
                   Matrix<int32_t> cells, Matrix<double> tables, Matrix<double> base, Vector<int32_t> codes,
                   Vector<double> row_weights) {
    Contract contract;
    contract.array("evidence", evidence, {CLASSES, COLUMNS, ROWS});
    contract.array("weights", weights, {CLASSES, COLUMNS});
    contract.array("values", values, {LINES, ROWS});
    contract.array("slopes", slopes, {CLASSES, LINES});
    contract.array("cells", cells, {ENTRIES, ROWS});
    contract.array("tables", tables, {CLASSES, TOKENS});
    contract.array("base", base, {CLASSES, ROWS});
    contract.array("codes", codes, {ROWS});
    contract.array("row_weights", row_weights, {ROWS});
    contract.codes(codes.data(), false);
    Contract::below("cells", cells.data(), contract[ENTRIES] * contract[ROWS], contract[TOKENS]);
    const LossTerms terms{evidence.data(), weights.data(),    values.data(),     slopes.data(),
                          cells.data(),    tables.data(),     contract[CLASSES], contract[COLUMNS],
                          contract[LINES], contract[ENTRIES], contract[TOKENS],  contract[ROWS]};
    const size_t classes = size_t(terms.n_classes), rows = size_t(terms.n_rows);
    Gradient by{std::vector<double>(classes * size_t(terms.n_columns)),
                std::vector<double>(classes * size_t(terms.n_values)),
                std::vector<double>(classes * size_t(terms.n_cells)), std::vector<double>(classes * rows)};
    double loss = 0;
    {
        nb::gil_scoped_release release;
        loss = TB_BEST(add_tiles)(terms, base.data(), codes.data(), row_weights.data(), by);
    }
    return nb::make_tuple(loss, to_numpy(std::move(by.weights), {classes, size_t(terms.n_columns)}),
                          to_numpy(std::move(by.slopes), {classes, size_t(terms.n_values)}),
                          to_numpy(std::move(by.tables), {classes, size_t(terms.n_cells)}),
                          to_numpy(std::move(by.scores), {classes, rows}));
}

} // namespace

void register_log_loss(nb::module_ &m) { define_kernel(m, "log_loss", &log_loss); }

} // namespace tb

#else
#include "base/tile.h"
#include "base/logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr int64_t LOSS_TILE = 128; // rows whose scores stay in the first cache

constexpr int64_t COLUMNS_AT_ONCE = 4; // so that sums and errors are read once for all of them

// The weighted sum of a class over its columns, on top of what is in `sum`; column after column.
TB_INLINE void add_weighted(const double *evidence, const double *weights, int64_t n_columns, int64_t n_rows, int64_t n,
                            double *sum) {
    int64_t j = 0;
    for (; j + COLUMNS_AT_ONCE <= n_columns; j += COLUMNS_AT_ONCE) {
        const double *e = evidence + j * n_rows, *w = weights + j;
        for (int64_t i = 0; i < n; ++i)
            sum[i] =
                (((sum[i] + w[0] * e[i]) + w[1] * e[n_rows + i]) + w[2] * e[2 * n_rows + i]) + w[3] * e[3 * n_rows + i];
    }
    for (; j < n_columns; ++j) {
        const double weight = weights[j], *own = evidence + j * n_rows;
        for (int64_t i = 0; i < n; ++i) sum[i] += weight * own[i];
    }
}

// Adds the products of the errors of a class with K columns: the same sums whatever K is.
template <int64_t K>
TB_INLINE void add_products(const double *error, const double *evidence, int64_t n_rows, int64_t n, double *sums) {
    f64x4 lanes[K]{}, more[K]{};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const f64x4 first = load(error + i), second = load(error + i + 4);
        for (int64_t k = 0; k < K; ++k) {
            const double *own = evidence + k * n_rows + i;
            lanes[k] += first * load(own), more[k] += second * load(own + 4);
        }
    }
    for (int64_t k = 0; k < K; ++k) {
        const f64x4 both = lanes[k] + more[k];
        double sum = (both[0] + both[1]) + (both[2] + both[3]);
        for (int64_t at = i; at < n; ++at) sum += error[at] * evidence[k * n_rows + at];
        sums[k] += sum;
    }
}

TB_INLINE void add_all_products(const double *error, const double *evidence, int64_t n_columns, int64_t n_rows,
                                int64_t n, double *sums) {
    int64_t j = 0;
    for (; j + COLUMNS_AT_ONCE <= n_columns; j += COLUMNS_AT_ONCE)
        add_products<COLUMNS_AT_ONCE>(error, evidence + j * n_rows, n_rows, n, sums + j);
    for (; j < n_columns; ++j) add_products<1>(error, evidence + j * n_rows, n_rows, n, sums + j);
}

inline double add_tiles(const LossTerms &t, const double *base, const int32_t *codes, const double *row_weights,
                        Gradient &by) {
    const int64_t n_classes = t.n_classes, n_columns = t.n_columns, n_rows = t.n_rows;
    double *errors = by.scores.data();
    std::vector<double> scores(size_t(n_classes * LOSS_TILE));
    alignas(64) double top[LOSS_TILE], whole[LOSS_TILE], own[LOSS_TILE];
    double loss = 0;
    for (int64_t row = 0; row < n_rows; row += LOSS_TILE) {
        const int64_t n = std::min(LOSS_TILE, n_rows - row);
        std::fill(top, top + LOSS_TILE, -std::numeric_limits<double>::infinity());
        std::fill(whole, whole + LOSS_TILE, 0.0);
        for (int64_t c = 0; c < n_classes; ++c) {
            double *score = scores.data() + c * LOSS_TILE;
            std::copy_n(base + c * n_rows + row, n, score);
            std::fill(score + n, score + LOSS_TILE, 0.0);
            add_weighted(t.evidence + c * n_columns * n_rows + row, t.weights + c * n_columns, n_columns, n_rows, n,
                         score);
            add_weighted(t.values + row, t.slopes + c * t.n_values, t.n_values, n_rows, n, score);
            for (int64_t j = 0; j < t.n_tables; ++j) {
                const int32_t *cell = t.cells + j * n_rows + row;
                for (int64_t i = 0; i < n; ++i) score[i] += t.tables[c * t.n_cells + cell[i]];
            }
            for (int64_t i = 0; i < LOSS_TILE; ++i) top[i] = std::max(top[i], score[i]);
        }
        for (int64_t i = 0; i < n; ++i) own[i] = scores[codes[row + i] * LOSS_TILE + i] - top[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            double *score = scores.data() + c * LOSS_TILE;
            for (int64_t i = 0; i < LOSS_TILE; i += 4) {
                const f64x4 p = exp4(load(score + i) - load(top + i));
                store(score + i, p);
                store(whole + i, load(whole + i) + p);
            }
        }
        for (int64_t i = 0; i < LOSS_TILE; i += 4) store(top + i, log4(load(whole + i)));
        for (int64_t i = 0; i < n; ++i) loss += row_weights[row + i] * (top[i] - own[i]);
        for (int64_t i = 0; i < n; ++i) whole[i] = row_weights[row + i] / whole[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            double *error = errors + c * n_rows + row;
            const double *score = scores.data() + c * LOSS_TILE;
            for (int64_t i = 0; i < n; ++i) error[i] = score[i] * whole[i];
        }
        for (int64_t i = 0; i < n; ++i) errors[codes[row + i] * n_rows + row + i] -= row_weights[row + i];
        for (int64_t c = 0; c < n_classes; ++c) {
            const double *error = errors + c * n_rows + row;
            add_all_products(error, t.evidence + c * n_columns * n_rows + row, n_columns, n_rows, n,
                             by.weights.data() + c * n_columns);
            add_all_products(error, t.values + row, t.n_values, n_rows, n, by.slopes.data() + c * t.n_values);
            double *of_cells = by.tables.data() + c * t.n_cells;
            for (int64_t j = 0; j < t.n_tables; ++j) {
                const int32_t *cell = t.cells + j * n_rows + row;
                for (int64_t i = 0; i < n; ++i) of_cells[cell[i]] += error[i];
            }
        }
    }
    return loss;
}

} // namespace
} // namespace tb::TB_ISA
#endif
