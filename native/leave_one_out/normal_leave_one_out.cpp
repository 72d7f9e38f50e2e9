// add_normal_leave_one_out: log densities of the normal for real columns, each value by the sums without its own row.
//
// Rows are the lanes of a vector, as in score_reals.cpp. Without the row, the variance of its class is `ratio` times
// what it was, which the squared distance s of the value in standard deviations decides; so the classes are scored as
// they are, the s of a row's own class are kept on the way, and what they change is added at the end, with one
// logarithm of a product for all columns. Where the classes share their variance, those s are needed first, since all
// squares are divided by the ratio. Rows that closed forms are not good enough for are rare: they are only noticed on
// the way; then the tile is gone through once more to mark them as missing, and scored again.
#ifndef TB_ISA
#include "leave_one_out/leave_one_out.h"

namespace tb {
namespace {

constexpr int JOIN = 32;        // columns at a time: a product of so many ratios stays in the range of doubles
constexpr double FAR = 0x1p900; // a squared distance, in variances, that is left to others
constexpr double LOG_2_PI = 1.83787706640934548356;

// The facts of a class in every column; all 0 where it has no values, `inverse` and `constant` also without a variance.
struct NormalClass {
    std::vector<double> n, mean, low, inverse, constant; // inverse: of the standard deviation
    double sum = 0;                                      // of the constants, in the order of the columns
    bool whole = true;                                   // it has values in every column
};

// What the rows of a class decide for one of weight w: the variance grows by `growth` (1 - step s), the distance of the
// value from the mean by the root of `stretch`.
template <class V> struct Loss {
    V growth, step, stretch;
};

// What is looked up for the own class of a row.
struct OwnClass {
    double n, inverse;
    Loss<double> loss; // of weight 1
};

struct NormalFacts {
    int n_columns;
    bool shared;
    bool even = true;                           // every column has the rows of the first, and a variance in every class
    bool flat = false;                          // some class has no variance in some column
    std::vector<double> scale = {}, total = {}; // 2**-unit, rows of all classes
    std::vector<NormalClass> classes = {};
    std::vector<OwnClass> own = {}; // [column][class]
};

} // namespace
} // namespace tb

#define TB_FILE "leave_one_out/normal_leave_one_out.cpp"
#include "base/isa.h"

namespace tb {
namespace {

// Rows of all classes, and the variance within them.
std::pair<double, double> pooled_of(const Moments &in, int64_t column) {
    const double *n = in.n + column * in.n_classes, *variance = in.variance + column * in.n_classes;
    double total = 0, squares = 0;
    for (int64_t c = 0; c < in.n_classes; ++c) total += n[c], squares += n[c] * variance[c];
    return {total, squares / std::max(total, 1.0)};
}

void add_column(const Moments &in, int64_t column, double within, NormalClass &k, int64_t c) {
    const int64_t at = column * in.n_classes + c;
    const double n = in.n[at], variance = in.shared ? within : in.variance[at];
    const bool flat = n == 0 || variance == 0;
    const double constant = -0.5 * (LOG_2_PI + std::log(flat ? 1.0 : variance)) - double(in.units[column]) * LOG_2;
    k.n.push_back(n), k.mean.push_back(in.mean[at]), k.low.push_back(in.low[at]);
    k.inverse.push_back(flat ? 0.0 : 1 / std::sqrt(variance)), k.constant.push_back(flat ? 0.0 : constant);
    k.sum += k.constant.back(), k.whole &= n > 0;
}

NormalFacts facts_of(const Moments &in, int64_t first, int n_columns) {
    NormalFacts f{.n_columns = n_columns, .shared = in.shared, .classes = std::vector<NormalClass>(in.n_classes)};
    for (int64_t j = first; j < first + n_columns; ++j) {
        const auto [total, within] = pooled_of(in, j);
        f.scale.push_back(std::ldexp(1.0, static_cast<int>(-in.units[j]))), f.total.push_back(total);
        for (int64_t c = 0; c < in.n_classes; ++c) {
            NormalClass &k = f.classes[c];
            add_column(in, j, within, k, c);
            const double n = k.n.back(), inverse = k.inverse.back();
            f.flat |= inverse == 0, f.even &= n == k.n[0] && inverse != 0;
            f.own.push_back({n, inverse, plain::loss_of_one(in.shared, n, total, inverse)});
        }
    }
    return f;
}

auto add_normal_leave_one_out(nb::object columns, Vector<int32_t> codes, std::optional<Vector<double>> weights,
                              Vector<int64_t> units, Matrix<double> n, Cube<double> moments, bool shared,
                              Out<double> out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(columns, contract);
    return leave_out_columns(
        {columns, codes, weights, units, n, moments, out, start, stop}, contract, block, shared, JOIN, facts_of,
        []<class T>(bool weighted, bool is_shared) {
            if (weighted) return is_shared ? TB_BEST(leave_out<T, true, true>) : TB_BEST(leave_out<T, true, false>);
            return is_shared ? TB_BEST(leave_out<T, false, true>) : TB_BEST(leave_out<T, false, false>);
        });
}

} // namespace

void register_normal_leave_one_out(nb::module_ &m) {
    define_kernel(m, "add_normal_leave_one_out", &add_normal_leave_one_out);
}

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

#include "leave_one_out/leave_one_out_tile.h"

namespace tb::TB_ISA {
namespace {

constexpr int VECTORS = 4, STRETCH = VECTORS * LANES; // rows that go through the columns together

struct alignas(64) NormalTile : RowTile<JOIN> { // values are in the units of the columns
    // Squared distance from the mean of the own class; if shared, then a factor of squares.
    double own_squares[JOIN * TILE];
    double growth[JOIN * TILE], step[JOIN * TILE], stretch[JOIN * TILE]; // see Loss; one line if the facts are even
};

// inverse: 0 where there is no variance, so that nothing changes. A step that is not a number: the row needs care.
template <class V> TB_INLINE Loss<V> loss_of(bool shared, V n, double total, V w, V inverse) {
    const V one = broadcast<V>(1.0), nan = broadcast<V>(std::numeric_limits<double>::quiet_NaN());
    const V left = n - w, part = n / left;
    V growth = part, step = w / left;
    if (shared) {
        const double all = std::max(total, 1.0);
        const V rest = total - w;
        growth = all / (rest > 1.0 ? rest : one), step = w / all * part;
    }
    const Mask<V> some = left > LITTLE * n, changes = some & (inverse != 0.0);
    return {changes ? growth : one, some ? only(step, changes) : nan, changes ? part * part : one};
}

inline Loss<double> loss_of_one(bool shared, double n, double total, double inverse) {
    const Loss<f64x4> loss = loss_of(shared, broadcast(n), total, broadcast(1.0), broadcast(inverse));
    return {loss.growth[0], loss.step[0], loss.stretch[0]};
}

// The losses of column j, for the rows of a tile.
template <bool weighted> TB_INLINE void find_losses(const NormalFacts &f, int j, NormalTile &t) {
    const int *codes = t.own;
    const OwnClass *classes = f.own.data() + j * f.classes.size();
    double *growth = t.growth + j * TILE, *step = t.step + j * TILE, *stretch = t.stretch + j * TILE;
    if constexpr (weighted) {
        alignas(64) double n[TILE], inverse[TILE];
        for (int r = 0; r < TILE; ++r) n[r] = classes[codes[r]].n, inverse[r] = classes[codes[r]].inverse;
        for (int r = 0; r < TILE; r += LANES) {
            const Loss<Lanes> loss =
                loss_of(f.shared, load<Lanes>(n + r), f.total[j], load<Lanes>(t.weight + r), load<Lanes>(inverse + r));
            store(growth + r, loss.growth), store(step + r, loss.step), store(stretch + r, loss.stretch);
        }
    } else {
        for (int r = 0; r < TILE; ++r) {
            const Loss<double> &loss = classes[codes[r]].loss;
            growth[r] = loss.growth, step[r] = loss.step, stretch[r] = loss.stretch;
        }
    }
    for (int r = 0; r < t.rows && f.flat; ++r)
        if (classes[codes[r]].inverse == 0) { // a value that is not the only one there is was not learned
            const NormalClass &k = f.classes[codes[r]];
            if ((t.value[j * TILE + r] - k.mean[j]) - k.low[j] != 0) step[r] = std::numeric_limits<double>::quiet_NaN();
        }
}

// Sums over the columns of squared distances from the mean of a class, and with gaps of the constants of what is there.
// keep: the distances of the class's own rows are kept; shrink: they are multiplied by what was found of the own rows.
template <bool gaps, bool keep, bool shrink>
TB_INLINE void gather(const NormalClass &k, int n_columns, double code, int first, NormalTile &t,
                      Lanes (&squares)[VECTORS], Lanes (&constants)[VECTORS]) {
    Mask<Lanes> own[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) own[v] = load<Lanes>(t.code + first + v * LANES) == code;
    for (int j = 0; j < n_columns; ++j) {
        const Lanes mean = broadcast<Lanes>(k.mean[j]), low = broadcast<Lanes>(k.low[j]);
        const Lanes inverse = broadcast<Lanes>(k.inverse[j]), constant = broadcast<Lanes>(k.constant[j]);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            const int at = j * TILE + first + v * LANES;
            const Lanes value = load<Lanes>(t.value + at), z = ((value - mean) - low) * inverse;
            Lanes s = z * z;
            if constexpr (gaps) {
                const Mask<Lanes> there = value == value;
                s = only(s, there);
                constants[v] += only(constant, there);
            }
            if constexpr (keep) store(t.own_squares + at, own[v] ? s : load<Lanes>(t.own_squares + at));
            squares[v] += shrink ? s * load<Lanes>(t.own_squares + at) : s;
        }
    }
}

// Adds a class to its totals; returns true if some rows need care. Blocks of rows without its own keep nothing.
template <bool gaps, bool shared>
TB_INLINE Mask<Lanes> add_class(const NormalFacts &f, int64_t c, NormalTile &t, double *totals) {
    const NormalClass &k = f.classes[c];
    const double code = static_cast<double>(c);
    Mask<Lanes> far{};
    for (int first = 0; first < TILE; first += STRETCH) {
        Lanes squares[VECTORS] = {}, constants[VECTORS] = {};
        Mask<Lanes> own{};
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) own |= load<Lanes>(t.code + first + v * LANES) == code;
        if (shared) gather<gaps, false, true>(k, f.n_columns, code, first, t, squares, constants);
        else if (any(own)) gather<gaps, true, false>(k, f.n_columns, code, first, t, squares, constants);
        else gather<gaps, false, false>(k, f.n_columns, code, first, t, squares, constants);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            far |= ~(squares[v] < FAR);
            const Lanes constant = gaps ? constants[v] : broadcast<Lanes>(k.sum);
            store(totals + first + v * LANES, constant - 0.5 * squares[v]);
        }
    }
    return far;
}

// The squared distances of all rows from the mean of their class.
template <bool gaps> TB_INLINE void find_own(const NormalFacts &f, NormalTile &t) {
    for (size_t c = 0; c < f.classes.size(); ++c)
        for (int first = 0; first < TILE; first += STRETCH) {
            Lanes squares[VECTORS] = {}, constants[VECTORS] = {};
            Mask<Lanes> own{};
            for (int v = 0; v < VECTORS; ++v) own |= load<Lanes>(t.code + first + v * LANES) == static_cast<double>(c);
            if (any(own))
                gather<gaps, true, false>(f.classes[c], f.n_columns, static_cast<double>(c), first, t, squares,
                                          constants);
        }
}

// What changes for the own class of every row; where the variance is shared, `own` becomes what squares are multiplied
// by. Returns true if some rows need care.
template <bool gaps, bool shared> TB_INLINE Mask<Lanes> change(const NormalFacts &f, NormalTile &t, double *more) {
    Mask<Lanes> strange{};
    const int line = f.even ? 0 : TILE;
    for (int r = 0; r < TILE; r += LANES) {
        Lanes squares{}, product = broadcast<Lanes>(1.0);
        for (int j = 0; j < f.n_columns; ++j) {
            const int at = j * TILE + r, from = j * line + r;
            const Lanes s = load<Lanes>(t.own_squares + at), rest = 1.0 - load<Lanes>(t.step + from) * s;
            Mask<Lanes> odd = ~(rest >= LITTLE);
            Lanes ratio = load<Lanes>(t.growth + from) * rest;
            if constexpr (gaps) {
                const Lanes value = load<Lanes>(t.value + at);
                const Mask<Lanes> there = value == value;
                odd &= there, ratio = there ? ratio : broadcast<Lanes>(1.0);
            }
            strange |= odd;
            if constexpr (shared) {
                const Lanes inverse = 1.0 / ratio;
                squares += s * inverse * (load<Lanes>(t.stretch + from) - 1.0);
                store(t.own_squares + at, inverse);
            } else {
                squares += s * load<Lanes>(t.stretch + from) / ratio - s;
                product *= ratio;
            }
        }
        store(more + r, -0.5 * squares - (shared ? Lanes{} : 0.5 * lanes_log(product)));
    }
    return strange;
}

// Adds the logarithms of what the shared variance is divided by, in the columns where a class has values.
TB_INLINE void add_logs(const NormalFacts &f, const NormalTile &t, double *totals) {
    alignas(64) double whole[TILE];
    auto logs = [&](int r, const NormalClass *k) {
        Lanes product = broadcast<Lanes>(1.0);
        for (int j = 0; j < f.n_columns; ++j)
            if (!k || k->n[j] > 0) product *= load<Lanes>(t.own_squares + j * TILE + r);
        return 0.5 * lanes_log(product);
    };
    for (int r = 0; r < TILE; r += LANES) store(whole + r, logs(r, nullptr));
    for (const NormalClass &k : f.classes) {
        for (int r = 0; r < TILE; r += LANES)
            store(totals + r, load<Lanes>(totals + r) + (k.whole ? load<Lanes>(whole + r) : logs(r, &k)));
        totals += TILE;
    }
}

// All classes of a tile into the totals, [class][row]; returns true if some rows need care.
template <bool gaps, bool shared> TB_INLINE bool score_tile(const NormalFacts &f, NormalTile &t, double *totals) {
    alignas(64) double more[TILE];
    Mask<Lanes> strange{};
    if constexpr (shared) {
        find_own<gaps>(f, t);
        strange |= change<gaps, true>(f, t, more);
    }
    for (size_t c = 0; c < f.classes.size(); ++c) strange |= add_class<gaps, shared>(f, c, t, totals + c * TILE);
    if constexpr (shared) add_logs(f, t, totals);
    else strange |= change<gaps, false>(f, t, more);
    for (int r = 0; r < t.rows; ++r) totals[t.own[r] * TILE + r] += more[r];
    return any(strange);
}

inline double squared_distance(const NormalClass &k, int j, double value) {
    const double z = ((value - k.mean[j]) - k.low[j]) * k.inverse[j];
    return z * z;
}

// Marks the values that need care as missing.
inline void mark_strange(const NormalFacts &f, NormalTile &t, int64_t row, const Mark &mark) {
    for (int j = 0; j < f.n_columns; ++j)
        for (int r = 0; r < t.rows; ++r) {
            double &value = t.value[j * TILE + r];
            if (std::isnan(value)) continue;
            const double step = t.step[(f.even ? 0 : j * TILE) + r];
            bool good = 1.0 - step * squared_distance(f.classes[t.own[r]], j, value) >= LITTLE;
            for (size_t c = 0; c < f.classes.size() && good; ++c) good = squared_distance(f.classes[c], j, value) < FAR;
            if (good) continue;
            value = std::numeric_limits<double>::quiet_NaN();
            mark(row + r, j);
        }
}

template <bool weighted, bool shared> struct Normal {
    const NormalFacts &f;

    TB_INLINE bool prepare(NormalTile &t) const {
        const bool gaps = measure(f.n_columns, t.value, [&](Lanes value, int j) { return value * f.scale[j]; });
        for (int j = 0; j < (f.even ? 1 : f.n_columns); ++j) find_losses<weighted>(f, j, t);
        return gaps;
    }
    template <bool gaps> TB_INLINE bool score(NormalTile &t, double *totals) const {
        return score_tile<gaps, shared>(f, t, totals);
    }
    void mark(NormalTile &t, int64_t row, const Mark &marks) const { mark_strange(f, t, row, marks); }
};

template <class T, bool weighted, bool shared>
void leave_out(const Column<T> *columns, const Layout &layout, const int32_t *codes, const double *weights,
               const NormalFacts &f, double *out, int64_t start, int64_t stop, const Mark &marks) {
    NormalTile t;
    std::fill_n(t.own_squares, JOIN * TILE, 0.0); // for the lanes behind the last row, which are no class's own
    leave_out_rows<T, weighted>(columns, layout, codes, weights, Normal<weighted, shared>{f}, t, f.n_columns,
                                static_cast<int64_t>(f.classes.size()), out, start, stop, marks);
}

} // namespace
} // namespace tb::TB_ISA
#endif
