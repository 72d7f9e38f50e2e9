// Exact sums of w, w*x and w*x*x per column and class. (What they say about mean and variance: moments.cpp.)
//
// Without weights, numbers are cut (sum_cuts.h) and the parts added up as integers. What is left below the last cut, numbers
// beyond the range where the parts are exact, and everything weighted goes into the digits of exact.h by integer arithmetic.
#ifndef TB_ISA
#include "base/quads.h"
#include "sums/exact.h"

#include <cmath>

namespace tb {

namespace {

struct ColumnSums {
    int64_t n_columns, n_classes, order;
    std::vector<int> number;    // of the columns as they are given, in the order they are added in
    std::vector<int64_t> count; // without weights
    Store n, x, xx;             // n with weights
    int64_t bad = -1;

    ColumnSums(int64_t columns, int64_t classes, int64_t order)
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

} // namespace
} // namespace tb

#define TB_FILE "sums/sums.cpp"
#define TB_FOURS
#include "base/isa.h"

namespace tb {
namespace {

template <class T>
void add_weighted(const std::vector<Column<T>> &columns, const int32_t *codes, const double *weights, int64_t start,
                  int64_t stop, ColumnSums &sums) {
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

nb::tuple digits_of(Store &store, const ColumnSums &sums) {
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
    ColumnSums sums(block.size(), n_classes, order);
    block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        const double *weight = weights ? weights->data() : nullptr;
        nb::gil_scoped_release release;
        sums.number = by_address(columns.data(), columns.size());
        const std::vector<Column<T>> ordered = in_order(columns, sums.number);
        if (weight) add_weighted(ordered, code, weight, start, stop, sums);
        else TB_BEST(add_unweighted<T>)(ordered, code, start, stop, sums);
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

void register_sums(nb::module_ &m) { define_kernel(m, "sum_columns", &sum_columns); }

} // namespace tb

#else
#include "sums/sum_cuts.h"

namespace tb::TB_ISA {
namespace {

// Four columns on their way into the sums.
template <class T> class QuadSums {
  public:
    QuadSums(const std::vector<Column<T>> &columns, size_t first, ColumnSums &sums)
        : quad_(Quad<T>::at(columns, first)), first_(first), lanes_(std::min<size_t>(4, columns.size() - first)),
          sums_(sums), blocks_(sums.n_classes, Totals{}) {
        for (int lane = 0; lane < 4; ++lane) scale_.set(lane, LOWEST);
    }

    void add(QuadTile &tile) {
        look_at(quad_, tile);
        const bool odd = tile.odd || any(tile.peak >= HUGE_FROM);
        if (odd) {
            fill(quad_, tile);
            blank_nan(tile, blocks_.data());
            if (any(tile.peak >= HUGE_FROM)) take_huge(tile);
        }
        if (any(tile.peak >= bound_)) rescale(tile.peak);
        Totals *blocks = blocks_.data();
        if (odd) add_tile(sums_.order, tile, scale_, blocks);
        else add_tile(sums_.order, quad_, tile, scale_, blocks);
        if (odd || any(tile.low < low_bound_)) {
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
                store.add(sums_.cell(first_ + lane, code), units[lane],
                          MULTIPLE[k] * scale_.exponent[lane] + OFFSET[k]);
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
    void take_huge(QuadTile &tile) {
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
    void add_left(const QuadTile &tile) {
        Left left[64];
        for (int64_t place = 0; place < tile.runs.rows;) {
            int n = find_left(sums_.order, tile, scale_, place, left);
            for (int i = 0; i < n; ++i)
                for (int lane = 0; lane < lanes_; ++lane) add_left(left[i], lane, tile);
        }
    }

    void add_left(const Left &left, int lane, const QuadTile &tile) {
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
    ColumnSums &sums_;
    std::vector<Totals> blocks_; // one per class
    Scale scale_;
    f64x4 bound_ = broadcast(0x1p-370);     // 2**LOWEST
    f64x4 low_bound_ = broadcast(0x1p-394); // 2**(LOWEST - ALL_CUT)
};

template <class T>
void add_unweighted(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t start, int64_t stop,
                    ColumnSums &sums) {
    std::vector<QuadSums<T>> quads;
    for (size_t first = 0; first < columns.size(); first += 4) quads.emplace_back(columns, first, sums);
    std::vector<int64_t> rows(sums.n_classes);
    QuadTile tile;
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

} // namespace
} // namespace tb::TB_ISA
#endif
