// Four columns at a time. How their rows are read as vectors: quad_rows.h.
#pragma once
#include <algorithm>
#include <type_traits>

#include "base/layout.h"
#include "base/simd.h"

namespace tb {

// Four neighbouring columns, read as one vector per row. The last four are filled up with columns of zeros.
template <class T> struct Quad {
    using Values = std::conditional_t<std::is_floating_point_v<T>, f64x4, i64x4>;
    const T *data[4];
    int64_t stride[4];
    bool adjacent; // as in a C-ordered matrix: the four values of a row lie side by side

    static Quad at(const std::vector<Column<T>> &columns, size_t first) {
        static const T zero{};
        Quad quad;
        for (size_t lane = 0; lane < 4; ++lane) {
            bool there = first + lane < columns.size();
            quad.data[lane] = there ? columns[first + lane].data : &zero;
            quad.stride[lane] = there ? columns[first + lane].stride : 0;
        }
        quad.adjacent = first + 4 <= columns.size();
        for (int lane = 1; lane < 4; ++lane)
            quad.adjacent &= quad.data[lane] == quad.data[0] + lane && quad.stride[lane] == quad.stride[0];
        return quad;
    }

    // Asks for a row that will be read soon. Columns that lie apart are streams which the processor sees by itself.
    TB_INLINE void prefetch(int64_t row) const { __builtin_prefetch(data[0] + row * stride[0] * adjacent); }
};

struct ClassRun { // rows of one class
    int64_t code, end;
};

// The rows of a tile that count, those of a class one after the other so that its sums can stay in registers. With
// many classes they stay in the order they come in: bringing them together would cost more than it saves.
struct ClassRuns {
    static constexpr int64_t TILE_ROWS = 512;                        // at most
    static constexpr int64_t GROUPED_CLASSES = 32, PASS_CLASSES = 6; // at most, to be brought together; by a pass each
    int64_t rows, count;
    int32_t row[TILE_ROWS + 1]; // the last one is written, but never used
    ClassRun run[TILE_ROWS];    // run k has the rows from where the last one ended to its end

    void set(const int32_t *codes, int64_t size, int64_t n_classes) {
        rows = count = 0;
        if (n_classes <= GROUPED_CLASSES) {
            if (n_classes <= PASS_CLASSES) { // a pass for each: no table, which would have to be cleared first
                for (int64_t c = 0; c < n_classes; ++c) {
                    const int64_t before = rows;
                    for (int64_t r = 0; r < size; ++r) {
                        row[rows] = int32_t(r);
                        rows += codes[r] == c;
                    }
                    if (rows > before) run[count++] = {c, rows};
                }
                return;
            }
            int32_t next[GROUPED_CLASSES + 1] = {}; // next[c] is where the next row of class c goes
            for (int64_t r = 0; r < size; ++r) ++next[codes[r] < 0 ? GROUPED_CLASSES : codes[r]];
            for (int64_t c = 0; c < n_classes; ++c) {
                int32_t here = next[c];
                next[c] = rows;
                rows += here;
                if (here) run[count++] = {c, rows};
            }
            for (int64_t r = 0; r < size; ++r)
                if (codes[r] >= 0) row[next[codes[r]]++] = r;
            return;
        }
        for (int64_t r = 0; r < size; ++r) {
            if (codes[r] < 0) continue;
            row[rows++] = r;
            if (count == 0 || run[count - 1].code != codes[r]) run[count++] = {codes[r], 0};
            run[count - 1].end = rows;
        }
    }
};

// How many rows to take at a time so that a stretch of all columns stays in the nearer caches.
inline int64_t tile_rows(size_t n_columns, size_t item_size) {
    return std::clamp<int64_t>(32768 / int64_t(std::max<size_t>(n_columns * item_size, 1)), 64, ClassRuns::TILE_ROWS);
}

} // namespace tb
