// add_student and add_normal: log likelihoods of real columns.
//
// Rows are the lanes of a vector, and four vectors of them go through the columns together, to hide the latencies. The
// logarithms of the Student density are the costly part, so several columns share one: log1p(s) + log1p(t) =
// log1p(s + t + s*t), which keeps the relative precision of small terms. Which columns share is decided by the tables
// alone (same `half`, at most GROUP of them); columns with weights mostly share it with none. Where s is small, a few
// terms of the series of log1p are enough (student_series.h), which also is decided by the tables and the value alone. A
// row whose product leaves the range of doubles is done again column by column; this depends on that row only.
// The constants are summed apart from the logarithms, so a row without gaps can use a sum made beforehand.
#ifndef TB_ISA
#include "base/array_view.h"
#include "base/tile_sizes.h"

namespace tb {
namespace {

constexpr int GROUP = 20;               // columns per logarithm: a product's rounding and size grow with their number
constexpr double NEAR = 0x1p1000;       // a product below it has met no overflow
constexpr double LARGEST = 0x1p500;     // z*z is formed below it
constexpr double NEGLIGIBLE = 0x1p-100; // square of the low part of a mean, in standard deviations
constexpr double HUGEST = std::numeric_limits<double>::max();

enum class Density { STUDENT, NORMAL };

constexpr int SHARING_COLUMNS = 3; // columns with the same `half` for which a shared logarithm pays

struct LogGroup {
    int first, last; // columns first .. last - 1
    double half;     // what the logarithm, or the sum of squares, is multiplied with
    bool low;        // some mean has a low part
    bool shared;     // whether the columns share one logarithm
    int series;      // of SERIES, for the logarithms
};

// How many terms of log1p(s) = s - s**2 / 2 + .. are enough for s below 2**-bits.
struct Series {
    int terms, bits;
};
constexpr Series SERIES[] = {{4, 13}, {6, 9}, {10, 5}, {1, 0}}; // the last: none

// The tables class by class, for the columns of one chunk.
struct RealTables {
    struct ClassGroups {
        std::vector<LogGroup> groups;
        double constant = 0; // sum of the constants in the order of the columns
    };
    int n; // columns
    std::vector<double> mean, low, inverse, constant, half;
    std::vector<ClassGroups> classes;
};

struct RealInput {
    const double *units, *mean, *low, *inverse, *half, *constant; // half: null for the normal density
    int64_t n_classes;
};

// The series for columns of which n share a logarithm: the sum of their s is mostly below 4 * n / nu, and of one, four
// standard deviations away, 16 / nu; half = (nu + 1) / 2.
int series_for(double half, int n) {
    int series = 0;
    while (SERIES[series].bits > 0 && !(std::max(16, 4 * n) <= 2 * half / double(1 << SERIES[series].bits))) ++series;
    return series;
}

// Cuts the columns of a class into groups: runs of one `half`, the long ones in equal parts, and the others together.
void add_groups(const RealInput &in, int64_t first_column, int64_t c, const RealTables &t,
                std::vector<LogGroup> &groups) {
    auto half = [&](int j) { return in.half ? in.half[(first_column + j) * in.n_classes + c] : 0.5; };
    const int limit = in.half ? GROUP : CHUNK;
    const auto end_of = [&](int first) {
        int end = first + 1; // NaN does not equal itself
        while (end < t.n && half(end) == half(first)) ++end;
        return end;
    };
    for (int first = 0, end; first < t.n; first = end) {
        end = end_of(first);
        if (in.half && end - first < SHARING_COLUMNS && end < t.n) {
            for (int next = end; next < t.n && (next = end_of(end)) - end < SHARING_COLUMNS;) end = next;
            bool low = false;
            for (int j = first; j < end; ++j) low |= t.low[c * t.n + j] != 0;
            const double *own = &t.half[c * t.n + first]; // the greatest counts, as weights make some of them small
            groups.push_back({first, end, 0.0, low, false, series_for(*std::max_element(own, own + (end - first)), 1)});
            continue;
        }
        const int parts = (end - first + limit - 1) / limit;
        for (int part = 0, from = first; part < parts; ++part) {
            const int to = first + (end - first) * (part + 1) / parts;
            bool low = false;
            for (int j = from; j < to; ++j) low |= t.low[c * t.n + j] != 0;
            groups.push_back({from, to, half(first), low, true, series_for(half(first), to - from)});
            from = to;
        }
    }
}

// The tables for some columns, in the memory of the thread: for a few rows, asking for new memory would cost most.
const RealTables &tables_of(const RealInput &in, int64_t first_column, int n) {
    thread_local RealTables t;
    const int64_t n_classes = in.n_classes;
    t.n = n;
    t.classes.resize(n_classes);
    for (auto *v : {&t.mean, &t.low, &t.inverse, &t.constant, &t.half}) v->resize(n * n_classes);
    for (int64_t c = 0; c < n_classes; ++c) {
        t.classes[c].groups.clear();
        t.classes[c].constant = 0;
        for (int j = 0; j < n; ++j) {
            const int64_t from = (first_column + j) * n_classes + c, to = c * n + j;
            t.mean[to] = in.mean[from], t.inverse[to] = in.inverse[from], t.constant[to] = in.constant[from];
            t.half[to] = in.half ? in.half[from] : 0.5;
            const double low = in.low[from], distance = low * t.inverse[to];
            t.low[to] = 2 * t.half[to] * distance * distance < NEGLIGIBLE ? 0.0 : low;
            t.classes[c].constant += t.constant[to];
        }
        add_groups(in, first_column, c, t, t.classes[c].groups);
    }
    return t;
}

} // namespace
} // namespace tb

#define TB_FILE "scoring/score_reals.cpp"
#include "base/isa.h"

namespace tb {
namespace {

constexpr int64_t QUICK_PRODUCTS =
    4096; // products of rows, columns and classes for which the interpreter lock is not given up

template <Density kind, class T>
int64_t add_columns(const std::vector<Column<T>> &columns, const RealInput &in, double *to, int64_t start,
                    int64_t stop) {
    const int64_t n_columns = static_cast<int64_t>(columns.size());
    std::optional<nb::gil_scoped_release> release;
    if ((stop - start) * n_columns * in.n_classes > QUICK_PRODUCTS) release.emplace();
    const auto run = TB_BEST(add_chunk<T, kind>);
    int64_t bad = -1;
    for (int64_t first = 0; first < n_columns; first += CHUNK) {
        const RealTables &t = tables_of(in, first, static_cast<int>(std::min<int64_t>(CHUNK, n_columns - first)));
        const Layout layout = layout_of(&columns[first], t.n, stop - start);
        int64_t place = run(&columns[first], layout, in.units + first, t, n_columns, in.n_classes, to, start, stop);
        bad = first_place(bad, place < 0 ? place : place + first);
    }
    return bad;
}

// half: none for the normal density.
template <Density kind>
int64_t add_reals(nb::handle columns, nb::handle units, nb::handle mean, nb::handle low, nb::handle inverse,
                  nb::handle half, nb::handle constant, nb::handle out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(nb::borrow(columns), contract);
    const View<double> to(out, 2);
    if (!to.contiguous(2)) throw nb::type_error("expected a NumPy array without gaps to write into");
    contract.array("out", to, {ROWS, CLASSES});
    const Doubles unit("units", units, {COLUMNS}, contract);
    const std::initializer_list<int64_t> shape = {COLUMNS, CLASSES};
    const Doubles means("mean", mean, shape, contract), lows("mean_low", low, shape, contract);
    const Doubles inverses("inverse", inverse, shape, contract);
    std::optional<Doubles> halves;
    if (half.is_valid()) halves.emplace("half", half, shape, contract);
    const Doubles constants("log_constant", constant, shape, contract);
    const RealInput in{unit.data,      means.data,       lows.data, inverses.data, halves ? halves->data : nullptr,
                       constants.data, contract[CLASSES]};
    double *first = reinterpret_cast<double *>(to.data);
    return block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &own) -> int64_t {
        return add_columns<kind>(own, in, first, start, stop);
    });
}

int64_t add_student(nb::handle columns, nb::handle units, nb::handle mean, nb::handle low, nb::handle inverse,
                    nb::handle half, nb::handle constant, nb::handle out, int64_t start, int64_t stop) {
    return add_reals<Density::STUDENT>(columns, units, mean, low, inverse, half, constant, out, start, stop);
}

int64_t add_normal(nb::handle columns, nb::handle units, nb::handle mean, nb::handle low, nb::handle inverse,
                   nb::handle constant, nb::handle out, int64_t start, int64_t stop) {
    return add_reals<Density::NORMAL>(columns, units, mean, low, inverse, {}, constant, out, start, stop);
}

} // namespace

void register_reals(nb::module_ &m) {
    define_kernel(m, "add_student", &add_student);
    define_kernel(m, "add_normal", &add_normal);
}

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

#include "scoring/student_series.h"

namespace tb::TB_ISA {
namespace {

// The product (or sum) over the columns of a group for SERIES_ROWS rows; with gaps, also the constants of what is there.
template <Density kind, bool gaps, bool low>
TB_INLINE void gather(const double *x, const RealTables &t, int64_t table, const LogGroup &g, RowVectors &q,
                      RowVectors &constants) {
    for (int j = g.first; j < g.last; ++j) {
        const Lanes mean = broadcast<Lanes>(t.mean[table + j]), inverse = broadcast<Lanes>(t.inverse[table + j]);
        const Lanes mean_low = broadcast<Lanes>(t.low[table + j]), constant = broadcast<Lanes>(t.constant[table + j]);
#pragma GCC unroll 8
        for (int v = 0; v < SERIES_VECTORS; ++v) {
            Lanes value = load<Lanes>(x + j * TILE + LANES * v);
            Lanes z = value - mean;
            if constexpr (low) z -= mean_low;
            z *= inverse;
            Lanes s = z * z;
            if constexpr (gaps) {
                Mask<Lanes> there = value == value;
                s = only(s, there);
                constants[v] += only(constant, there);
            }
            if constexpr (kind == Density::STUDENT) q[v] = (q[v] + s) + q[v] * s;
            else q[v] += s;
        }
    }
}

TB_INLINE void clear(RowVectors &block) { // which `= {}` would do in memory
#pragma GCC unroll 8
    for (int v = 0; v < SERIES_VECTORS; ++v) block[v] = Lanes{};
}

// Log likelihood of SERIES_ROWS rows under one class; returns true if a row must be done again by `far_row`.
template <Density kind, bool gaps>
TB_INLINE bool score_block(const double *x, const RealTables &t, int64_t c, double *totals) {
    RowVectors sum, constants;
    clear(sum), clear(constants);
    Mask<Lanes> far{};
    const int64_t table = c * t.n;
    for (const LogGroup &g : t.classes[c].groups) {
        if (kind == Density::STUDENT && !g.shared) {
            with_series(g.series, [&]<int series>() __attribute__((always_inline)) {
                if (g.low) subtract_series<series, gaps, true>(x, t, table, g, sum, constants, far);
                else subtract_series<series, gaps, false>(x, t, table, g, sum, constants, far);
            });
            continue;
        }
        RowVectors q;
        clear(q);
        if (g.low) gather<kind, gaps, true>(x, t, table, g, q, constants);
        else gather<kind, gaps, false>(x, t, table, g, q, constants);
        const Lanes half = broadcast<Lanes>(g.half);
        if constexpr (kind == Density::STUDENT) {
            with_series(g.series,
                        [&]<int series>() __attribute__((always_inline)) { subtract_logs<series>(q, half, sum, far); });
            continue;
        }
#pragma GCC unroll 8
        for (int v = 0; v < SERIES_VECTORS; ++v) {
            Mask<Lanes> near = q[v] < NEAR;
            far |= ~near;
            sum[v] -= half * only(q[v], near);
        }
    }
    const Lanes constant = broadcast<Lanes>(t.classes[c].constant);
#pragma GCC unroll 4
    for (int v = 0; v < SERIES_VECTORS; ++v) store(totals + LANES * v, (gaps ? constants[v] : constant) + sum[v]);
    return any(far);
}

inline double distance(double x, const RealTables &t, int64_t at) {
    return std::min(std::fabs(((x - t.mean[at]) - t.low[at]) * t.inverse[at]), HUGEST);
}

// log1p(z*z), or z*z, also where the square overflows.
inline double far_term(Density kind, double z) {
    if (z < LARGEST) return kind == Density::STUDENT ? lanes_log1p(broadcast(z * z))[0] : z * z;
    const double log_z = lanes_log(broadcast(z))[0];
    return kind == Density::STUDENT ? 2.0 * log_z : log_z * (0x1p1000 / 500 / 0.693147180559945309);
}

// What `score_block` left out of one row: the groups whose product went beyond NEAR, column by column.
inline double far_row(Density kind, const double *x, const RealTables &t, int64_t c) {
    double total = 0;
    for (const LogGroup &g : t.classes[c].groups) {
        double q = 0, far = 0;
        for (int j = g.first; j < g.last; ++j) {
            const double value = x[j * TILE], z = distance(value, t, c * t.n + j), s = z * z;
            if (std::isnan(value)) continue;
            if (!g.shared) {
                const double half = t.half[c * t.n + j];
                if (!(s < NEAR) && half != 0) total -= half * far_term(kind, z);
                continue;
            }
            q = kind == Density::STUDENT ? (q + s) + q * s : q + s;
            far += far_term(kind, z);
        }
        if (!(q < NEAR) && g.half != 0) total -= g.half * far;
    }
    return total;
}

// Asks for one class's share of what the next tile needs, values and totals: all at once the requests would queue up.
TB_INLINE void prefetch_share(const Next &next, const double *out, int64_t c, int64_t n_classes) {
    next.prefetch(TILE * c / n_classes, TILE * (c + 1) / n_classes);
    for (int i = 0; i < TILE; i += 8) __builtin_prefetch(out + TILE * (n_classes + c) + i, 1);
}

// All classes for a tile whose values are in x.
template <Density kind, bool gaps>
TB_INLINE void score_tile(const double *x, const RealTables &t, int rows, const Next *next, double *out,
                          int64_t n_classes) {
    alignas(64) double totals[CLASS_BLOCK * TILE];
    for (int64_t c = 0; c < n_classes; c += CLASS_BLOCK) {
        const int classes = static_cast<int>(std::min<int64_t>(CLASS_BLOCK, n_classes - c));
        for (int k = 0; k < classes; ++k) {
            if (next) prefetch_share(*next, out, c + k, n_classes);
            for (int r = 0; r < rows; r += SERIES_ROWS) {
                double *at = totals + k * TILE + r;
                if (score_block<kind, gaps>(x + r, t, c + k, at)) [[unlikely]]
                    for (int i = 0; i < SERIES_ROWS; ++i) at[i] += far_row(kind, x + r + i, t, c + k);
            }
        }
        add_totals(totals, classes, rows, out + c, n_classes);
    }
}

// Reads a tile with the columns multiplied by their units; returns true if a value is not finite then.
template <class T>
TB_INLINE bool read_scaled(const Column<T> *columns, int n, const Layout &layout, int64_t row, int rows,
                           const double *units, double *x) {
    i64x4 strange{};
    read_tile(columns, n, layout, row, rows, x, [&](int j, f64x4 four) __attribute__((always_inline)) {
        four *= broadcast(units[j]);
        strange |= as_bits(four - four); // 0 where finite, else NaN
        return four;
    });
    return any(strange);
}

// Marks the infinite values of a tile as missing; returns the first by row and column as r * n_columns + j, or -1. Those
// that only their unit has made infinite become the largest double.
template <class T>
int64_t drop_infinite(const Column<T> *columns, int n, int64_t row, int rows, int64_t n_columns, double *x) {
    int64_t bad = -1;
    for (int j = 0; j < n; ++j)
        for (int r = 0; r < rows; ++r) {
            double &value = x[j * TILE + r];
            if (!std::isinf(value)) continue;
            if (std::isinf(columns[j][row + r])) {
                value = std::numeric_limits<double>::quiet_NaN();
                bad = first_place(bad, (row + r) * n_columns + j);
            } else {
                value = std::copysign(HUGEST, value);
            }
        }
    return bad;
}

template <class T, Density kind>
int64_t add_chunk(const Column<T> *columns, const Layout &layout, const double *units, const RealTables &t,
                  int64_t n_columns, int64_t n_classes, double *out, int64_t start, int64_t stop) {
    alignas(64) double x[CHUNK * TILE];
    int64_t bad = -1;
    for (int64_t row = start; row < stop; row += TILE) {
        const int rows = static_cast<int>(std::min<int64_t>(TILE, stop - row));
        const bool gaps = read_scaled(columns, t.n, layout, row, rows, units, x);
        const Next behind = Next::behind(columns, layout, row), *next = row + TILE < stop ? &behind : nullptr;
        if (gaps) {
            bad = first_place(bad, drop_infinite(columns, t.n, row, rows, n_columns, x));
            score_tile<kind, true>(x, t, rows, next, out + row * n_classes, n_classes);
        } else {
            score_tile<kind, false>(x, t, rows, next, out + row * n_classes, n_classes);
        }
    }
    return bad;
}

} // namespace
} // namespace tb::TB_ISA
#endif
