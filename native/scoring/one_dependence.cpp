// add_one_dependence: averaged one-dependence estimators over coarse cells.
//
// For every parent of a row, the lines of the table that belong to its cell are added up, class by class; these are
// neighbours in memory. The sums of the parents are then averaged in logarithms.
#include "counting/cell_pairs.h"

#include <cmath>

namespace tb {
namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double NEVER = -std::numeric_limits<double>::infinity();

struct PairTables {
    const double *single, *pair;
    const bool *is_parent;
    int64_t n_cells, n_classes;
};

// `here`: the numbers of the cells of a row; `terms`: room for a line of classes for each of them.
void add_row(const PairTables &tables, const int64_t *here, int64_t n, double *terms, double *out) {
    const int64_t n_classes = tables.n_classes;
    int64_t n_parents = 0;
    for (int64_t j = 0; j < n; ++j) {
        if (!tables.is_parent[here[j]]) continue;
        double *term = terms + n_classes * n_parents++;
        const double *own = tables.single + here[j] * n_classes;
        std::copy(own, own + n_classes, term);
        const double *lines = tables.pair + here[j] * tables.n_cells * n_classes;
        for (int64_t k = 0; k < n; ++k) {
            if (k == j) continue;
            const double *line = lines + here[k] * n_classes;
            for (int64_t c = 0; c < n_classes; ++c) term[c] += line[c];
        }
    }
    if (!n_parents) { // naive Bayes
        std::fill(terms, terms + n_classes, 0.0);
        for (int64_t j = 0; j < n; ++j)
            for (int64_t c = 0; c < n_classes; ++c) terms[c] += tables.single[here[j] * n_classes + c];
        for (int64_t c = 0; c < n_classes; ++c) out[c] += terms[c];
        return;
    }
    const double log_parents = std::log(double(n_parents));
    for (int64_t c = 0; c < n_classes; ++c) {
        double top = NEVER, total = 0;
        for (int64_t j = 0; j < n_parents; ++j) top = std::max(top, terms[j * n_classes + c]);
        if (top == NEVER) {
            out[c] += NEVER;
            continue;
        }
        for (int64_t j = 0; j < n_parents; ++j) total += std::exp(terms[j * n_classes + c] - top);
        out[c] += top + std::log(total) - log_parents;
    }
}

void add_one_dependence(Matrix<int16_t> cells, Vector<int64_t> sizes, Matrix<double> single, Cube<double> pair,
                        Flags is_parent, Out<double> out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.array("out", out, {ROWS, CLASSES});
    const CellBlock block(cells, sizes, contract);
    contract.array("single", single, {LINES, CLASSES});
    contract.array("pair", pair, {LINES, LINES, CLASSES});
    contract.array("is_parent", is_parent, {LINES});
    if (block.n_cells != contract[LINES])
        refuse(std::to_string(block.n_cells) + " cells in the tables", contract[LINES]);
    block.check_cells(start, stop);
    const PairTables tables{single.data(), pair.data(), is_parent.data(), block.n_cells, contract[CLASSES]};
    double *to = out.data();
    nb::gil_scoped_release release;
    std::vector<int64_t> here(size_t(block.n_inputs));
    std::vector<double> terms(size_t(std::max<int64_t>(block.n_inputs, 1) * tables.n_classes));
    for (int64_t row = start; row < stop; ++row)
        add_row(tables, here.data(), block.present(row, here.data()), terms.data(), to + row * tables.n_classes);
}

} // namespace

void register_one_dependence(nb::module_ &m) { define_kernel(m, "add_one_dependence", add_one_dependence); }

} // namespace tb
