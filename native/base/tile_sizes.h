// What kernels that go through rows in tiles share: the sizes of a tile and the places of bad values.
#pragma once
#include "base/layout.h"
#include "base/simd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

namespace tb {

using Pointer = const double *;
typedef double f64x2 __attribute__((vector_size(16)));

constexpr int TILE = 64;       // rows of a tile
constexpr int CHUNK = 64;      // columns of a tile at most: 32 KiB, what the first cache holds
constexpr int STEP = 16;       // rows that go through a loop together, four vectors to hide the latencies
constexpr int CLASS_BLOCK = 8; // classes whose totals are collected before they are added to `out`

// Only whole tiles are read in fours.
template <class T> Layout layout_of(const Column<T> *columns, int64_t n, int64_t rows) {
    return rows < TILE ? Layout() : Layout(columns, static_cast<int>(n));
}

// The smaller of two places, where -1 means none.
inline int64_t first_place(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : a < b ? a : b; }

} // namespace tb
