// The coarse cells of rows: (rows, inputs), -1 where an input is missing. The cells of the inputs are numbered one
// behind the other.
#pragma once
#include "base/columns.h"

namespace tb {

struct CellBlock {
    static constexpr int64_t MOST_CELLS = 65536; // their square is the number of lines of a table

    const int16_t *cells;
    const int64_t *sizes;
    int64_t n_inputs, n_cells;
    std::vector<int64_t> offsets; // the number of the first cell of each input

    CellBlock(const Matrix<int16_t> &matrix, const Vector<int64_t> &sizes_of_inputs, Contract &contract)
        : cells(matrix.data()), sizes(sizes_of_inputs.data()), n_inputs(int64_t(matrix.shape(1))), n_cells(0) {
        contract.array("cells", matrix, {ROWS, n_inputs});
        contract.array("sizes", sizes_of_inputs, {n_inputs});
        for (int64_t i = 0; i < n_inputs; ++i) {
            if (sizes[i] < 0) refuse("sizes from 0 on", sizes[i]);
            if (sizes[i] > MOST_CELLS || n_cells + sizes[i] > MOST_CELLS)
                refuse("sizes that add up to at most 65536", sizes[i]);
            offsets.push_back(n_cells);
            n_cells += sizes[i];
        }
    }

    void check_cells(int64_t start, int64_t stop) const {
        for (int64_t row = start; row < stop; ++row)
            for (int64_t i = 0; i < n_inputs; ++i) {
                const int64_t cell = cells[row * n_inputs + i];
                if (cell >= sizes[i]) [[unlikely]]
                    refuse("a cell below " + std::to_string(sizes[i]), cell, row);
            }
    }

    // Writes the numbers of the cells of a row that are not missing, in order; returns how many there are.
    int64_t present(int64_t row, int64_t *here) const {
        const int16_t *own = cells + row * n_inputs;
        int64_t n = 0;
        for (int64_t i = 0; i < n_inputs; ++i) {
            here[n] = offsets[size_t(i)] + own[i];
            n += own[i] >= 0;
        }
        return n;
    }
};

} // namespace tb
