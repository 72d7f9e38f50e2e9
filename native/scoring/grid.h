// Which of the steps between ascending edges holds a real, by a grid of equal cells between the first and the last
// edge: the cell says how many edges lie below it, and a search of fixed depth settles those inside (a "cutpoint
// table", Chen & Asau 1974).
#pragma once
#include "base/tile_sizes.h"

namespace tb {
namespace {

constexpr int UNGRIDDED_ROWS = 32; // rows for which it does not pay to build grids

// Cells of a column's grid; monotone in x for any edges, which is all that the search needs to be exact.
struct Grid {
    double low, scale, top;
    int depth;           // steps of the search inside a cell
    size_t cells, edges; // where they begin
};

TB_INLINE int32_t cell_of(const Grid &grid, double x) {
    double place = (x - grid.low) * grid.scale;
    place = place > 0 ? place : 0; // NaN, which 0 * inf gives, goes to the first cell
    return static_cast<int32_t>(place < grid.top ? place : grid.top);
}

struct Grids {
    std::vector<Grid> columns;
    std::vector<uint32_t> cells; // edges below each cell
    std::vector<double> edges;   // of each column, then NaN, which nothing reaches

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
        columns.push_back(grid);
    }
};

} // namespace
} // namespace tb
