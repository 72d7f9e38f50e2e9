// Four columns at a time: one vector of four values per row, whatever the layout.
#pragma once
#include <algorithm>
#include <type_traits>

#include "base/layout.h"
#include "base/simd.h"

namespace tb {

// Vectors that lie in memory belong into a struct with alignas(32): without AVX the compiler aligns them to 16 only,
// and the clone for x86-64-v3 expects 32.
TB_INLINE f64x4 absolute(f64x4 x) { return as_doubles(as_bits(x) & INT64_MAX); }
TB_INLINE f64x4 larger(f64x4 a, f64x4 b) { return a > b ? a : b; } // b where a is NaN
TB_INLINE f64x4 smaller(f64x4 a, f64x4 b) { return a < b ? a : b; } // b where a is NaN
TB_INLINE bool any_set(i64x4 x) { return (x[0] | x[1] | x[2] | x[3]) != 0; }
// a * b + c rounded once, by one instruction where there is one.
TB_INLINE f64x4 fused(f64x4 a, f64x4 b, f64x4 c) {
    return f64x4{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1]), __builtin_fma(a[2], b[2], c[2]),
                 __builtin_fma(a[3], b[3], c[3])};
}

// Four neighbouring columns, read as one vector per row. The last four are filled up with columns of zeros.
template <class T> struct Quad {
    using Lanes = std::conditional_t<std::is_floating_point_v<T>, f64x4, i64x4>;
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

    template <bool Adjacent> TB_INLINE Lanes read(int64_t row) const {
        if constexpr (Adjacent) {
            typedef T Raw __attribute__((vector_size(4 * sizeof(T))));
            Raw raw;
            __builtin_memcpy(&raw, data[0] + row * stride[0], sizeof raw);
            return __builtin_convertvector(raw, Lanes);
        } else {
            using E = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
            return Lanes{E(data[0][row * stride[0]]), E(data[1][row * stride[1]]), E(data[2][row * stride[2]]),
                         E(data[3][row * stride[3]])};
        }
    }
};

struct Run {
    int64_t code, end;
};

// The rows of a tile that count, those of a class one after the other so that its sums can stay in registers. With
// many classes they stay in the order they come in: bringing them together would cost more than it saves.
struct Runs {
    static constexpr int64_t MOST = 512, MANY = 32, FEW = 6;
    int64_t rows, count;
    int32_t row[MOST + 1]; // the last one is written, but never used
    Run run[MOST]; // run k has the rows from where the last one ended to its end

    void set(const int32_t *codes, int64_t size, int64_t n_classes) {
        rows = count = 0;
        if (n_classes <= MANY) {
            if (n_classes <= FEW) { // a pass for each: no table, whose cells would have to be written before they are read
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
            int32_t next[MANY + 1] = {}; // next[c] is where the next row of class c goes
            for (int64_t r = 0; r < size; ++r) ++next[codes[r] < 0 ? MANY : codes[r]];
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
    return std::clamp<int64_t>(32768 / int64_t(std::max<size_t>(n_columns * item_size, 1)), 64, Runs::MOST);
}

} // namespace tb
