// find_steps: how many of some sorted edges are not above each value.
//
// Several values are looked up at a time, without branches: which way a search goes cannot be foreseen.
#include "base/columns.h"

#include <cmath>

namespace tb {
namespace {

constexpr int64_t SEARCHES_AT_ONCE = 8;

template <class T> void look_up(const T *values, int64_t n, const double *edges, int64_t n_edges, int64_t *steps) {
    for (int64_t row = 0; row < n; row += SEARCHES_AT_ONCE) {
        const int64_t here = std::min(SEARCHES_AT_ONCE, n - row);
        double x[SEARCHES_AT_ONCE] = {};
        int64_t place[SEARCHES_AT_ONCE] = {}, length = n_edges;
        for (int64_t i = 0; i < here; ++i) x[i] = static_cast<double>(values[row + i]);
        for (; length > 1; length -= length / 2)
            for (int64_t i = 0; i < SEARCHES_AT_ONCE; ++i)
                place[i] += edges[place[i] + length / 2 - 1] <= x[i] ? length / 2 : 0;
        for (int64_t i = 0; length && i < SEARCHES_AT_ONCE; ++i) place[i] += edges[place[i]] <= x[i];
        for (int64_t i = 0; i < here; ++i) steps[row + i] = std::isnan(x[i]) ? n_edges : place[i];
    }
}

auto find_steps(Contiguous values, Vector<double> edges) {
    Contract contract;
    contract.array("values", values, {ROWS});
    contract.array("edges", edges, {ENTRIES});
    Contract::ascending("edges", edges.data(), contract[ENTRIES]);
    const size_t n = values.shape(0);
    std::vector<int64_t> steps(n);
    dispatch<double, float>(values.dtype(), [&]<class T>(T) {
        nb::gil_scoped_release release;
        look_up(static_cast<const T *>(values.data()), contract[ROWS], edges.data(), contract[ENTRIES], steps.data());
        return true;
    });
    return to_numpy(std::move(steps), {n});
}

} // namespace

void register_find_steps(nb::module_ &m) { define_kernel(m, "find_steps", &find_steps); }

} // namespace tb
