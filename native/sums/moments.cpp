// Mean and variance, correctly rounded, from exact sums: whole-number arithmetic up to the one division at the end.
// Per column and class, over all classes of a column, and the tables of Student's t that follow.
#include "base/array_view.h"
#include "sums/short_moments.h"

#include <cmath>
#include <numbers>

namespace tb {

namespace {

uint64_t magnitude(int64_t count) { return count < 0 ? -uint64_t(count) : uint64_t(count); }

// What mean_variance needs of one cell, and room to compute in.
struct ExactMoments {
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

    // Mean, its low part and variance, `step` apart; x and xx begin at the places `low`.
    void write(const TrimmedDigits &x, int64_t x_low, const TrimmedDigits &xx, int64_t xx_low, int64_t count,
               int64_t unit, double *to, int64_t step) {
        if (count == 0) return;
        x_low += x.skipped, xx_low += xx.skipped;
        if (short_moments(x, x_low, xx, xx_low, count, unit, to, step)) [[likely]]
            return;
        s.set(x), ss.set(xx);
        const int64_t exponent = 32 * x_low - unit;
        to[0] = quotient(s, count < 0, magnitude(count), exponent);
        to[step] = std::isfinite(to[0]) ? low_part(count, exponent, to[0]) : 0.0;
        to[2 * step] = variance(count, 32 * xx_low - 64 * x_low, std::min(32 * xx_low, 64 * x_low) - 2 * unit);
    }
};

// The digits of sums, cell by cell.
struct CellDigits {
    const int64_t *digits;
    int64_t width, low;

    CellDigits(const char *name, nb::handle array, int64_t low, Contract &contract) : low(low) {
        const View<const int64_t> view(array, 3);
        if (!view.contiguous(3)) throw nb::type_error("digits one behind the other are expected");
        digits = reinterpret_cast<const int64_t *>(view.data), width = view.shape[2];
        if (width < 1) refuse("sums of at least one digit", width);
        Contract::lowest_place(low);
        contract.array(name, view, {COLUMNS, CLASSES, width});
    }
    const int64_t *cell(int64_t i) const { return digits + i * width; }
    TrimmedDigits trimmed(int64_t i) const { return TrimmedDigits::trimmed(cell(i), width); }

    // The sum of the cells first to last, in two digits more.
    void pool(int64_t first, int64_t last, std::vector<int64_t> &total) const {
        total.resize(width + 2);
        __int128 carry = 0;
        for (int64_t k = 0; k <= width; ++k) {
            for (int64_t i = first; k < width && i < last; ++i) carry += cell(i)[k];
            total[k] = int64_t(carry & 0xFFFFFFFF);
            carry >>= 32;
        }
        total[width + 1] = int64_t(carry);
    }
};

// n, x and xx as they come from Python: whole counts, digits and places.
struct ExactSums {
    Contract contract;
    View<const int64_t> n;
    CellDigits x, xx;

    ExactSums(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low)
        : n(n, 2), x((contract.array("n", this->n, {COLUMNS, CLASSES}), "x"), x, x_low, contract),
          xx("xx", xx, xx_low, contract) {
        for (int64_t j = 0; j < n_columns(); ++j)
            for (int64_t c = 0; c < n_classes(); ++c)
                if (this->n(j, c) < 0) refuse("n from 0 on", this->n(j, c));
    }
    // The exponents of the units of the columns.
    std::vector<int64_t> units(nb::handle array) {
        const View<const int64_t> given(array, 1);
        contract.array("units", given, {COLUMNS});
        std::vector<int64_t> units(n_columns());
        for (int64_t j = 0; j < n_columns(); ++j) {
            units[j] = given(j);
            Contract::unit(units[j]);
        }
        return units;
    }
    int64_t n_columns() const { return n.shape[0]; }
    int64_t n_classes() const { return n.shape[1]; }
};

// Mean, low part and variance of all cells, behind each other.
void fill_moments(const ExactSums &sums, const int64_t *units, double *moments) {
    ExactMoments cell;
    const int64_t size = sums.n_columns() * sums.n_classes();
    for (int64_t j = 0, i = 0; j < sums.n_columns(); ++j)
        for (int64_t c = 0; c < sums.n_classes(); ++c, ++i)
            cell.write(sums.x.trimmed(i), sums.x.low, sums.xx.trimmed(i), sums.xx.low, sums.n(j, c), units[j],
                       moments + i, size);
}

auto mean_variance(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low, nb::handle units) {
    ExactSums sums(n, x, x_low, xx, xx_low);
    const std::vector<int64_t> unit = sums.units(units);
    const size_t n_columns = sums.n_columns(), n_classes = sums.n_classes();
    std::vector<double> moments(3 * n_columns * n_classes);
    {
        nb::gil_scoped_release release;
        fill_moments(sums, unit.data(), moments.data());
    }
    return to_numpy(std::move(moments), {3, n_columns, n_classes});
}

// Half the bits of the mean square, at most 1000: then its inverse is a double too.
int64_t unit_of(const TrimmedDigits &squares, int64_t low, int64_t count) {
    int64_t bits = 32 * (squares.width - 1) + int64_t(std::bit_width(uint64_t(squares.last)));
    if (squares.last < 0) {
        Big number;
        number.set(squares);
        bits = number.bit_length();
    } else if (squares.last == 0) {
        return 0;
    }
    const int64_t exponent = (bits + 32 * (low + squares.skipped) - int64_t(std::bit_width(uint64_t(count)))) >> 1;
    return std::clamp<int64_t>(exponent, -1000, 1000);
}

// The unit of every column, and mean, low part and variance over all classes behind each other; false if the rows of a
// column are more than a count can hold.
bool fill_pooled(const ExactSums &sums, int64_t *units, double *moments) {
    ExactMoments cell;
    std::vector<int64_t> x, xx;
    bool countable = true;
    const int64_t n_columns = sums.n_columns(), n_classes = sums.n_classes();
    for (int64_t j = 0, first = 0; j < n_columns; ++j, first += n_classes) {
        int64_t count = 0;
        for (int64_t c = 0; c < n_classes; ++c) countable &= !__builtin_add_overflow(count, sums.n(j, c), &count);
        sums.x.pool(first, first + n_classes, x);
        sums.xx.pool(first, first + n_classes, xx);
        const TrimmedDigits sum = TrimmedDigits::trimmed(x.data(), sums.x.width + 2),
                            squares = TrimmedDigits::trimmed(xx.data(), sums.xx.width + 2);
        units[j] = unit_of(squares, sums.xx.low, count);
        cell.write(sum, sums.x.low, squares, sums.xx.low, count, units[j], moments + j, n_columns);
    }
    return countable;
}

nb::object pooled_moments(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low) {
    const ExactSums sums(n, x, x_low, xx, xx_low);
    const size_t n_columns = sums.n_columns();
    std::vector<double> moments(3 * n_columns);
    std::vector<int64_t> units(n_columns);
    bool countable;
    {
        nb::gil_scoped_release release;
        countable = fill_pooled(sums, units.data(), moments.data());
    }
    if (!countable) return nb::none();
    return nb::make_tuple(to_numpy(std::move(units), {n_columns}), to_numpy(std::move(moments), {3, n_columns}));
}

struct Pair {
    double high, low;
};

// The sum of two doubles as a double, and what that lacks (Knuth).
inline Pair two_sum(double a, double b) {
    const double total = a + b, part = total - a;
    return {total, (a - (total - part)) + (b - part)};
}

double log_gamma_ratio(double x) {
    double factor = 1;
    for (; x < 20; x += 1) factor *= x / (x + 0.5);
    const double y = 1 / (x * x);
    const double series = (-1. / 8 + y * (1. / 192 + y * (-1. / 640 + y * (17. / 14336 + y * (-31. / 18432))))) / x;
    return 0.5 * std::log(x) + std::log(factor) + series;
}

// What depends on the degrees of freedom only; the columns of a class mostly agree in them.
struct Freedom {
    double nu = 0, root = 0, constant = 0;

    void set(double wanted) {
        if (nu == wanted) return;
        nu = wanted;
        root = std::sqrt(nu);
        constant = log_gamma_ratio(nu / 2) - 0.5 * std::log(std::numbers::pi * nu);
    }
};

// n before, and the five tables of add_student behind the moments of every cell.
void fill_tables(const ExactSums &sums, const int64_t *units, const double *prior, double kappa, double nu,
                 double share, double *moments) {
    const int64_t n_columns = sums.n_columns(), n_classes = sums.n_classes(), size = n_columns * n_classes;
    const double *mean = moments, *low = mean + size, *variance = low + size;
    double *rows = moments - size, *tables = moments + 3 * size;
    std::vector<Freedom> freedom(n_classes);
    for (int64_t j = 0, i = 0; j < n_columns; ++j) {
        const double centre = prior[j], centre_low = prior[n_columns + j], spread = prior[2 * n_columns + j];
        const double unit = static_cast<double>(units[j]) * std::numbers::ln2;
        for (int64_t c = 0; c < n_classes; ++c, ++i) {
            rows[i] = static_cast<double>(sums.n(j, c));
            const double n = rows[i] * share, more = kappa + n;
            const double delta = n > 0 ? (mean[i] - centre) + (low[i] - centre_low) : 0.0;
            Pair location = two_sum(centre, n * delta / more);
            location = two_sum(location.high, location.low + centre_low);
            tables[i] = location.high;
            tables[size + i] = location.low;
            if (spread == 0) continue; // contributes nothing
            Freedom &f = freedom[c];
            f.set(nu + n);
            const double wide = nu * spread + n * variance[i] + kappa * n / more * delta * delta;
            const double scale = std::sqrt(wide / f.nu * (1 + 1 / more));
            tables[2 * size + i] = 1 / (scale * f.root);
            tables[3 * size + i] = (f.nu + 1) / 2;
            tables[4 * size + i] = f.constant - std::log(scale) - unit;
        }
    }
}

// What the prior's strengths and the share of the rows may be: the degrees of freedom are above 0 then.
void check_strengths(double kappa, double nu, double share) {
    Contract::positive("kappa", kappa);
    Contract::positive("nu", nu);
    if (!(share >= 0 && share <= 1)) refuse_real("share from 0 to 1", share);
}

auto student(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low, nb::handle units,
             nb::handle prior, double kappa, double nu, double share) {
    ExactSums sums(n, x, x_low, xx, xx_low);
    const std::vector<int64_t> unit = sums.units(units);
    const View<const double> given(prior, 2);
    sums.contract.array("prior", given, {3, COLUMNS});
    check_strengths(kappa, nu, share);
    const size_t n_columns = sums.n_columns(), n_classes = sums.n_classes();
    std::vector<double> tables(9 * n_columns * n_classes), pooled;
    for (int part = 0; part < 3; ++part)
        for (size_t j = 0; j < n_columns; ++j) pooled.push_back(given(part, j));
    {
        nb::gil_scoped_release release;
        double *moments = tables.data() + n_columns * n_classes;
        fill_moments(sums, unit.data(), moments);
        fill_tables(sums, unit.data(), pooled.data(), kappa, nu, share, moments);
    }
    return to_numpy(std::move(tables), {9, n_columns, n_classes});
}

// pooled_moments and student in one, into arrays that are there already: for models that are asked after every row.
bool pooled_student(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low, double kappa, double nu,
                    double share, nb::handle units, nb::handle scales, nb::handle tables) {
    ExactSums sums(n, x, x_low, xx, xx_low);
    const View<int64_t> unit(units, 1);
    const View<double> scale(scales, 1), table(tables, 3);
    sums.contract.array("units", unit, {COLUMNS});
    sums.contract.array("scales", scale, {COLUMNS});
    sums.contract.array("tables", table, {9, COLUMNS, CLASSES});
    check_strengths(kappa, nu, share);
    if (!unit.contiguous(1) || !table.contiguous(3)) throw nb::type_error("arrays without gaps are expected");
    const int64_t n_columns = sums.n_columns(), size = n_columns * sums.n_classes();
    if (size == 0) return true;
    std::vector<double> pooled(3 * n_columns);
    std::fill_n(&table(0, 0, 0), 9 * size, 0.0);
    double *moments = &table(1, 0, 0);
    std::optional<nb::gil_scoped_release> release;
    if (size > 1000) release.emplace();
    const bool countable = fill_pooled(sums, &unit(0), pooled.data());
    fill_moments(sums, &unit(0), moments);
    fill_tables(sums, &unit(0), pooled.data(), kappa, nu, share, moments);
    for (int64_t j = 0; j < n_columns; ++j) scale(j) = std::ldexp(1.0, -int(unit(j)));
    return countable;
}

} // namespace

void register_moments(nb::module_ &m) {
    define_kernel(m, "mean_variance", &mean_variance);
    define_kernel(m, "pooled_moments", &pooled_moments);
    define_kernel(m, "student", &student);
    define_kernel(m, "pooled_student", &pooled_student);
}

} // namespace tb
