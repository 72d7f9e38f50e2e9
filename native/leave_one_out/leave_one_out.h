// What the leave-one-out kernels of real columns share: their arguments, and the loop over blocks of columns. The loop
// over rows is in leave_one_out_tile.h.
#pragma once
#include "base/tile_sizes.h"

#include <functional>

namespace tb {
namespace {

constexpr double LITTLE = 1e-6; // of rows or a sum of squares: less than this is not found by subtraction
constexpr double LOG_2 = 0.693147180559945309417;

using Mark = std::function<void(int64_t, int)>; // a row and a column that need exact sums

// The arguments of both kernels, and where to add.
struct LeaveOneOut {
    nb::object columns;
    Vector<int32_t> codes;
    std::optional<Vector<double>> weights;
    Vector<int64_t> units;
    Matrix<double> n;
    Cube<double> moments;
    Out<double> out;
    int64_t start, stop;
};

// Moments as they come from Python: exponents of the units, and [column][class].
struct Moments {
    const int64_t *units;
    const double *n, *mean, *low, *variance;
    int64_t n_columns, n_classes;
    bool shared;
};

// Goes through the columns, `join` at a time. facts_of(moments, first, n) works out the tables of some columns, and
// choose<T>(weighted, shared) is the loop over rows for them. Returns the places that need exact sums.
template <class FactsOf, class Choose>
auto leave_out_columns(const LeaveOneOut &in, Contract &contract, const Block &block, bool shared, int join,
                       FactsOf facts_of, Choose choose) {
    contract.array("codes", in.codes, {ROWS});
    if (in.weights) contract.array("weights", *in.weights, {ROWS});
    contract.array("out", in.out, {ROWS, CLASSES});
    contract.array("units", in.units, {COLUMNS});
    contract.array("n", in.n, {COLUMNS, CLASSES});
    contract.array("moments", in.moments, {3, COLUMNS, CLASSES});
    contract.codes(in.codes.data(), false);
    const int64_t n_columns = contract[COLUMNS], size = n_columns * contract[CLASSES];
    Contract::counts("n", in.n.data(), size);
    Contract::moments("moments", in.moments.data(), size);
    for (int64_t j = 0; j < n_columns; ++j) Contract::unit(in.units.data()[j]);
    const double *mean = in.moments.data();
    const Moments moments{in.units.data(), in.n.data(),       mean,  mean + size, mean + 2 * size,
                          n_columns,       contract[CLASSES], shared};
    auto places = block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) {
        const double *weights = in.weights ? in.weights->data() : nullptr;
        const int32_t *codes = in.codes.data();
        double *out = in.out.data();
        nb::gil_scoped_release release;
        const auto run = choose.template operator()<T>(weights != nullptr, shared);
        std::vector<int64_t> found;
        for (int64_t first = 0; first < n_columns; first += join) {
            const auto facts = facts_of(moments, first, static_cast<int>(std::min<int64_t>(join, n_columns - first)));
            const auto layout =
                layout_of(&columns[first], std::min<int64_t>(join, n_columns - first), in.stop - in.start);
            run(&columns[first], layout, codes, weights, facts, out, in.start, in.stop,
                [&](int64_t row, int j) { found.push_back(row * n_columns + first + j); });
        }
        std::sort(found.begin(), found.end());
        return found;
    });
    const size_t n_places = places.size();
    return to_numpy(std::move(places), {n_places});
}

} // namespace
} // namespace tb
