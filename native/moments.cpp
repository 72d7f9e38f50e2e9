// Mean and variance, correctly rounded, from exact sums: whole-number arithmetic up to the one division at the end.
#include "columns.h"
#include "exact.h"

#include <cmath>

namespace tb {

void register_moments(nb::module_ &m);

namespace {

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

void register_moments(nb::module_ &m) { m.def("mean_variance", &mean_variance); }

} // namespace tb
