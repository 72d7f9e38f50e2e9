// average_binnings: P(class | bucket) averaged over all ways to cut a column into runs of buckets.
//
// runs_by_strength.h has the evidence of all strengths and rates. Here are the choice and, at the best strength a and
// rate, the shares
//
//     P(class | bucket k) = sum over buckets l of both[k][l] * n_cl  +  a * p_c * both[k][k]
//
// where both[k][l] sums P(run) / (n + a) over the runs that hold both buckets: work in proportion to the runs that all
// classes share, and a product of matrices. All sums are of positive terms, so no share can vanish.
#ifndef TB_ISA
#include "binnings/binnings.h"

namespace tb {
namespace {

struct Choice {
    double strength, rate, log_evidence;
};

// P(the last run starts at i | cut at j) at the base rate, and the relative sums at the rate that was chosen.
struct Chosen {
    double ratio = 1.0;        // of the odds of the rate to those of the base
    std::vector<double> last;  // [to][from]
    std::vector<double> start; // [from]
};

} // namespace
} // namespace tb

#define TB_FILE "binnings/binnings.cpp"
#include "base/isa.h"

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
    auto all_strengths = sorted(strengths), all_rates = sorted(rates);
    std::reverse(all_strengths.begin(), all_strengths.end());
    const double *from = counts.data();
    const int64_t *first = offsets.data();
    {
        nb::gil_scoped_release release;
        std::vector<Binning> columns;
        for (size_t j = 0; j < n_columns; ++j)
            columns.push_back(binning_of(from + first[j] * n_classes, first[j + 1] - first[j], n_classes));
        const auto run = TB_BEST(average_columns);
        const auto choices = run(columns, all_strengths, all_rates, first, n_classes, share.data());
        for (size_t j = 0; j < n_columns; ++j)
            a[j] = choices[j].strength, rho[j] = choices[j].rate, log_evidence[j] = choices[j].log_evidence;
    }
    const size_t n_buckets = counts.shape(0);
    return nb::make_tuple(to_numpy(std::move(share), {n_buckets, n_classes}), to_numpy(std::move(a), {n_columns}),
                          to_numpy(std::move(rho), {n_columns}), to_numpy(std::move(log_evidence), {n_columns}));
}

} // namespace

void register_binnings(nb::module_ &m) { define_kernel(m, "average_binnings", &average_binnings); }

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

#include "base/log_gamma.h"

#include "binnings/runs_by_strength.h"

namespace tb::TB_ISA {
namespace {

// The log gammas that columns share, for every four strengths: of all classes together, then of each class.
using RisingTables = std::vector<std::vector<Risings>>;

// The contributions of all classes together and of each class that occurs.
inline std::vector<Contribution> contributions(const Binning &b, const double *strengths, std::vector<Risings> &known) {
    std::vector<Contribution> parts;
    parts.reserve(b.present.size() + 1);
    parts.emplace_back(known[0], strengths, 1.0, b.all.data(), b.buckets, b.whole);
    for (size_t c = 0; c < b.present.size(); ++c)
        parts.emplace_back(known[1 + b.present[c]], strengths, b.share[c], &b.before[c * b.width], b.buckets, b.whole);
    return parts;
}

// One strength and one rate out of the sums of four strengths and all rates; the line behind the others is the base.
inline Chosen chosen_of(const Binning &b, const StrengthSums &sums, int lane, const std::vector<double> &ratios,
                        size_t line) {
    Chosen chosen{1.0, std::vector<double>((b.buckets + 1) * b.width), std::vector<double>(b.width, 1.0)};
    for (int64_t to = 1; to <= b.buckets; ++to) {
        const double *terms = &sums.terms[triangle(to) * STRENGTHS + lane];
        const double part = 1 / sums.whole[to * STRENGTHS + lane];
        for (int64_t i = 0; i < to; ++i) chosen.last[to * b.width + i] = terms[i * STRENGTHS] * part;
    }
    if (line == ratios.size()) return chosen;
    const double *start = &sums.relative[line * (b.buckets + 1) * STRENGTHS + lane];
    chosen.ratio = ratios[line];
    for (int64_t i = 0; i <= b.buckets; ++i) chosen.start[i] = start[i * STRENGTHS];
    return chosen;
}

// Running sums of the first n values, whole vectors.
TB_INLINE void running_sums(const double *values, int64_t n, double *sums) {
    double carry = 0;
    for (int64_t i = 0; i < n; i += 4) {
        f64x4 x = load(values + i), zero{};
        x += __builtin_shufflevector(zero, x, 0, 4, 5, 6);
        x += __builtin_shufflevector(zero, x, 0, 1, 4, 5);
        x += carry;
        store(sums + i, x);
        carry = x[3];
    }
}

// P(class | bucket) at the chosen strength and rate, [bucket][class].
TB_INLINE void average(const Binning &b, const Chosen &chosen, double strength, double *share, int64_t n_classes) {
    const int64_t width = b.width, n_present = static_cast<int64_t>(b.present.size());
    // by start: the cuts behind; P(run) / (n + a) of the runs that end behind the bucket at hand; their running sums
    std::vector<double> behind(width), held(width), both(width);
    std::vector<double> counts(n_present * width), shares(n_present * width); // [class][bucket]
    for (int64_t c = 0; c < n_present; ++c)
        for (int64_t k = 0, at = c * width; k < b.buckets; ++k, ++at) counts[at] = b.before[at + 1] - b.before[at];
    for (int64_t to = b.buckets; to > 0; --to) {
        const double *last = &chosen.last[to * width];
        const double cut = to == b.buckets ? chosen.ratio / chosen.start[to] : chosen.ratio * behind[to];
        held[to] = 0; // runs from `to` on do not hold the bucket before it
        for (int64_t i = 0; i < to; i += 4) {
            f64x4 run = load(last + i) * cut, count = b.all[to] - load(&b.all[i]);
            f64x4 total = (count > 0.0 ? count : f64x4{}) + strength; // no count where a run ends before it starts
            store(&behind[i], load(&behind[i]) + run);
            store(&held[i], load(&held[i]) + run * load(&chosen.start[i]) / total);
        }
        running_sums(held.data(), to, both.data());
        const int64_t bucket = to - 1;
        const double alone = both[bucket];
        std::fill(both.begin() + bucket, both.end(), 0.0);
        for (int64_t c = 0; c < n_present; ++c) {
            const double *n = &counts[c * width], here = n[bucket];
            double *own = &shares[c * width];
            f64x4 sum{};
            for (int64_t k = 0; k < bucket; k += 4) {
                f64x4 x = load(&both[k]);
                sum += x * load(n + k);
                store(own + k, load(own + k) + x * here);
            }
            own[bucket] += (sum[0] + sum[1]) + (sum[2] + sum[3]) + alone * (here + strength * b.share[c]);
        }
    }
    for (int64_t c = 0; c < n_present; ++c)
        for (int64_t k = 0; k < b.buckets; ++k) share[k * n_classes + b.present[c]] = shares[c * width + k];
}

// `strengths` descend and `rates` ascend; ties go to the first strength, then the first rate.
inline Choice average_column(const Binning &b, const std::vector<double> &strengths, const std::vector<double> &rates,
                             RisingTables &tables, double *share, int64_t n_classes) {
    const size_t base = rates.size() / 2;
    std::vector<double> others;
    for (size_t r = 0; r < rates.size(); ++r)
        if (r != base) others.push_back(rates[r]);
    others.resize((others.size() + RATES - 1) / RATES * RATES, rates[base]);
    StrengthSums sums(b.buckets, others.size());
    Choice best{0, 0, NEVER};
    Chosen chosen;
    for (size_t first = 0; first < strengths.size(); first += STRENGTHS) {
        double own[STRENGTHS];
        for (size_t lane = 0; lane < STRENGTHS; ++lane)
            own[lane] = strengths[std::min(first + lane, strengths.size() - 1)];
        auto parts = contributions(b, own, tables[first / STRENGTHS]);
        const auto ratios = sum_over_cuts(b, parts, rates[base], others, sums);
        int best_lane = -1;
        size_t best_line = 0;
        for (int lane = 0; lane < STRENGTHS; ++lane)
            for (size_t r = 0; r < rates.size(); ++r) {
                const size_t line = r == base ? others.size() : r - (r > base);
                const double log_evidence = sums.log_evidence[line * STRENGTHS + lane];
                if (log_evidence > best.log_evidence || (chosen.last.empty() && best_lane < 0)) {
                    best = {own[lane], rates[r], log_evidence};
                    best_lane = lane, best_line = line;
                }
            }
        if (best_lane >= 0) chosen = chosen_of(b, sums, best_lane, ratios, best_line);
    }
    average(b, chosen, best.strength, share, n_classes);
    return best;
}

inline std::vector<Choice> average_columns(const std::vector<Binning> &columns, const std::vector<double> &strengths,
                                           const std::vector<double> &rates, const int64_t *offsets, int64_t n_classes,
                                           double *share) {
    RisingTables tables((strengths.size() + STRENGTHS - 1) / STRENGTHS, std::vector<Risings>(n_classes + 1));
    std::vector<Choice> choices;
    for (size_t j = 0; j < columns.size(); ++j) {
        Choice choice{strengths.front(), rates.front(), 0.0};
        if (!columns[j].present.empty())
            choice = average_column(columns[j], strengths, rates, tables, share + offsets[j] * n_classes, n_classes);
        choices.push_back(choice);
    }
    return choices;
}

} // namespace
} // namespace tb::TB_ISA
#endif
