// Exact sums of w, w*x and w*x*x per column and class. (What they say about mean and variance: moments.cpp.)
//
// Without weights, four columns at a time go through vector registers. A number below 2**E in size is cut at a fixed
// place by adding and subtracting 3 * 2**E: the bits of the sum are then a whole number of units of 2**(E-51), and
// adding them up as integers is exact for some thousand rows. (Rump, Ogita, Oishi 2008 call the cut ExtractVector; cuts
// at fixed places are those of Demmel and Nguyen's reproducible sums.) Two cuts hold the 103 bits below 2**E.
// x*x is p + e with p the rounded product and e = fma(x, x, -p). What is left below the last cut, numbers beyond the
// range where p and e are exact, and everything weighted goes into the digits of exact.h by integer arithmetic.
#include "exact.h"
#include "quads.h"

#include <cmath>

namespace tb {

void register_moments(nb::module_ &m);

namespace {

constexpr int64_t LOWEST = -370; // cuts end at 2**(2*LOWEST - 155), still a normal number
constexpr double TINY = 0x1p-480; // from here on p and e are exact; below, no cut sees anything of x or x*x
constexpr double HUGE_FROM = 0x1p500;
constexpr int64_t TILE = Runs::MOST;
// A class is flushed if it has 1500 rows when looked at, which is every 1024 rows at the end of a tile; so it has at
// most 3036 rows, each of at most 1.25 * 2**51 units, and that fits into int64.
constexpr int64_t LOOK_EVERY = 1024, FLUSH_FROM = 1500;
constexpr int CUTS = 5;
// The unit of each cut is 2**(multiple * E + offset). p's lower part and e's upper part share the fourth.
constexpr int MULTIPLE[CUTS] = {1, 1, 2, 2, 2}, OFFSET[CUTS] = {-51, -103, -51, -103, -155}, PARTS[CUTS] = {1, 1, 1, 2, 1};

// From 2**(E - ALL_CUT) on x and x*x end above the last cuts: p = x*x has 53 bits from 2**(2*E - 49) downwards at least,
// and e is a multiple of the square of the last bit of x.
constexpr int ALL_CUT = 24;

typedef uint64_t u64x4 __attribute__((vector_size(32)));

struct alignas(32) Totals { // the sums of four columns for one class since the last flush
    u64x4 cut[CUTS]; // modulo 2**64
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

struct alignas(32) Tile { // some rows of four columns, rows of one class together
    f64x4 x[TILE]; // only filled if something has to be changed or looked at again
    int64_t start, size; // of all rows; those left out included
    const int32_t *codes;
    Runs runs;
    f64x4 peak, low; // the largest size and, but for a unit in the last place, the smallest above 0
    bool odd;        // whether there is a NaN, or a number so large that a sum of sizes overflows
};

// The sizes in a tile, those of rows left out included: room for them does no harm.
template <bool Adjacent, class T> TB_INLINE void look_at(const Quad<T> &quad, Tile &tile) {
    f64x4 peak = broadcast(0.0), low = broadcast(HUGE_FROM), sum = peak, other_sum = peak;
    const auto look = [&](int64_t row, f64x4 &total) __attribute__((always_inline)) {
        const f64x4 size = absolute(quad.template read<Adjacent>(row));
        peak = larger(size, peak);
        low = smaller(as_doubles(as_bits(size) - 1), low); // 0 becomes a NaN, which is not smaller
        total += size;
    };
    int64_t r = tile.start;
    const int64_t end = tile.start + tile.size;
    for (; r + 2 <= end; r += 2) look(r, sum), look(r + 1, other_sum); // two sums hide the latency
    if (r < end) look(r, sum);
    sum += other_sum;
    tile.peak = peak;
    tile.low = low;
    tile.odd = any_set(as_bits(sum - sum)); // 0 where finite, else NaN
}

template <bool Adjacent, class T> TB_INLINE void fill(const Quad<T> &quad, Tile &tile) {
    f64x4 peak = broadcast(0.0);
    for (int64_t r = 0; r < tile.runs.rows; ++r) {
        tile.x[r] = quad.template read<Adjacent>(tile.start + tile.runs.row[r]);
        peak = larger(absolute(tile.x[r]), peak);
    }
    tile.peak = peak;
}

#define TB_READ(T)                                                                                                     \
    TB_CLONES void look_at(const Quad<T> &quad, Tile &tile) {                                                          \
        quad.adjacent ? look_at<true>(quad, tile) : look_at<false>(quad, tile);                                        \
    }                                                                                                                  \
    TB_CLONES void fill(const Quad<T> &quad, Tile &tile) {                                                             \
        quad.adjacent ? fill<true>(quad, tile) : fill<false>(quad, tile);                                              \
    }
TB_READ(double)
TB_READ(float)
#undef TB_READ

// Puts 0.0 for every NaN and counts it as absent.
TB_CLONES void blank_nan(Tile &tile, Totals *blocks) {
    for (int64_t k = 0, r = 0; k < tile.runs.count; ++k) {
        i64x4 absent = i64x4{};
        for (; r < tile.runs.run[k].end; ++r) {
            i64x4 there = tile.x[r] == tile.x[r];
            tile.x[r] = as_doubles(as_bits(tile.x[r]) & there);
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
    const Tile &tile;
    TB_INLINE f64x4 operator[](int64_t r) const { return tile.x[r]; }
    TB_INLINE void prefetch(int64_t) const {}
};
template <bool Adjacent, class T> struct Unfilled {
    const Quad<T> &quad;
    const Tile &tile;
    TB_INLINE f64x4 operator[](int64_t r) const { return quad.template read<Adjacent>(tile.start + tile.runs.row[r]); }
    TB_INLINE void prefetch(int64_t r) const { quad.prefetch(tile.start + tile.size + r); } // of the next tile
};

// Adds the rows of a tile but for what lies below the last cuts.
template <int Order, class Rows>
TB_INLINE void add_tile(Rows rows, const Tile &tile, const Scale &scale, Totals *blocks) {
    f64x4 magic[CUTS];
    for (int k = 0; k < CUTS; ++k) magic[k] = scale.magic[k];
    for (int64_t k = 0, r = 0; k < tile.runs.count; ++k) {
        const Run run = tile.runs.run[k];
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

template <int Order, class T>
TB_INLINE void add_unfilled(const Quad<T> &quad, const Tile &tile, const Scale &scale, Totals *blocks) {
    quad.adjacent ? add_tile<Order>(Unfilled<true, T>{quad, tile}, tile, scale, blocks)
                  : add_tile<Order>(Unfilled<false, T>{quad, tile}, tile, scale, blocks);
}

#define TB_ADD(ORDER)                                                                                                  \
    TB_CLONES void add_tile_##ORDER(const Tile &tile, const Scale &scale, Totals *blocks) {                            \
        add_tile<ORDER>(Filled{tile}, tile, scale, blocks);                                                     \
    }                                                                                                                  \
    TB_CLONES void add_tile_##ORDER(const Quad<double> &quad, const Tile &tile, const Scale &scale, Totals *blocks) {  \
        add_unfilled<ORDER>(quad, tile, scale, blocks);                                                         \
    }                                                                                                                  \
    TB_CLONES void add_tile_##ORDER(const Quad<float> &quad, const Tile &tile, const Scale &scale, Totals *blocks) {   \
        add_unfilled<ORDER>(quad, tile, scale, blocks);                                                         \
    }
TB_ADD(1)
TB_ADD(2)
#undef TB_ADD

struct Left {
    Rest rest;
    int64_t place; // in the tile
};

// Up to 64 places, from `place` on, of which something is left.
template <int Order> TB_INLINE int find_left(const Tile &tile, const Scale &scale, int64_t &place, Left *found) {
    int n = 0;
    for (; place < tile.runs.rows && n < 64; ++place) {
        Rest rest = rest_of<Order>(tile.x[place], scale.magic);
        const i64x4 bits = as_bits(rest.x) | as_bits(rest.p) | as_bits(rest.e);
        if (any_set(bits << 1)) found[n++] = {rest, place}; // -0.0 has only its sign
    }
    return n;
}

TB_CLONES int find_left_1(const Tile &tile, const Scale &scale, int64_t &place, Left *found) {
    return find_left<1>(tile, scale, place, found);
}
TB_CLONES int find_left_2(const Tile &tile, const Scale &scale, int64_t &place, Left *found) {
    return find_left<2>(tile, scale, place, found);
}

struct Sums {
    int64_t n_columns, n_classes, order;
    std::vector<int> number;    // of the columns as they are given, in the order they are added in
    std::vector<int64_t> count; // without weights
    Store n, x, xx;             // n with weights
    int64_t bad = -1;

    Sums(int64_t columns, int64_t classes, int64_t order)
        : n_columns(columns), n_classes(classes), order(order), count(columns * classes), n(columns * classes),
          x(columns * classes), xx(order == 2 ? columns * classes : 0) {}

    int64_t cell(int64_t column, int64_t code) const { return number[column] * n_classes + code; }
    void add_whole(int64_t cell, double value) {
        Number v = number_of(value);
        x.add(cell, v);
        if (order == 2) xx.add_product(cell, v, v);
    }
    void found_bad(int64_t row, int64_t column) {
        int64_t place = row * n_columns + number[column];
        if (bad < 0 || place < bad) bad = place;
    }
};

// Four columns on their way into the sums.
template <class T> class QuadSums {
  public:
    QuadSums(const std::vector<Column<T>> &columns, size_t first, Sums &sums)
        : quad_(Quad<T>::at(columns, first)), first_(first), lanes_(std::min<size_t>(4, columns.size() - first)),
          sums_(sums), blocks_(sums.n_classes, Totals{}) {
        for (int lane = 0; lane < 4; ++lane) scale_.set(lane, LOWEST);
    }

    void add(Tile &tile) {
        look_at(quad_, tile);
        const bool odd = tile.odd || any_set(tile.peak >= HUGE_FROM);
        if (odd) {
            fill(quad_, tile);
            blank_nan(tile, blocks_.data());
            if (any_set(tile.peak >= HUGE_FROM)) take_huge(tile);
        }
        if (any_set(tile.peak >= bound_)) rescale(tile.peak);
        Totals *blocks = blocks_.data();
        if (odd)
            sums_.order == 2 ? add_tile_2(tile, scale_, blocks) : add_tile_1(tile, scale_, blocks);
        else
            sums_.order == 2 ? add_tile_2(quad_, tile, scale_, blocks) : add_tile_1(quad_, tile, scale_, blocks);
        if (odd || any_set(tile.low < low_bound_)) {
            if (!odd) fill(quad_, tile);
            add_left(tile);
        }
        since_look_ += tile.size;
        if (since_look_ >= LOOK_EVERY) flush_from(FLUSH_FROM);
    }

    // The last flush; `rows` is how many rows each class had.
    void finish(const std::vector<int64_t> &rows) {
        flush_from(1);
        for (int64_t c = 0; c < sums_.n_classes; ++c)
            for (int lane = 0; lane < lanes_; ++lane)
                sums_.count[sums_.cell(first_ + lane, c)] = rows[c] - blocks_[c].absent[lane];
    }

  private:
    void flush_from(int64_t rows) {
        for (int64_t c = 0; c < sums_.n_classes; ++c)
            if (blocks_[c].rows >= rows) flush(c);
        since_look_ = 0;
    }

    void flush(int64_t code) {
        Totals &block = blocks_[code];
        for (int k = 0; k < (sums_.order == 2 ? CUTS : 2); ++k) {
            u64x4 zero = uint64_t(block.rows * PARTS[k]) * reinterpret_cast<u64x4>(scale_.magic[k]);
            i64x4 units = reinterpret_cast<i64x4>(block.cut[k] - zero);
            Store &store = k < 2 ? sums_.x : sums_.xx;
            for (int lane = 0; lane < lanes_; ++lane)
                store.add(sums_.cell(first_ + lane, code), units[lane], MULTIPLE[k] * scale_.exponent[lane] + OFFSET[k]);
        }
        for (u64x4 &sum : block.cut) sum = u64x4{};
        block.rows = 0;
    }

    // Makes room for larger numbers, and some more, so that it is not needed often.
    void rescale(f64x4 peak) {
        flush_from(1);
        for (int lane = 0; lane < lanes_; ++lane) {
            if (peak[lane] < bound_[lane]) continue;
            scale_.set(lane, std::ilogb(peak[lane]) + 2);
            bound_[lane] = std::ldexp(1.0, int(scale_.exponent[lane]));
            low_bound_[lane] = std::ldexp(bound_[lane], -ALL_CUT);
        }
    }

    // Takes infinities and numbers with an inexact square out of the tile.
    void take_huge(Tile &tile) {
        tile.peak = broadcast(0.0);
        for (int64_t r = 0; r < tile.runs.rows; ++r)
            for (int lane = 0; lane < lanes_; ++lane) {
                double value = tile.x[r][lane], size = std::abs(value);
                if (size < HUGE_FROM) {
                    tile.peak[lane] = std::max(tile.peak[lane], size);
                    continue;
                }
                tile.x[r][lane] = 0.0;
                int64_t code = tile.codes[tile.runs.row[r]];
                if (std::isinf(value)) {
                    sums_.found_bad(tile.start + tile.runs.row[r], first_ + lane);
                    blocks_[code].absent[lane] += 1;
                } else {
                    sums_.add_whole(sums_.cell(first_ + lane, code), value);
                }
            }
    }

    // Cuts the tile once more and adds what lies below the cuts.
    void add_left(const Tile &tile) {
        Left left[64];
        for (int64_t place = 0; place < tile.runs.rows;) {
            int n = (sums_.order == 2 ? find_left_2 : find_left_1)(tile, scale_, place, left);
            for (int i = 0; i < n; ++i)
                for (int lane = 0; lane < lanes_; ++lane) add_left(left[i], lane, tile);
        }
    }

    void add_left(const Left &left, int lane, const Tile &tile) {
        int64_t cell = sums_.cell(first_ + lane, tile.codes[tile.runs.row[left.place]]);
        double value = tile.x[left.place][lane];
        if (std::abs(value) < TINY) {
            sums_.add_whole(cell, value);
            return;
        }
        if (left.rest.x[lane] != 0) sums_.x.add(cell, number_of(left.rest.x[lane]));
        if (left.rest.p[lane] != 0) sums_.xx.add(cell, number_of(left.rest.p[lane]));
        if (left.rest.e[lane] != 0) sums_.xx.add(cell, number_of(left.rest.e[lane]));
    }

    Quad<T> quad_;
    int64_t first_;
    int lanes_;
    int64_t since_look_ = 0;
    Sums &sums_;
    std::vector<Totals> blocks_; // one per class
    Scale scale_;
    f64x4 bound_ = broadcast(0x1p-370); // 2**LOWEST
    f64x4 low_bound_ = broadcast(0x1p-394); // 2**(LOWEST - ALL_CUT)
};

template <class T>
void add_unweighted(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop, Sums &sums) {
    std::vector<QuadSums<T>> quads;
    for (size_t first = 0; first < columns.size(); first += 4) quads.emplace_back(columns, first, sums);
    std::vector<int64_t> rows(sums.n_classes);
    Tile tile;
    int64_t step = tile_rows(columns.size(), sizeof(T));
    for (int64_t from = start; from < stop; from += step) {
        tile.start = from;
        tile.size = std::min(step, stop - from);
        tile.codes = codes + from;
        tile.runs.set(tile.codes, tile.size, sums.n_classes);
        for (int64_t k = 0, before = 0; k < tile.runs.count; before = tile.runs.run[k++].end)
            rows[tile.runs.run[k].code] += tile.runs.run[k].end - before;
        for (auto &quad : quads) quad.add(tile);
    }
    for (auto &quad : quads) quad.finish(rows);
}

template <class T>
void add_weighted(const std::vector<Column<T>> &columns, const int32_t *codes, const double *weights, int64_t start,
                  int64_t stop, Sums &sums) {
    for (int64_t r = start; r < stop; ++r) {
        if (codes[r] < 0 || weights[r] == 0) continue;
        Number weight = number_of(weights[r]);
        for (size_t j = 0; j < columns.size(); ++j) {
            double value = columns[j][r];
            if (std::isnan(value)) continue;
            if (std::isinf(value)) {
                sums.found_bad(r, j);
                continue;
            }
            int64_t cell = sums.cell(j, codes[r]);
            Number x = number_of(value);
            sums.n.add(cell, weight);
            sums.x.add_product(cell, weight, x);
            if (sums.order == 2) sums.xx.add_product(cell, weight, x, x);
        }
    }
}

nb::tuple digits_of(Store &store, const Sums &sums) {
    size_t width = store.width();
    auto array = to_numpy(store.take(), {size_t(sums.n_columns), size_t(sums.n_classes), width});
    return nb::make_tuple(array, store.low());
}

nb::tuple sum_columns(nb::object list, Vector<int32_t> codes, int64_t n_classes, std::optional<Vector<double>> weights,
                      int64_t order, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    if (weights) contract.array("weights", *weights, {ROWS});
    if (weights) Contract::finite("weights", weights->data() + start, stop - start);
    if (order != 1 && order != 2) refuse("an order of 1 or 2", order);
    Sums sums(block.size(), n_classes, order);
    block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        const double *weight = weights ? weights->data() : nullptr;
        nb::gil_scoped_release release;
        sums.number = by_address(columns.data(), columns.size());
        const std::vector<Column<T>> ordered = in_order(columns, sums.number);
        if (weight) add_weighted(ordered, code, weight, start, stop, sums);
        else add_unweighted(ordered, code, start, stop, sums);
        sums.n.finish();
        sums.x.finish();
        sums.xx.finish();
        return true;
    });
    std::initializer_list<size_t> shape = {size_t(sums.n_columns), size_t(n_classes), 1};
    nb::tuple n = weights ? digits_of(sums.n, sums) : nb::make_tuple(to_numpy(std::move(sums.count), shape), 0);
    nb::object xx = order == 2 ? nb::object(digits_of(sums.xx, sums)) : nb::none();
    return nb::make_tuple(n, digits_of(sums.x, sums), xx, sums.bad);
}

} // namespace

void register_sums(nb::module_ &m) {
    define_kernel(m, "sum_columns", &sum_columns);
    register_moments(m);
}

} // namespace tb
