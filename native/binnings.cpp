// average_binnings: P(class | bucket) averaged over all ways to cut a column into runs of buckets.
//
// The dynamic programme is that of Yao (1984) and Fearnhead (2006) for change points, in log space; the reference
// kernel has the formulas. Matrices of runs are stored as [to][from], so that every loop runs over the starts of the
// runs that end at one place, four at a time. Log gammas come from a table where counts are whole and not many;
// otherwise a class that occurs in few buckets has few different counts, and its log gammas are taken once per pair of
// those buckets. For each strength one rate goes through in log space; relative to its sums the other rates stay within
// the range of doubles and need no logarithms. All sums are of positive terms, so no share can vanish.
#ifndef TB_ISA
#include "score.h"

namespace tb {
namespace {

// One column, and the scratch that goes with its size.
struct Binning {
    int64_t buckets, width;       // width: places 0 .. buckets, rounded up to whole vectors
    std::vector<int64_t> present; // classes that occur
    std::vector<double> share;    // of those classes in the column
    std::vector<double> before;   // [class][place]: count before the place
    std::vector<double> all;      // [place]: count of all classes before the place
    std::vector<double> log_m, best_log_m, weight; // [to][from]
    std::vector<double> few, few_values, spread;   // of the class at hand: see add_log_gammas
    std::vector<int32_t> index;
    std::vector<double> table;                    // log gammas by whole count, empty if counts are not whole or many
    std::vector<double> forward, backward, start; // see forward_sums
    std::vector<double> ratio;                    // [to][from], see relative_sums
};

constexpr double TABLE = 8192; // rows up to which a table of log gammas is quicker than log gammas of the runs

Binning binning_of(const double *counts, int64_t buckets, int64_t n_classes) {
    const int64_t width = (buckets + 4) / 4 * 4;
    Binning b{buckets, width, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    std::vector<double> sums(n_classes);
    double total = 0;
    for (int64_t k = 0; k < buckets; ++k)
        for (int64_t c = 0; c < n_classes; ++c) sums[c] += counts[k * n_classes + c];
    for (int64_t c = 0; c < n_classes; ++c) {
        total += sums[c];
        if (sums[c] > 0) b.present.push_back(c);
    }
    if (b.present.empty()) return b;
    b.before.resize(b.present.size() * width);
    b.all.resize(width);
    for (size_t c = 0; c < b.present.size(); ++c) {
        double *before = &b.before[c * width];
        b.share.push_back(sums[b.present[c]] / total);
        for (int64_t k = 0; k < buckets; ++k) before[k + 1] = before[k] + counts[k * n_classes + b.present[c]];
        for (int64_t k = 1; k <= buckets; ++k) b.all[k] += before[k];
    }
    for (auto *matrix : {&b.log_m, &b.best_log_m, &b.weight, &b.ratio}) matrix->resize((buckets + 1) * width);
    for (auto *vector : {&b.few, &b.few_values, &b.spread, &b.forward, &b.backward, &b.start}) vector->resize(width);
    b.index.resize(width);
    bool whole = total <= TABLE;
    for (double count : b.before) whole = whole && count == std::floor(count);
    if (whole) b.table.resize(static_cast<size_t>(total) + 4);
    return b;
}

struct Choice {
    double strength, rate, log_evidence;
};

} // namespace
} // namespace tb

#define TB_FILE "binnings.cpp"
#include "isa.h"

namespace tb {
namespace {

std::vector<double> sorted(Vector<double> values) {
    std::vector<double> result(values.data(), values.data() + values.shape(0));
    std::sort(result.begin(), result.end());
    return result;
}

nb::tuple average_binnings(Matrix<double> counts, Vector<int64_t> offsets, Vector<double> strengths,
                           Vector<double> rates) {
    const size_t n_columns = offsets.shape(0) - 1, n_classes = counts.shape(1);
    std::vector<double> share(counts.shape(0) * n_classes), a(n_columns), rho(n_columns), log_evidence(n_columns);
    const auto all_strengths = sorted(strengths), all_rates = sorted(rates);
    const double *from = counts.data();
    const int64_t *first = offsets.data();
    {
        nb::gil_scoped_release release;
        const auto run = TB_BEST(average_column);
        for (size_t j = 0; j < n_columns; ++j) {
            Binning b = binning_of(from + first[j] * n_classes, first[j + 1] - first[j], n_classes);
            Choice choice{all_strengths.back(), all_rates.front(), 0.0};
            if (!b.present.empty())
                choice = run(b, all_strengths, all_rates, share.data() + first[j] * n_classes, n_classes);
            a[j] = choice.strength, rho[j] = choice.rate, log_evidence[j] = choice.log_evidence;
        }
    }
    const size_t n_buckets = counts.shape(0);
    return nb::make_tuple(to_numpy(std::move(share), {n_buckets, n_classes}), to_numpy(std::move(a), {n_columns}),
                          to_numpy(std::move(rho), {n_columns}), to_numpy(std::move(log_evidence), {n_columns}));
}

} // namespace

void register_binnings(nb::module_ &m) { m.def("average_binnings", &average_binnings); }

} // namespace tb

#else
#include "tile.h"

#include "logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();

// Stirling's series from 8 on; below, by way of lgamma(z) = lgamma(z + 8) - log(z (z + 1) .. (z + 7)).
TB_INLINE f64x4 log_gamma(f64x4 z) {
    i64x4 small = z < 8.0;
    f64x4 w = small ? z + 8.0 : z, r = 1.0 / w, t = r * r;
    f64x4 series =
        r * (1.0 / 12 -
             t * (1.0 / 360 -
                  t * (1.0 / 1260 -
                       t * (1.0 / 1680 -
                            t * (1.0 / 1188 - t * (691.0 / 360360 - t * (1.0 / 156 - t * (3617.0 / 122400))))))));
    f64x4 result = (w - 0.5) * log4(w) - w + (0.918938533204672741780 + series);
    if (any(small)) {
        f64x4 product = (z * (z + 1.0)) * ((z + 2.0) * (z + 3.0)) * (((z + 4.0) * (z + 5.0)) * ((z + 6.0) * (z + 7.0)));
        result = small ? result - log4(product) : result;
    }
    return result;
}

// values[i] = lgamma(a + counts[to] - counts[i]) - at_zero for i < to; what comes behind has no meaning.
TB_INLINE void log_risings(const double *counts, int64_t to, double a, f64x4 at_zero, double *values) {
    const f64x4 end = broadcast(counts[to]);
    for (int64_t i = 0; i < to; i += 4) store(values + i, log_gamma(a + (end - load(counts + i))) - at_zero);
}

// The same as add_log_gammas, for whole counts.
TB_INLINE void add_from_table(Binning &b, const double *before, double a, double sign) {
    const f64x4 at_zero = log_gamma(broadcast(a));
    for (int64_t n = 0; n <= before[b.buckets]; n += 4)
        store(&b.table[n], sign * (log_gamma(a + (static_cast<double>(n) + f64x4{0, 1, 2, 3})) - at_zero));
    for (int64_t k = 0; k <= b.buckets; ++k) b.index[k] = static_cast<int32_t>(before[k]);
    for (int64_t to = 1; to <= b.buckets; ++to) {
        double *row = &b.log_m[to * b.width];
        const double *last = &b.table[b.index[to]];
        for (int64_t i = 0; i < to; ++i) row[i] += last[-b.index[i]];
    }
}

// Adds sign * (lgamma(a + n) - lgamma(a)) to every run, n its count by way of before[place].
TB_INLINE void add_log_gammas(Binning &b, const double *before, double a, double sign) {
    if (!b.table.empty()) return add_from_table(b, before, a, sign);
    int64_t some = 0; // places up to which something new came
    b.few[0] = 0, b.index[0] = 0;
    for (int64_t k = 1; k <= b.buckets; ++k) {
        if (before[k] != before[k - 1]) b.few[++some] = before[k];
        b.index[k] = static_cast<int32_t>(some);
    }
    const bool everywhere = some == b.buckets; // then place and index are the same
    const f64x4 at_zero = log_gamma(broadcast(a));
    int32_t have = 0; // of which `few` the values are at hand
    for (int64_t to = 1; to <= b.buckets; ++to) {
        const int32_t here = b.index[to];
        if (here == 0) continue;
        if (here != have) {
            log_risings(b.few.data(), here, a, at_zero, b.few_values.data());
            have = here;
            for (int64_t i = 0; !everywhere && i <= b.buckets; ++i) b.spread[i] = b.index[i] < here ? b.few_values[b.index[i]] : 0.0;
        }
        const double *values = everywhere ? b.few_values.data() : b.spread.data();
        double *row = &b.log_m[to * b.width];
        for (int64_t i = 0; i < to; i += 4) store(row + i, load(row + i) + sign * load(values + i));
    }
}

// log m of every run for one strength; -inf behind the last start.
TB_INLINE void evidence_of_runs(Binning &b, double strength) {
    std::fill(b.log_m.begin(), b.log_m.end(), 0.0);
    add_log_gammas(b, b.all.data(), strength, -1.0);
    for (size_t c = 0; c < b.present.size(); ++c) add_log_gammas(b, &b.before[c * b.width], strength * b.share[c], 1.0);
    for (int64_t to = 0; to <= b.buckets; ++to)
        for (int64_t i = to; i < b.width; ++i) b.log_m[to * b.width + i] = NEVER;
}

// Log of the sum of exp(a[i] + b[i]), whole vectors.
TB_INLINE double log_sum(const double *a, const double *b, int64_t n) {
    f64x4 top = broadcast(NEVER), sum{};
    for (int64_t i = 0; i < n; i += 4) {
        f64x4 x = load(a + i) + load(b + i);
        top = x > top ? x : top;
    }
    const double highest = std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
    for (int64_t i = 0; i < n; i += 4) sum += exp4(load(a + i) + load(b + i) - highest);
    return highest + std::log((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// forward[j]: log evidence of the buckets before place j over all cuts. start[i] is forward[i] with the cut at i and
// without the non-cuts before i, so that a run from i to j adds (j - 1) * log(1 - rate) and its log m.
TB_INLINE double forward_sums(Binning &b, const double *log_m, double rate) {
    const double log_cut = std::log(rate), log_none = std::log1p(-rate);
    std::fill(b.start.begin(), b.start.end(), 0.0);
    b.forward[0] = 0;
    for (int64_t j = 1; j <= b.buckets; ++j) {
        b.forward[j] = (j - 1) * log_none + log_sum(b.start.data(), log_m + j * b.width, j);
        b.start[j] = b.forward[j] + log_cut - j * log_none;
    }
    return b.forward[b.buckets];
}

// ratio[to][from] = exp(log m + forward[from] - forward[to]), from the forward sums at some rate.
TB_INLINE void relate_runs(Binning &b, const double *log_m) {
    for (int64_t j = 1; j <= b.buckets; ++j)
        for (int64_t i = 0; i < j; i += 4) {
            f64x4 log_ratio = load(log_m + j * b.width + i) + load(&b.forward[i]) - b.forward[j];
            store(&b.ratio[j * b.width + i], exp4(log_ratio));
        }
}

// Log evidence at another rate: sums relative to the forward sums that `ratio` was made from. A ratio is at most
// 1 / (rate of those sums * its non-cuts), and the sums at two rates differ by at most a factor per bucket.
TB_INLINE double relative_sums(Binning &b, double rate) {
    const double none = 1 - rate;
    double *start = b.spread.data(), *relative = b.few_values.data(), power = 1; // free by now; power: none ** (j - 1)
    std::fill(start, start + b.width, 0.0);
    start[0] = 1;
    for (int64_t j = 1; j <= b.buckets; ++j, power *= none) {
        f64x4 sum{};
        for (int64_t i = 0; i < j; i += 4) sum += load(start + i) * load(&b.ratio[j * b.width + i]);
        relative[j] = power * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
        start[j] = relative[j] * rate / (power * none);
    }
    return b.forward[b.buckets] + std::log(relative[b.buckets]);
}

// backward[i]: log evidence of the buckets from place i on, with the cut at i unless it is the end.
TB_INLINE void backward_sums(Binning &b, const double *log_m, double rate) {
    const double log_cut = std::log(rate), log_none = std::log1p(-rate);
    double *from = b.spread.data(), *end = b.few_values.data(); // free by now
    b.backward[b.buckets] = 0;
    std::fill(end, end + b.width, 0.0);
    end[b.buckets] = b.buckets * log_none;
    for (int64_t i = b.buckets - 1; i >= 0; --i) {
        for (int64_t j = 0; j < b.width; ++j) from[j] = j > i && j <= b.buckets ? log_m[j * b.width + i] : NEVER;
        b.backward[i] = log_cut + log_sum(end, from, b.width) - (i + 1) * log_none;
        end[i] = b.backward[i] + i * log_none;
    }
}

// weight[to][from] = P(run) / (count + strength).
TB_INLINE void weigh_runs(Binning &b, const Choice &best) {
    const double log_none = std::log1p(-best.rate);
    for (int64_t j = 1; j <= b.buckets; ++j) {
        const double rest = (j - 1) * log_none + b.backward[j] - best.log_evidence;
        for (int64_t i = 0; i < j; i += 4) {
            f64x4 count = b.all[j] - load(&b.all[i]);
            f64x4 log_run = load(&b.start[i]) + load(&b.best_log_m[j * b.width + i]) + rest;
            f64x4 bounded = log_run > 0.0 ? f64x4{} : log_run; // rounding may bring it above 0
            store(&b.weight[j * b.width + i], exp4(bounded) / ((count > 0.0 ? count : f64x4{}) + best.strength));
        }
    }
}

// P(class | bucket) for one class, written with a stride. held[i] sums the runs from i that hold the bucket.
TB_INLINE void average_class(Binning &b, const double *before, double prior, double *share, int64_t stride) {
    double *held = b.spread.data();
    std::fill(held, held + b.width, 0.0);
    for (int64_t j = b.buckets; j > 0; --j) {
        held[j] = 0; // runs from j on do not hold the bucket before j
        f64x4 sum{};
        for (int64_t i = 0; i < j; i += 4) {
            f64x4 count = before[j] - load(before + i);
            f64x4 all = load(held + i) + load(&b.weight[j * b.width + i]) * ((count > 0.0 ? count : f64x4{}) + prior);
            store(held + i, all);
            sum += all;
        }
        share[(j - 1) * stride] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

// `strengths` and `rates` are sorted; ties go to the greater strength, then the smaller rate.
inline Choice average_column(Binning &b, const std::vector<double> &strengths, const std::vector<double> &rates,
                             double *share, int64_t n_classes) {
    Choice best{0, 0, NEVER};
    for (size_t s = strengths.size(); s-- > 0;) {
        evidence_of_runs(b, strengths[s]);
        bool better = false;
        const double middle = rates[rates.size() / 2], log_middle = forward_sums(b, b.log_m.data(), middle);
        relate_runs(b, b.log_m.data());
        for (double rate : rates) {
            const double log_evidence = rate == middle ? log_middle : relative_sums(b, rate);
            if (log_evidence > best.log_evidence) best = {strengths[s], rate, log_evidence}, better = true;
        }
        if (better) b.log_m.swap(b.best_log_m);
    }
    forward_sums(b, b.best_log_m.data(), best.rate);
    backward_sums(b, b.best_log_m.data(), best.rate);
    weigh_runs(b, best);
    for (size_t c = 0; c < b.present.size(); ++c)
        average_class(b, &b.before[c * b.width], best.strength * b.share[c], share + b.present[c], n_classes);
    return best;
}

} // namespace
} // namespace tb::TB_ISA
#endif
