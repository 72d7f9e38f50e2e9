// Pairs of coarse cells: counting them per class. (Scores: one_dependence.cpp.)
#include "counting/cell_pairs.h"

namespace tb {
namespace {

nb::ndarray<nb::numpy, int64_t> count_cell_pairs(Matrix<int16_t> cells, Vector<int64_t> sizes, Vector<int32_t> codes,
                                                 int64_t n_classes, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.size("n_classes", n_classes, CLASSES);
    const CellBlock block(cells, sizes, contract);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    block.check_cells(start, stop);
    const int64_t n_cells = block.n_cells;
    std::vector<int64_t> table(size_t((n_cells * n_cells + 1) * n_classes));
    {
        const int32_t *code = codes.data();
        nb::gil_scoped_release release;
        std::vector<int64_t> here(size_t(block.n_inputs)); // the numbers of the cells of a row
        for (int64_t row = start; row < stop; ++row) {
            if (code[row] < 0) continue;
            const int64_t n = block.present(row, here.data());
            int64_t *of_class = table.data() + code[row];
            for (int64_t i = 0; i < n; ++i) {
                int64_t *line = of_class + here[i] * n_cells * n_classes;
                for (int64_t j = i; j < n; ++j) ++line[here[j] * n_classes];
            }
            if (n) ++of_class[n_cells * n_cells * n_classes];
        }
    }
    return to_numpy(std::move(table), {size_t(n_cells * n_cells + 1), size_t(n_classes)});
}

} // namespace

void register_cell_pairs(nb::module_ &m) { define_kernel(m, "count_cell_pairs", count_cell_pairs); }

} // namespace tb
