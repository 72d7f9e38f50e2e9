// average_binnings: P(class | bucket) averaged over all ways to cut a column into runs of buckets.
//
// For each strength one rate goes through in log space; relative to its sums the other rates stay within the range of
// doubles and need no logarithms. All sums are of positive terms, so no share can vanish.
#ifndef TB_ISA
#include "binnings.h"

namespace tb {
namespace {

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

void check_not_empty(const char *name, const Vector<double> &values) {
    if (!values.shape(0)) refuse(std::string("at least one of the ") + name, 0);
}

nb::tuple average_binnings(Matrix<double> counts, Vector<int64_t> offsets, Vector<double> strengths,
                           Vector<double> rates) {
    Contract contract;
    contract.array("counts", counts, {LINES, CLASSES});
    contract.array("offsets", offsets, {plus_one(COLUMNS)});
    Contract::ends("offsets", offsets.data(), contract[COLUMNS] + 1, contract[LINES]);
    check_not_empty("strengths", strengths), check_not_empty("rates", rates);
    const size_t n_columns = contract[COLUMNS], n_classes = contract[CLASSES];
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

void register_binnings(nb::module_ &m) { define_kernel(m, "average_binnings", &average_binnings); }

} // namespace tb

#else
#include "tile.h"

#include "logexp.h"

#include "runs.h"

namespace tb::TB_ISA {
namespace {

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
