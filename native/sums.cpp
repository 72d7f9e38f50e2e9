// Exact sums of w, w*x and w*x*x per column and class, and the correctly rounded mean and variance they give.
//
// Without weights, four columns at a time go through vector registers. A number below 2**E in size is cut at a fixed
// place by adding and subtracting 3 * 2**E: the bits of the sum are then a whole number of units of 2**(E-51), and
// adding them up as integers is exact for some thousand rows (Rump, Ogita, Oishi 2008 call the cut ExtractVector;
// the integer sum is that of Demmel and Nguyen's and Ahrens' "binned" sums). Two cuts hold the 103 bits below 2**E.
// x*x is p + e with p the rounded product and e = fma(x, x, -p). What is left below the last cut, numbers beyond the
// range where p and e are exact, and everything weighted goes into the digits of exact.h by integer arithmetic.
#include "exact.h"
#include "quads.h"

#include <nanobind/stl/optional.h>

#include <cmath>

namespace tb {
namespace {

constexpr int64_t LOWEST = -370; // cuts end at 2**(2*LOWEST - 155), still a normal number
constexpr double TINY = 0x1p-480; // from here on p and e are exact; below, no cut sees anything of x or x*x
constexpr double HUGE_FROM = 0x1p500;
constexpr int64_t TILE = 512;
// A class is flushed if it has 1500 rows when looked at, which is every 1024 rows at the end of a tile; so it has at
// most 3036 rows, each of at most 1.25 * 2**51 units, and that fits into int64.
constexpr int64_t LOOK_EVERY = 1024, FLUSH_FROM = 1500;
constexpr int CUTS = 5;
// The unit of each cut is 2**(multiple * E + offset). p's lower part and e's upper part share the fourth.
constexpr int MULTIPLE[CUTS] = {1, 1, 2, 2, 2}, OFFSET[CUTS] = {-51, -103, -51, -103, -155}, PARTS[CUTS] = {1, 1, 1, 2, 1};

typedef uint64_t u64x4 __attribute__((vector_size(32)));

struct alignas(32) Block { // the sums of four columns for one class since the last flush
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

struct alignas(32) Tile { // some rows of four columns
    f64x4 x[TILE];
    int64_t rows;
    const int32_t *codes;
    f64x4 peak; // the largest size
    i64x4 nan;  // not zero where there is a NaN
};

template <bool Adjacent, class T> TB_INLINE void fill(const Quad<T> &quad, int64_t start, Tile &tile) {
    f64x4 peak = broadcast(0.0);
    i64x4 nan = i64x4{};
    for (int64_t r = 0; r < tile.rows; ++r) {
        f64x4 x = quad.template read<Adjacent>(start + r);
        peak = larger(absolute(x), peak);
        nan |= x != x;
        tile.x[r] = x;
    }
    tile.peak = peak;
    tile.nan = nan;
}

TB_CLONES void fill(const Quad<double> &quad, int64_t start, Tile &tile) {
    quad.adjacent ? fill<true>(quad, start, tile) : fill<false>(quad, start, tile);
}
TB_CLONES void fill(const Quad<float> &quad, int64_t start, Tile &tile) {
    quad.adjacent ? fill<true>(quad, start, tile) : fill<false>(quad, start, tile);
}

// Puts 0.0 for every NaN and counts it as absent.
TB_CLONES void blank_nan(Tile &tile, Block *blocks) {
    for (int64_t r = 0; r < tile.rows; ++r) {
        i64x4 there = tile.x[r] == tile.x[r];
        tile.x[r] = as_doubles(as_bits(tile.x[r]) & there);
        if (tile.codes[r] >= 0) blocks[tile.codes[r]].absent += there + 1;
    }
}

// The part of x above the cut, added as a whole number of units; returns the part below, exactly.
TB_INLINE f64x4 cut(f64x4 x, f64x4 magic, u64x4 &sum) {
    f64x4 shifted = x + magic;
    sum += reinterpret_cast<u64x4>(shifted);
    return x - (shifted - magic);
}

struct Rest { // what no cut has taken
    f64x4 x, p, e;
};

template <int Order> TB_INLINE Rest add_vector(f64x4 x, const f64x4 *magic, u64x4 *sum) {
    Rest rest{};
    rest.x = cut(cut(x, magic[0], sum[0]), magic[1], sum[1]);
    if constexpr (Order == 2) {
        f64x4 p = x * x, e = fused(x, x, -p);
        u64x4 shared = sum[3];
        rest.p = cut(cut(p, magic[2], sum[2]), magic[3], shared);
        rest.e = cut(cut(e, magic[3], shared), magic[4], sum[4]);
        sum[3] = shared;
    }
    return rest;
}

// Adds the rows of a tile; returns whether anything was left below the last cuts.
template <int Order> TB_INLINE bool add_tile(const Tile &tile, const Scale &scale, Block *blocks) {
    f64x4 magic[CUTS];
    for (int k = 0; k < CUTS; ++k) magic[k] = scale.magic[k];
    i64x4 left = i64x4{};
    for (int64_t r = 0; r < tile.rows; ++r) {
        if (tile.codes[r] < 0) continue;
        Block &block = blocks[tile.codes[r]];
        Rest rest = add_vector<Order>(tile.x[r], magic, block.cut);
        left |= as_bits(rest.x) | as_bits(rest.p) | as_bits(rest.e);
        ++block.rows;
    }
    return any_set(left << 1); // -0.0 leaves only its sign
}

TB_CLONES bool add_tile_1(const Tile &tile, const Scale &scale, Block *blocks) { return add_tile<1>(tile, scale, blocks); }
TB_CLONES bool add_tile_2(const Tile &tile, const Scale &scale, Block *blocks) { return add_tile<2>(tile, scale, blocks); }

struct Sums {
    int64_t n_columns, n_classes, order;
    std::vector<int64_t> count; // without weights
    Store n, x, xx;             // n with weights
    int64_t bad = -1;

    Sums(int64_t columns, int64_t classes, int64_t order)
        : n_columns(columns), n_classes(classes), order(order), count(columns * classes), n(columns * classes),
          x(columns * classes), xx(order == 2 ? columns * classes : 0) {}

    int64_t cell(int64_t column, int64_t code) const { return column * n_classes + code; }
    void add_whole(int64_t cell, double value) {
        Number v = number_of(value);
        x.add(cell, v);
        if (order == 2) xx.add_product(cell, v, v);
    }
    void found_bad(int64_t row, int64_t column) {
        int64_t place = row * n_columns + column;
        if (bad < 0 || place < bad) bad = place;
    }
};

// Four columns on their way into the sums.
template <class T> class QuadSums {
  public:
    QuadSums(const std::vector<Column<T>> &columns, size_t first, Sums &sums)
        : quad_(Quad<T>::at(columns, first)), first_(first), lanes_(std::min<size_t>(4, columns.size() - first)),
          sums_(sums), blocks_(sums.n_classes, Block{}) {
        for (int lane = 0; lane < 4; ++lane) scale_.set(lane, LOWEST);
    }

    void add(int64_t start, Tile &tile) {
        fill(quad_, start, tile);
        if (any_set(tile.nan)) blank_nan(tile, blocks_.data());
        if (any_set(tile.peak >= HUGE_FROM)) take_huge(start, tile);
        if (any_set(tile.peak >= bound_)) rescale(tile.peak);
        bool left = (sums_.order == 2 ? add_tile_2 : add_tile_1)(tile, scale_, blocks_.data());
        if (left) sums_.order == 2 ? add_left<2>(tile) : add_left<1>(tile);
        since_look_ += tile.rows;
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
        Block &block = blocks_[code];
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
        }
    }

    // Takes infinities and numbers with an inexact square out of the tile.
    void take_huge(int64_t start, Tile &tile) {
        tile.peak = broadcast(0.0);
        for (int64_t r = 0; r < tile.rows; ++r)
            for (int lane = 0; lane < lanes_; ++lane) {
                double value = tile.x[r][lane], size = std::abs(value);
                if (size < HUGE_FROM) {
                    tile.peak[lane] = std::max(tile.peak[lane], size);
                    continue;
                }
                tile.x[r][lane] = 0.0;
                int64_t code = tile.codes[r];
                if (code < 0) continue;
                if (std::isinf(value)) {
                    sums_.found_bad(start + r, first_ + lane);
                    blocks_[code].absent[lane] += 1;
                } else {
                    sums_.add_whole(sums_.cell(first_ + lane, code), value);
                }
            }
    }

    // Cuts the tile once more and adds what lies below the cuts.
    template <int Order> void add_left(const Tile &tile) {
        u64x4 unused[CUTS] = {};
        for (int64_t r = 0; r < tile.rows; ++r) {
            if (tile.codes[r] < 0) continue;
            Rest rest = add_vector<Order>(tile.x[r], scale_.magic, unused);
            if (!any_set((as_bits(rest.x) | as_bits(rest.p) | as_bits(rest.e)) << 1)) continue;
            for (int lane = 0; lane < lanes_; ++lane) {
                int64_t cell = sums_.cell(first_ + lane, tile.codes[r]);
                if (std::abs(tile.x[r][lane]) < TINY) {
                    sums_.add_whole(cell, tile.x[r][lane]);
                    continue;
                }
                for (double part : {rest.p[lane], rest.e[lane]})
                    if (part != 0) sums_.xx.add(cell, number_of(part));
                if (rest.x[lane] != 0) sums_.x.add(cell, number_of(rest.x[lane]));
            }
        }
    }

    Quad<T> quad_;
    int64_t first_;
    int lanes_;
    int64_t since_look_ = 0;
    Sums &sums_;
    std::vector<Block> blocks_; // one per class
    Scale scale_;
    f64x4 bound_ = broadcast(0x1p-370); // 2**LOWEST
};

template <class T>
void add_unweighted(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop, Sums &sums) {
    std::vector<QuadSums<T>> quads;
    for (size_t first = 0; first < columns.size(); first += 4) quads.emplace_back(columns, first, sums);
    std::vector<int64_t> rows(sums.n_classes);
    for (int64_t r = start; r < stop; ++r)
        if (codes[r] >= 0) ++rows[codes[r]];
    Tile tile;
    int64_t step = tile_rows(columns.size(), sizeof(T));
    for (int64_t from = start; from < stop; from += step) {
        tile.rows = std::min(step, stop - from);
        tile.codes = codes + from;
        for (auto &quad : quads) quad.add(from, tile);
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

nb::tuple sums(nb::list list, Vector<int32_t> codes, int64_t n_classes, std::optional<Vector<double>> weights, int64_t order,
               int64_t start, int64_t stop) {
    Sums sums(nb::len(list), n_classes, order);
    dispatch<double, float>(dtype_of_first(list), [&]<class T>(T) {
        auto columns = columns_of<T>(list);
        const int32_t *code = codes.data();
        const double *weight = weights ? weights->data() : nullptr;
        nb::gil_scoped_release release;
        if (weight) add_weighted(columns, code, weight, start, stop, sums);
        else add_unweighted(columns, code, start, stop, sums);
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

// What mean_variance needs of one cell, and room to compute in.
struct Moments {
    Big s, ss, a, b, c;

    // s / count * 2**exponent minus `high`, rounded; `high` is finite.
    double low_part(int64_t count, int64_t exponent, double high) {
        Number m = number_of(high);
        if (m.m == 0) return quotient(s, count < 0, magnitude(count), exponent);
        b.set(u128(m.m) * magnitude(count), m.negative != (count < 0));
        a = s;
        int64_t lower = std::min(exponent, m.exponent);
        a.shift_left(exponent - lower);
        b.shift_left(m.exponent - lower);
        c.subtract(a, b);
        return quotient(c, count < 0, magnitude(count), lower);
    }

    // (count * ss - s * s) / count**2 * 2**exponent, with ss to be multiplied by 2**shift first (or s * s by 2**-shift).
    double variance(int64_t count, int64_t shift, int64_t exponent) {
        a.multiply(ss, magnitude(count), count < 0);
        b.square(s);
        a.shift_left(std::max<int64_t>(shift, 0));
        b.shift_left(std::max<int64_t>(-shift, 0));
        c.subtract(a, b);
        return quotient(c, false, u128(magnitude(count)) * magnitude(count), exponent);
    }

    static uint64_t magnitude(int64_t count) { return count < 0 ? -uint64_t(count) : uint64_t(count); }
};

using Cells = nb::ndarray<const int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

nb::tuple mean_variance(Matrix<int64_t> n, Cells x, int64_t x_low, Cells xx, int64_t xx_low, Vector<int64_t> units) {
    int64_t n_columns = n.shape(0), n_classes = n.shape(1), x_width = x.shape(2), xx_width = xx.shape(2);
    std::vector<double> high(n_columns * n_classes), low(high), variance(high);
    const int64_t *count = n.data(), *x_digits = x.data(), *xx_digits = xx.data(), *unit = units.data();
    {
        nb::gil_scoped_release release;
        Moments cell;
        for (int64_t i = 0; i < n_columns * n_classes; ++i) {
            if (count[i] == 0) continue;
            int64_t down = unit[i / n_classes], exponent = 32 * x_low - down;
            cell.s.set(x_digits + i * x_width, x_width);
            cell.ss.set(xx_digits + i * xx_width, xx_width);
            high[i] = quotient(cell.s, count[i] < 0, Moments::magnitude(count[i]), exponent);
            if (std::isfinite(high[i])) low[i] = cell.low_part(count[i], exponent, high[i]);
            variance[i] = cell.variance(count[i], 32 * xx_low - 64 * x_low, std::min(32 * xx_low, 64 * x_low) - 2 * down);
        }
    }
    std::initializer_list<size_t> shape = {size_t(n_columns), size_t(n_classes)};
    return nb::make_tuple(to_numpy(std::move(high), shape), to_numpy(std::move(low), shape), to_numpy(std::move(variance), shape));
}

} // namespace

void register_sums(nb::module_ &m) {
    m.def("sums", &sums, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("mean_variance", &mean_variance);
}

} // namespace tb
