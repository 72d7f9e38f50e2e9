// log_gamma: log gamma of positive numbers.
#ifndef TB_ISA
#include "base/tile_sizes.h"

#define TB_FILE "scoring/log_gamma.cpp"
#include "base/isa.h"

namespace tb {
namespace {

auto log_gamma(Vector<double> values) {
    Contract contract;
    contract.array("values", values, {ENTRIES});
    const size_t n = values.shape(0);
    const auto is_normal = [](double x) { return x >= std::numeric_limits<double>::min() && x < INFINITY; };
    Contract::every("finite values from the smallest normal double on", values.data(), int64_t(n), is_normal);
    std::vector<double> result(n);
    {
        nb::gil_scoped_release release;
        TB_BEST(log_gamma_of)(values.data(), static_cast<int64_t>(n), result.data());
    }
    return to_numpy(std::move(result), {n});
}

} // namespace

void register_log_gamma(nb::module_ &m) { define_kernel(m, "log_gamma", &log_gamma); }

} // namespace tb

#else
#include "base/tile.h"
#include "base/logexp.h"
#include "base/log_gamma.h"

namespace tb::TB_ISA {
namespace {

inline void log_gamma_of(const double *values, int64_t n, double *result) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) store(result + i, log_gamma(load(values + i)));
    if (i == n) return;
    double rest[4] = {1, 1, 1, 1}; // the lanes that are not used
    std::copy(values + i, values + n, rest);
    store(rest, log_gamma(load(rest)));
    std::copy(rest, rest + (n - i), result + i);
}

} // namespace
} // namespace tb::TB_ISA
#endif
