// add_student_leave_one_out: log densities of Student's t for real columns, each value by the sums without its own row.
//
// Rows are the lanes of a vector, as in score_reals.cpp, and here too columns share their logarithms: those of a class
// that have equally many rows go through together, at most JOIN of them. Where a class is a row's own, the lane takes
// what is left of the class without the row.
#ifndef TB_ISA
#include "leave_one_out/leave_one_out.h"

namespace tb {
namespace {

constexpr int JOIN = 20;          // columns at a time
constexpr double NEAR = 0x1p1000; // a product below it has met no overflow
constexpr double SMALLEST_NORMAL = std::numeric_limits<double>::min();
constexpr double LOG_PI = 1.14472988584940017414;

// What the number of rows behind a class decides.
template <class V> struct Rows {
    V share, pull, grow;        // n / (kappa + n), kappa n / (kappa + n), 1 + 1 / (kappa + n)
    V half, log_ratio;          // (degrees + 1) / 2, log of gamma((degrees + 1) / 2) / gamma(degrees / 2)
    V step, factor;             // what the class loses with the row: w / left, w n / left; 0 where it is not its own
    V all_step, all_factor, nu; // the same of all rows: w / rest, w total / rest; nu / rest
};

// Columns in which a class and all classes together have equally many rows.
struct StudentGroup {
    int first, last;
    double n, total, constant; // constant: sum of `fixed` in the order of the columns
    Rows<double> others, own;  // for rows of other classes, and for its own of weight 1
};

// The facts of a class in every column.
struct StudentClass {
    std::vector<double> delta, squares; // mean from the pooled mean, sum of squared deviations
    std::vector<double> inverse, fixed; // 1 / the scale of the density with all rows; constants, its logarithm included
    std::vector<double> least;          // what must be left for the closed form
    std::vector<StudentGroup> groups;
};

// Some columns; values are measured from the pooled mean.
struct StudentFacts {
    int n_columns;
    double kappa, nu;
    bool shared;
    std::vector<double> scale, centre, low, spread, least; // 2**-unit, pooled mean in two parts, pooled sum of squares
    std::vector<StudentClass> classes;
};

struct StudentInput : Moments {
    const double *pooled; // mean, low part and variance of all classes together, [3][column]
    double kappa, nu;
};

} // namespace
} // namespace tb

#define TB_FILE "leave_one_out/student_leave_one_out.cpp"
#include "base/isa.h"

namespace tb {
namespace {

// Mean of the class from the pooled mean, and the sum of squared deviations.
std::pair<double, double> from_pooled(const StudentInput &in, int64_t column, int64_t c) {
    const int64_t at = column * in.n_classes + c;
    const double *pooled_low = in.pooled + in.n_columns;
    const double delta = (in.mean[at] - in.pooled[column]) + (in.low[at] - pooled_low[column]);
    return {in.n[at] > 0 ? delta : 0.0, in.n[at] * in.variance[at]};
}

double rows_in(const StudentInput &in, int64_t column) {
    double total = 0;
    for (int64_t c = 0; c < in.n_classes; ++c) total += in.n[column * in.n_classes + c];
    return total;
}

// nu times the pooled variance and the squares of a class around its posterior mean, or of all classes.
double spread_of(const StudentInput &in, int64_t column, int64_t c) {
    double spread = in.nu * in.pooled[2 * in.n_columns + column];
    for (int64_t k = in.shared ? 0 : c; k < (in.shared ? in.n_classes : c + 1); ++k) {
        const auto [delta, squares] = from_pooled(in, column, k);
        const double n = in.n[column * in.n_classes + k];
        spread += squares + in.kappa * n / (in.kappa + n) * delta * delta;
    }
    return spread;
}

StudentFacts facts_of(const StudentInput &in, int64_t first, int n_columns) {
    StudentFacts f{n_columns, in.kappa, in.nu, in.shared, {}, {}, {}, {}, {}, std::vector<StudentClass>(in.n_classes)};
    std::vector<double> totals;
    for (int64_t j = first; j < first + n_columns; ++j) {
        totals.push_back(rows_in(in, j));
        f.scale.push_back(std::ldexp(1.0, static_cast<int>(-in.units[j])));
        f.centre.push_back(in.pooled[j]), f.low.push_back(in.pooled[in.n_columns + j]);
        f.spread.push_back(totals.back() * in.pooled[2 * in.n_columns + j]);
        f.least.push_back(std::max(LITTLE * f.spread.back(), SMALLEST_NORMAL));
    }
    for (int64_t c = 0; c < in.n_classes; ++c) {
        StudentClass &k = f.classes[c];
        for (int j = 0; j < n_columns; ++j) {
            const double n = in.n[(first + j) * in.n_classes + c], spread = spread_of(in, first + j, c);
            const auto [delta, squares] = from_pooled(in, first + j, c);
            const double wide = spread > 0 ? spread * (1 + 1 / (in.kappa + n)) : 1.0;
            const double unit = static_cast<double>(in.units[first + j]);
            k.delta.push_back(delta), k.squares.push_back(squares), k.inverse.push_back(1 / wide);
            k.fixed.push_back(-0.5 * (LOG_PI + std::log(wide)) - unit * LOG_2);
            k.least.push_back(LITTLE * (squares + f.spread[j]));
            if (k.groups.empty() || n != k.groups.back().n || totals[j] != k.groups.back().total)
                k.groups.push_back({j, j, n, totals[j], 0.0, {}, {}});
            k.groups.back().last = j + 1, k.groups.back().constant += k.fixed.back();
        }
        for (StudentGroup &g : k.groups) g.others = plain::rows_of(f, g, false), g.own = plain::rows_of(f, g, true);
    }
    return f;
}

auto add_student_leave_one_out(nb::object columns, Vector<int32_t> codes, std::optional<Vector<double>> weights,
                               Vector<int64_t> units, Matrix<double> pooled, Matrix<double> n, Cube<double> moments,
                               double kappa, double nu, bool shared, Out<double> out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(columns, contract);
    contract.array("pooled", pooled, {3, COLUMNS});
    Contract::moments("pooled", pooled.data(), contract[COLUMNS]);
    Contract::positive("kappa", kappa);
    Contract::positive("nu", nu);
    return leave_out_columns(
        {columns, codes, weights, units, n, moments, out, start, stop}, contract, block, shared, JOIN,
        [&](const Moments &all, int64_t first, int size) {
            return facts_of({all, pooled.data(), kappa, nu}, first, size);
        },
        []<class T>(bool weighted, bool is_shared) {
            if (weighted) return is_shared ? TB_BEST(leave_out<T, true, true>) : TB_BEST(leave_out<T, true, false>);
            return is_shared ? TB_BEST(leave_out<T, false, true>) : TB_BEST(leave_out<T, false, false>);
        });
}

} // namespace

void register_student_leave_one_out(nb::module_ &m) {
    define_kernel(m, "add_student_leave_one_out", &add_student_leave_one_out);
}

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

#include "leave_one_out/leave_one_out_tile.h"

namespace tb::TB_ISA {
namespace {

constexpr int VECTORS = 2, STRETCH = VECTORS * LANES; // rows that go through the columns together

// Log of gamma(x + 1/2) / gamma(x): the series of the reference kernel, to which small x are led up.
template <class V> TB_INLINE V log_gamma_ratio(V x) {
    constexpr double SERIES_FROM = 20.0;
    V factor = broadcast<V>(1.0);
    for (Mask<V> small = x < SERIES_FROM; any(small); small = x < SERIES_FROM) {
        factor = small ? factor * (x / (x + 0.5)) : factor;
        x = small ? x + 1.0 : x;
    }
    V y = 1.0 / (x * x);
    V series = (-1.0 / 8 + y * (1.0 / 192 + y * (-1.0 / 640 + y * (17.0 / 14336 + y * (-31.0 / 18432))))) / x;
    return 0.5 * lanes_log(x) + lanes_log(factor) + series;
}

// Where `own`, without a row of weight w; where nothing would be left, the losses are 0 (and the rows need care).
template <class V> TB_INLINE Rows<V> rows_without(const StudentFacts &f, const StudentGroup &g, V w, Mask<V> own) {
    V left = g.n - w, n = own ? left : broadcast<V>(g.n), more = f.kappa + n, rest = g.total - w;
    Mask<V> some = (left > 0.0) & own, more_rows = rest > 0.0;
    V degrees = f.nu + (f.shared ? rest : n), counted = degrees > f.nu ? degrees : broadcast<V>(f.nu);
    return {n / more,
            f.kappa * n / more,
            1.0 + 1.0 / more,
            (degrees + 1.0) / 2.0,
            log_gamma_ratio(counted / 2.0),
            only(w / left, some),
            only(w * (g.n / left), some),
            only(w / rest, more_rows),
            only(w * (g.total / rest), more_rows),
            only(f.nu / rest, more_rows)};
}

inline Rows<double> rows_of(const StudentFacts &f, const StudentGroup &g, bool own) {
    const Rows<f64x4> r = rows_without(f, g, broadcast(1.0), own ? broadcast(0.0) == 0.0 : broadcast(0.0) != 0.0);
    return {r.share[0], r.pull[0],   r.grow[0],     r.half[0],       r.log_ratio[0],
            r.step[0],  r.factor[0], r.all_step[0], r.all_factor[0], r.nu[0]};
}

template <bool weighted>
TB_INLINE Rows<Lanes> rows_at(const StudentFacts &f, const StudentGroup &g, Lanes w, Mask<Lanes> own) {
    if constexpr (weighted) return rows_without(f, g, w, own);
    auto choose = [&](double Rows<double>::*part) {
        return own ? broadcast<Lanes>(g.own.*part) : broadcast<Lanes>(g.others.*part);
    };
    using R = Rows<double>;
    return {choose(&R::share),
            choose(&R::pull),
            choose(&R::grow),
            choose(&R::half),
            choose(&R::log_ratio),
            choose(&R::step),
            choose(&R::factor),
            broadcast<Lanes>(g.own.all_step),
            broadcast<Lanes>(g.own.all_factor),
            broadcast<Lanes>(g.own.nu)};
}

struct alignas(64) StudentTile : RowTile<JOIN> { // values are measured from the pooled mean
    double squares[JOIN * TILE];                 // of all classes, if they have one variance
};

// One column for some rows of a class.
struct ColumnTerms {
    Lanes mean, squares, variance; // mean of the class from the pooled mean, its squares, nu times the pooled variance
    Mask<Lanes> strange;           // needs care
};

TB_INLINE ColumnTerms column_terms(const StudentFacts &f, const StudentClass &k, int j, const Rows<Lanes> &rows,
                                   Lanes d, Mask<Lanes> own, Mask<Lanes> gone) {
    Lanes e = d - k.delta[j], left = f.spread[j] - rows.all_factor * d * d;
    Lanes mean = (k.delta[j] - rows.step * e) + rows.all_step * d;
    Lanes squares = only(k.squares[j] - rows.factor * e * e, ~gone), variance = rows.nu * left;
    Mask<Lanes> strange = ~(left >= f.least[j]) | (own & ~(variance + squares >= k.least[j]));
    return {mean, squares, variance, strange};
}

// Own rows of a class of which nothing is left, or less than nothing: those need care.
struct OwnRows {
    Mask<Lanes> rows, gone, lacking;

    OwnRows(const StudentTile &t, int r, double code, const StudentGroup &g) {
        const Lanes left = g.n - load<Lanes>(t.weight + r);
        rows = load<Lanes>(t.code + r) == code;
        gone = rows & ~(left > 0.0), lacking = rows & ~(left >= 0.0);
    }
};

// Adds the squares of a class to those of all.
template <bool weighted>
TB_INLINE void add_squares(const StudentFacts &f, const StudentClass &k, double code, StudentTile &t) {
    for (const StudentGroup &g : k.groups)
        for (int r = 0; r < TILE; r += LANES) {
            const OwnRows own(t, r, code, g);
            const Rows<Lanes> rows = rows_at<weighted>(f, g, load<Lanes>(t.weight + r), own.rows);
            for (int j = g.first; j < g.last; ++j) {
                const ColumnTerms cell =
                    column_terms(f, k, j, rows, load<Lanes>(t.value + j * TILE + r), own.rows, own.gone);
                double *to = t.squares + j * TILE + r;
                store(to, load<Lanes>(to) + (cell.squares + rows.pull * cell.mean * cell.mean));
            }
        }
}

// Marks the values that need care as missing: first all are found, since what is missing is not looked at any more.
template <bool weighted> void mark_strange(const StudentFacts &f, StudentTile &t, int64_t row, const Mark &mark) {
    alignas(64) double strange[JOIN * TILE] = {};
    for (size_t c = 0; c < f.classes.size(); ++c)
        for (const StudentGroup &g : f.classes[c].groups)
            for (int r = 0; r < TILE; r += LANES) {
                const OwnRows own(t, r, static_cast<double>(c), g);
                const Rows<Lanes> facts = rows_at<weighted>(f, g, load<Lanes>(t.weight + r), own.rows);
                for (int j = g.first; j < g.last; ++j) {
                    const Lanes d = load<Lanes>(t.value + j * TILE + r);
                    const ColumnTerms cell = column_terms(f, f.classes[c], j, facts, d, own.rows, own.gone);
                    double *to = strange + j * TILE + r;
                    const Mask<Lanes> here = (cell.strange | own.lacking) & (d == d);
                    store(to, as_reals<Lanes>(as_bits(load<Lanes>(to)) | here));
                }
            }
    for (int j = 0; j < f.n_columns; ++j)
        for (int r = 0; r < t.rows; ++r)
            if (strange[j * TILE + r] != 0) { // a NaN is not
                t.value[j * TILE + r] = std::numeric_limits<double>::quiet_NaN();
                mark(row + r, j);
            }
}

// The product of scales and of 1 + z*z / scale over the columns of a group, for some rows.
struct Joint {
    Lanes scale, product, count, constant; // scale: over that with all rows; count and constant: of what is there
    Mask<Lanes> strange;
};

template <bool gaps, bool shared>
TB_INLINE Lanes join(const StudentFacts &f, const StudentClass &k, int j, const StudentTile &t, int r,
                     const Rows<Lanes> &rows, const OwnRows &own, Joint &to) {
    const Lanes d = load<Lanes>(t.value + j * TILE + r);
    const ColumnTerms cell = column_terms(f, k, j, rows, d, own.rows, own.gone);
    Lanes squares = shared ? load<Lanes>(t.squares + j * TILE + r) : cell.squares + rows.pull * cell.mean * cell.mean;
    Lanes wide = (cell.variance + squares) * rows.grow, z = (d + rows.all_step * d) - rows.share * cell.mean;
    Lanes s = z * z / wide, scale = wide * k.inverse[j];
    if constexpr (gaps) {
        Mask<Lanes> there = d == d;
        s = only(s, there), scale = there ? scale : broadcast<Lanes>(1.0);
        to.count += only(broadcast<Lanes>(1.0), there), to.constant += only(broadcast<Lanes>(k.fixed[j]), there);
        to.strange |= cell.strange & there;
    } else {
        to.strange |= cell.strange;
    }
    to.scale *= scale;
    to.product = (to.product + s) + to.product * s;
    return s;
}

// Log densities of a group. Where the product left the range of doubles, the logarithms are taken column by column.
template <bool weighted, bool shared, bool gaps>
TB_INLINE Mask<Lanes> add_group(const StudentFacts &f, const StudentClass &k, const StudentGroup &g, double code,
                                const StudentTile &t, int first, double *totals) {
    const Joint nothing{broadcast<Lanes>(1.0), Lanes{}, Lanes{}, Lanes{}, Mask<Lanes>{}};
    Joint joint[VECTORS];
    Rows<Lanes> rows[VECTORS];
    Mask<Lanes> strange{};
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
        const int r = first + v * LANES;
        joint[v] = nothing;
        rows[v] = rows_at<weighted>(f, g, load<Lanes>(t.weight + r), OwnRows(t, r, code, g).rows);
    }
    for (int j = g.first; j < g.last; ++j)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            const int r = first + v * LANES;
            join<gaps, shared>(f, k, j, t, r, rows[v], OwnRows(t, r, code, g), joint[v]);
        }
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
        const int r = first + v * LANES;
        Joint &own = joint[v];
        Mask<Lanes> near = own.product < NEAR;
        Lanes logs = lanes_log1p(only(own.product, near));
        if (any(~near)) [[unlikely]] {
            Lanes apart{};
            Joint ignored = nothing;
            for (int j = g.first; j < g.last; ++j) {
                Lanes s = join<gaps, shared>(f, k, j, t, r, rows[v], OwnRows(t, r, code, g), ignored);
                apart += lanes_log1p(s < NEAR ? s : broadcast<Lanes>(NEAR));
            }
            logs = near ? logs : apart;
        }
        Lanes count = gaps ? own.count : broadcast<Lanes>(g.last - g.first);
        Lanes constant = gaps ? own.constant : broadcast<Lanes>(g.constant);
        Lanes log_p = (count * rows[v].log_ratio + constant) - 0.5 * lanes_log(own.scale) - rows[v].half * logs;
        store(totals + r, load<Lanes>(totals + r) + log_p);
        strange |= own.strange | OwnRows(t, r, code, g).lacking;
    }
    return strange;
}

// All classes of a tile into the totals, [class][row]; returns true if some rows need care.
template <bool weighted, bool shared, bool gaps>
TB_INLINE bool score_tile(const StudentFacts &f, StudentTile &t, double *totals) {
    const size_t n_classes = f.classes.size();
    std::fill_n(totals, n_classes * TILE, 0.0);
    if constexpr (shared) {
        std::fill_n(t.squares, f.n_columns * TILE, 0.0);
        for (size_t c = 0; c < n_classes; ++c) add_squares<weighted>(f, f.classes[c], static_cast<double>(c), t);
    }
    Mask<Lanes> strange{};
    for (size_t c = 0; c < n_classes; ++c)
        for (const StudentGroup &g : f.classes[c].groups)
            for (int r = 0; r < TILE; r += STRETCH)
                strange |= add_group<weighted, shared, gaps>(f, f.classes[c], g, static_cast<double>(c), t, r,
                                                             totals + c * TILE);
    return any(strange);
}

template <bool weighted, bool shared> struct Student {
    const StudentFacts &f;

    TB_INLINE bool prepare(StudentTile &t) const {
        const bool gaps = measure(f.n_columns, t.value,
                                  [&](Lanes value, int j) { return (value * f.scale[j] - f.centre[j]) - f.low[j]; });
        for (int j = 0; j < f.n_columns && t.rows < TILE; ++j) // behind the last row
            std::fill(t.value + j * TILE + t.rows, t.value + (j + 1) * TILE, 0.0);
        return gaps;
    }
    template <bool gaps> TB_INLINE bool score(StudentTile &t, double *totals) const {
        return score_tile<weighted, shared, gaps>(f, t, totals);
    }
    void mark(StudentTile &t, int64_t row, const Mark &marks) const { mark_strange<weighted>(f, t, row, marks); }
};

template <class T, bool weighted, bool shared>
void leave_out(const Column<T> *columns, const Layout &layout, const int32_t *codes, const double *weights,
               const StudentFacts &f, double *out, int64_t start, int64_t stop, const Mark &marks) {
    StudentTile t;
    leave_out_rows<T, weighted>(columns, layout, codes, weights, Student<weighted, shared>{f}, t, f.n_columns,
                                static_cast<int64_t>(f.classes.size()), out, start, stop, marks);
}

} // namespace
} // namespace tb::TB_ISA
#endif
