// sum_cell_pairs: sums of numbers over the rows of each pair of coarse cells.
#include "counting/cell_pairs.h"

namespace tb {
namespace {

nb::ndarray<nb::numpy, double> sum_cell_pairs(Matrix<int16_t> cells, Vector<int64_t> sizes, Matrix<double> values,
                                              int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const CellBlock block(cells, sizes, contract);
    contract.array("values", values, {ROWS, COLUMNS});
    block.check_cells(start, stop);
    const int64_t n_cells = block.n_cells, n_values = contract[COLUMNS];
    std::vector<double> table(size_t(n_cells * n_cells * n_values));
    {
        const double *value = values.data();
        nb::gil_scoped_release release;
        std::vector<int64_t> here(size_t(block.n_inputs)); // the numbers of the cells of a row
        for (int64_t row = start; row < stop; ++row) {
            const int64_t n = block.present(row, here.data());
            const double *own = value + row * n_values;
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = i + 1; j < n; ++j) {
                    double *line = table.data() + (here[i] * n_cells + here[j]) * n_values;
                    for (int64_t k = 0; k < n_values; ++k) line[k] += own[k];
                }
        }
    }
    return to_numpy(std::move(table), {size_t(n_cells), size_t(n_cells), size_t(n_values)});
}

} // namespace

void register_cell_pair_sums(nb::module_ &m) { define_kernel(m, "sum_cell_pairs", sum_cell_pairs); }

} // namespace tb
