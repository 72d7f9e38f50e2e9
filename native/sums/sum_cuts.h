// Cuts: four columns at a time go through vector registers into sums that are exact.
//
// A number below 2**E in size is cut at a fixed place by adding and subtracting 3 * 2**E: the bits of the sum are then
// a whole number of units of 2**(E-51), and adding them up as integers is exact for some thousand rows. (Rump, Ogita,
// Oishi 2008 call the cut ExtractVector; cuts at fixed places are those of Demmel and Nguyen's reproducible sums.) Two
// cuts hold the 103 bits below 2**E.
// x*x is p + e with p the rounded product and e = fma(x, x, -p). What lies below the last cut is found by a second look.
// Read once per instruction set (isa.h), behind quads.h.
#include "base/quad_rows.h"

namespace tb::TB_ISA {
namespace {

constexpr int64_t LOWEST = -370;  // cuts end at 2**(2*LOWEST - 155), still a normal number
constexpr double TINY = 0x1p-480; // from here on p and e are exact; below, no cut sees anything of x or x*x
constexpr double HUGE_FROM = 0x1p500;
constexpr int64_t SUM_TILE_ROWS = ClassRuns::TILE_ROWS;
// A class is flushed if it has 1500 rows when looked at, which is every 1024 rows at the end of a tile; so it has at
// most 3036 rows, each of at most 1.25 * 2**51 units, and that fits into int64.
constexpr int64_t LOOK_EVERY = 1024, FLUSH_FROM = 1500;
constexpr int CUTS = 5;
// The unit of each cut is 2**(multiple * E + offset). p's lower part and e's upper part share the fourth.
constexpr int MULTIPLE[CUTS] = {1, 1, 2, 2, 2}, OFFSET[CUTS] = {-51, -103, -51, -103, -155},
              PARTS[CUTS] = {1, 1, 1, 2, 1};

// From 2**(E - ALL_CUT) on x and x*x end above the last cuts: p = x*x has 53 bits from 2**(2*E - 49) downwards at least,
// and e is a multiple of the square of the last bit of x.
constexpr int ALL_CUT = 24;

typedef uint64_t u64x4 __attribute__((vector_size(32)));

struct alignas(32) Totals { // the sums of four columns for one class since the last flush
    u64x4 cut[CUTS];        // modulo 2**64
    i64x4 absent;
    int64_t rows;
};

struct alignas(32) Scale { // per lane the E with |x| < 2**E, and the constants that cut there
    int64_t exponent[4];
    f64x4 magic[CUTS];

    void set(int lane, int64_t e) {
        exponent[lane] = e;
        for (int k = 0; k < CUTS; ++k) magic[k][lane] = std::ldexp(1.5, int(MULTIPLE[k] * e + OFFSET[k] + 52));
    }
};

struct alignas(32) QuadTile { // some rows of four columns, rows of one class together
    f64x4 x[SUM_TILE_ROWS];   // only filled if something has to be changed or looked at again
    int64_t start, size;      // of all rows; those left out included
    const int32_t *codes;
    ClassRuns runs;
    f64x4 peak, low; // the largest size and, but for a unit in the last place, the smallest above 0
    bool odd;        // whether there is a NaN, or a number so large that a sum of sizes overflows
};

// The sizes in a tile, those of rows left out included: room for them does no harm.
template <bool Adjacent, class T> TB_INLINE void look_at(const Quad<T> &quad, QuadTile &tile) {
    f64x4 peak = broadcast(0.0), low = broadcast(HUGE_FROM), sum = peak, other_sum = peak;
    const auto look = [&](int64_t row, f64x4 &total) __attribute__((always_inline)) {
        const f64x4 size = absolute(read_row<Adjacent>(quad, row));
        peak = larger(size, peak);
        low = smaller(as_reals<f64x4>(as_bits(size) - 1), low); // 0 becomes a NaN, which is not smaller
        total += size;
    };
    int64_t r = tile.start;
    const int64_t end = tile.start + tile.size;
    for (; r + 2 <= end; r += 2) look(r, sum), look(r + 1, other_sum); // two sums hide the latency
    if (r < end) look(r, sum);
    sum += other_sum;
    tile.peak = peak;
    tile.low = low;
    tile.odd = any(as_bits(sum - sum)); // 0 where finite, else NaN
}

template <bool Adjacent, class T> TB_INLINE void fill(const Quad<T> &quad, QuadTile &tile) {
    f64x4 peak = broadcast(0.0);
    for (int64_t r = 0; r < tile.runs.rows; ++r) {
        tile.x[r] = read_row<Adjacent>(quad, tile.start + tile.runs.row[r]);
        peak = larger(absolute(tile.x[r]), peak);
    }
    tile.peak = peak;
}

template <class T> void look_at(const Quad<T> &quad, QuadTile &tile) {
    quad.adjacent ? look_at<true>(quad, tile) : look_at<false>(quad, tile);
}
template <class T> void fill(const Quad<T> &quad, QuadTile &tile) {
    quad.adjacent ? fill<true>(quad, tile) : fill<false>(quad, tile);
}

// Puts 0.0 for every NaN and counts it as absent.
void blank_nan(QuadTile &tile, Totals *blocks) {
    for (int64_t k = 0, r = 0; k < tile.runs.count; ++k) {
        i64x4 absent = i64x4{};
        for (; r < tile.runs.run[k].end; ++r) {
            i64x4 there = tile.x[r] == tile.x[r];
            tile.x[r] = as_reals<f64x4>(as_bits(tile.x[r]) & there);
            absent += there + 1;
        }
        blocks[tile.runs.run[k].code].absent += absent;
    }
}

// The part of x above the cut, added as a whole number of units; returns the part below, exactly.
TB_INLINE f64x4 cut(f64x4 x, f64x4 magic, u64x4 &sum) {
    f64x4 shifted = x + magic;
    sum += reinterpret_cast<u64x4>(shifted);
    return x - (shifted - magic);
}
// The same, where nothing is below or nobody asks.
TB_INLINE void last_cut(f64x4 x, f64x4 magic, u64x4 &sum) { sum += reinterpret_cast<u64x4>(x + magic); }

struct alignas(32) Rest { // what no cut has taken
    f64x4 x, p, e;
};

template <int Order> TB_INLINE void add_vector(f64x4 x, const f64x4 *magic, u64x4 *sum) {
    last_cut(cut(x, magic[0], sum[0]), magic[1], sum[1]);
    if constexpr (Order == 2) {
        f64x4 p = x * x, e = fused(x, x, -p);
        last_cut(cut(p, magic[2], sum[2]), magic[3], sum[3]);
        last_cut(cut(e, magic[3], sum[3]), magic[4], sum[4]);
    }
}

template <int Order> TB_INLINE Rest rest_of(f64x4 x, const f64x4 *magic) {
    u64x4 sum[CUTS]; // not used
    Rest rest{};
    rest.x = cut(cut(x, magic[0], sum[0]), magic[1], sum[1]);
    if constexpr (Order == 2) {
        f64x4 p = x * x, e = fused(x, x, -p);
        rest.p = cut(cut(p, magic[2], sum[2]), magic[3], sum[3]);
        rest.e = cut(cut(e, magic[3], sum[3]), magic[4], sum[4]);
    }
    return rest;
}

// The rows of a tile as they were filled in, and as they lie in the columns.
struct Filled {
    const QuadTile &tile;
    TB_INLINE f64x4 operator[](int64_t r) const { return tile.x[r]; }
    TB_INLINE void prefetch(int64_t) const {}
};
template <bool Adjacent, class T> struct Unfilled {
    const Quad<T> quad; // a copy, which no sum that is stored can change: so it stays in registers
    const QuadTile &tile;
    TB_INLINE f64x4 operator[](int64_t r) const { return read_row<Adjacent>(quad, tile.start + tile.runs.row[r]); }
    TB_INLINE void prefetch(int64_t r) const { quad.prefetch(tile.start + tile.size + r); } // of the next tile
};

// Adds the rows of a tile but for what lies below the last cuts.
template <int Order, class Rows>
TB_INLINE void add_tile(Rows rows, const QuadTile &tile, const Scale &scale, Totals *blocks) {
    f64x4 magic[CUTS];
    for (int k = 0; k < CUTS; ++k) magic[k] = scale.magic[k];
    for (int64_t k = 0, r = 0; k < tile.runs.count; ++k) {
        const ClassRun run = tile.runs.run[k];
        Totals &block = blocks[run.code];
        u64x4 sum[CUTS];
        for (int i = 0; i < CUTS; ++i) sum[i] = block.cut[i];
        block.rows += run.end - r;
        for (; r < run.end; ++r) {
            rows.prefetch(r);
            add_vector<Order>(rows[r], magic, sum);
        }
        for (int i = 0; i < CUTS; ++i) block.cut[i] = sum[i];
    }
}

template <class T>
void add_tile(int64_t order, const Quad<T> &quad, const QuadTile &tile, const Scale &scale, Totals *blocks) {
    const auto add = [&](auto rows) __attribute__((always_inline)) {
        order == 2 ? add_tile<2>(rows, tile, scale, blocks) : add_tile<1>(rows, tile, scale, blocks);
    };
    quad.adjacent ? add(Unfilled<true, T>{quad, tile}) : add(Unfilled<false, T>{quad, tile});
}
void add_tile(int64_t order, const QuadTile &tile, const Scale &scale, Totals *blocks) {
    order == 2 ? add_tile<2>(Filled{tile}, tile, scale, blocks) : add_tile<1>(Filled{tile}, tile, scale, blocks);
}

struct Left {
    Rest rest;
    int64_t place; // in the tile
};

// Up to 64 places, from `place` on, of which something is left.
template <int Order> TB_INLINE int find_left(const QuadTile &tile, const Scale &scale, int64_t &place, Left *found) {
    int n = 0;
    for (; place < tile.runs.rows && n < 64; ++place) {
        Rest rest = rest_of<Order>(tile.x[place], scale.magic);
        const i64x4 bits = as_bits(rest.x) | as_bits(rest.p) | as_bits(rest.e);
        if (any(bits << 1)) found[n++] = {rest, place}; // -0.0 has only its sign
    }
    return n;
}

int find_left(int64_t order, const QuadTile &tile, const Scale &scale, int64_t &place, Left *found) {
    return order == 2 ? find_left<2>(tile, scale, place, found) : find_left<1>(tile, scale, place, found);
}

} // namespace
} // namespace tb::TB_ISA
