// binnings_leave_one_out: P(class | bucket) over its average, for rows taken out of each bucket of a column.
//
// The reference kernel has the formulas. Sums over the runs that hold a bucket are sums over a rectangle of (from, to):
// going down from the last end, each start collects its runs that end behind the bucket, and the bucket gets the sum of
// what the starts before it have. A row of great weight changes the runs by more than doubles can hold, so every start
// has a scale of its own, which moves along; the classes share it.
#ifndef TB_ISA
#include "binnings/binnings.h"

namespace tb {
namespace {

// What the runs of a column come to, before anything is left out. Matrices are [to][from].
struct Whole {
    std::vector<double> log_run, into, out_of; // log P(run), P(run | cut at its end), P(run | cut at its start)
    std::vector<double> before, after;         // [class][place]: expected rows of the class before and behind a cut
    // Of the line at hand: weights of runs without a row, in the scale of their start; the same over the rows left;
    // what the sum of a start is multiplied by when a run comes in, and when it goes into that of the bucket.
    std::vector<double> changed, shared, moved, outer;
    std::vector<double> answer, average, log_scale; // by start, of the class at hand
};

} // namespace
} // namespace tb

#define TB_FILE "leave_one_out/binnings_leave_one_out.cpp"
#include "base/isa.h"

namespace tb {
namespace {

auto binnings_leave_one_out(Matrix<double> counts, Vector<double> p, double a, double rho, Vector<int64_t> codes,
                            Vector<double> weights) {
    Contract contract;
    contract.array("counts", counts, {LINES, CLASSES});
    contract.array("p", p, {CLASSES});
    contract.array("codes", codes, {ROWS});
    contract.array("weights", weights, {ROWS});
    const size_t buckets = contract[LINES], n_classes = contract[CLASSES], lines = contract[ROWS];
    Contract::counts("counts", counts.data(), contract[LINES] * contract[CLASSES]);
    Contract::below("codes", codes.data(), contract[ROWS], contract[CLASSES]);
    for (size_t i = 0; i < lines; ++i)
        if (!(weights.data()[i] > 0)) refuse_real("weights above 0", weights.data()[i]);
    if (!(a > 0)) refuse_real("strength above 0", a);
    if (!(rho > 0 && rho < 1)) refuse_real("rate between 0 and 1", rho);
    std::vector<double> result(lines * buckets * n_classes);
    const double *from = counts.data();
    {
        nb::gil_scoped_release release;
        const std::vector<double> shares(p.data(), p.data() + n_classes);
        if (buckets && lines) {
            Binning b = binning_of(from, static_cast<int64_t>(buckets), static_cast<int64_t>(n_classes), shares);
            TB_BEST(leave_out_lines)(b, a, rho, codes.data(), weights.data(), lines, result.data());
        }
    }
    return to_numpy(std::move(result), {lines, buckets, n_classes});
}

} // namespace

void register_binnings_leave_one_out(nb::module_ &m) {
    define_kernel(m, "binnings_leave_one_out", &binnings_leave_one_out);
}

} // namespace tb

#else
#include "base/tile.h"

#include "base/logexp.h"

#include "base/log_gamma.h"

#include "binnings/runs.h"

namespace tb::TB_ISA {
namespace {

// Rows of a run; none where a run ends before it starts.
TB_INLINE f64x4 count_of(const double *before, int64_t to, int64_t from) {
    f64x4 count = before[to] - load(before + from);
    return count > 0.0 ? count : f64x4{};
}

TB_INLINE f64x4 probability(f64x4 log_p) { return exp4(log_p > 0.0 ? f64x4{} : log_p); } // rounding may go above 0

TB_INLINE Whole whole_of(RunEvidence &b, double a, double rho) {
    const double log_cut = std::log(rho), log_none = std::log1p(-rho);
    evidence_of_runs(b, a);
    const double log_evidence = forward_sums(b, b.log_m.data(), rho);
    backward_sums(b, b.log_m.data(), rho);
    Whole whole;
    for (auto *m : {&whole.log_run, &whole.into, &whole.out_of}) m->resize(b.log_m.size());
    for (auto *m : {&whole.changed, &whole.shared, &whole.moved, &whole.outer}) m->resize(b.log_m.size());
    for (auto *v : {&whole.before, &whole.after}) v->resize(b.before.size());
    for (auto *v : {&whole.answer, &whole.average, &whole.log_scale}) v->resize(b.width);
    for (int64_t j = 1; j <= b.buckets; ++j)
        for (int64_t i = 0; i < j; i += 4) {
            const int64_t at = j * b.width + i;
            f64x4 log_m = load(&b.log_m[at]), log_into = load(&b.start[i]) + log_m + (j - 1) * log_none;
            f64x4 length = static_cast<double>(j - i - 1) - f64x4{0, 1, 2, 3};
            f64x4 log_out = log_cut + log_m + length * log_none + b.backward[j] - load(&b.backward[i]);
            store(&whole.log_run[at], log_into + (b.backward[j] - log_evidence));
            store(&whole.into[at], probability(log_into - b.forward[j]));
            store(&whole.out_of[at], probability(log_out));
        }
    return whole;
}

// Expected rows of a class before and behind every cut.
TB_INLINE void expect(const Binning &b, Whole &whole, size_t c, double a) {
    const double *counts = &b.before[c * b.width], prior = a * b.share[c];
    double *before = &whole.before[c * b.width], *after = &whole.after[c * b.width];
    auto rows = [&](int64_t j, int64_t i) {
        f64x4 size = count_of(b.all.data(), j, i);
        return size * (count_of(counts, j, i) + prior) / (size + a);
    };
    for (int64_t j = 1; j <= b.buckets; ++j) {
        f64x4 sum{};
        for (int64_t i = 0; i < j; i += 4) sum += load(&whole.into[j * b.width + i]) * (load(before + i) + rows(j, i));
        before[j] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    for (int64_t j = b.buckets; j > 0; --j)
        for (int64_t i = 0; i < j; i += 4)
            store(after + i, load(after + i) + load(&whole.out_of[j * b.width + i]) * (after[j] + rows(j, i)));
}

// The log weights of runs without a row of class y: only of runs that have one.
TB_INLINE void change(const Binning &b, Whole &whole, size_t y, double w, double a) {
    const double *counts = &b.before[y * b.width], prior = a * b.share[y];
    for (int64_t j = 1; j <= b.buckets; ++j)
        for (int64_t i = 0; i < j; i += 4) {
            const int64_t at = j * b.width + i;
            f64x4 n = count_of(counts, j, i);
            i64x4 there = n > w * (1 - 1e-9);
            f64x4 own = there ? n + prior : broadcast(2.0 + w);
            f64x4 all = there ? count_of(b.all.data(), j, i) + a : broadcast(2.0 + w), log_ratio;
            f64x4 left = own - w > 1e-100 ? own - w : broadcast(1e-100); // rounding may take all of it
            if (w == 1) log_ratio = log4((all - 1.0) / left);
            else log_ratio = (log_gamma(left) - log_gamma(own)) + (log_gamma(all) - log_gamma(all - w));
            store(&whole.changed[at], there ? load(&whole.log_run[at]) + log_ratio : broadcast(NEVER));
            store(&whole.shared[at], 1.0 / (all - w));
        }
}

TB_INLINE f64x4 or_zero(f64x4 log_scale) { return only(log_scale, log_scale > NEVER); } // -inf - 0, not -inf - -inf

// From log weights to weights in the scale of their start, which is the greatest so far.
TB_INLINE void rescale(const Binning &b, Whole &whole) {
    double *scale = whole.log_scale.data();
    std::fill(whole.log_scale.begin(), whole.log_scale.end(), NEVER);
    for (int64_t j = b.buckets; j > 0; --j) {
        scale[j] = NEVER; // runs from j on do not hold the bucket before j
        f64x4 highest = broadcast(NEVER);
        for (int64_t i = 0; i < j; i += 4) {
            const int64_t at = j * b.width + i;
            f64x4 log_changed = load(&whole.changed[at]), old = load(scale + i);
            f64x4 now = log_changed > old ? log_changed : old;
            f64x4 changed = exp4(log_changed - or_zero(now));
            store(&whole.moved[at], exp4(old - or_zero(now)));
            store(&whole.changed[at], changed), store(&whole.shared[at], load(&whole.shared[at]) * changed);
            store(scale + i, now);
            highest = now > highest ? now : highest;
        }
        const double most = std::max(std::max(highest[0], highest[1]), std::max(highest[2], highest[3]));
        const f64x4 top = or_zero(broadcast(most));
        for (int64_t i = 0; i < j; i += 4) store(&whole.outer[j * b.width + i], exp4(load(scale + i) - top));
    }
}

// One class of a line, written with a stride: log of P(class | bucket) over its average.
TB_INLINE void answer(const Binning &b, Whole &whole, size_t c, bool own, double w, double a, double *to,
                      int64_t stride) {
    const double *counts = &b.before[c * b.width], prior = a * b.share[c] - (own ? w : 0.0);
    const double *before = &whole.before[c * b.width], *after = &whole.after[c * b.width];
    const double log_rest = std::log(std::max(b.all[b.buckets] - w, 1e-300));
    std::fill(whole.answer.begin(), whole.answer.end(), 0.0);
    std::fill(whole.average.begin(), whole.average.end(), 0.0);
    for (int64_t j = b.buckets; j > 0; --j) {
        whole.answer[j] = whole.average[j] = 0; // runs from j on do not hold the bucket before j
        f64x4 sum{}, expected{};
        for (int64_t i = 0; i < j; i += 4) {
            const int64_t at = j * b.width + i;
            f64x4 mine = load(&whole.shared[at]) * (count_of(counts, j, i) + prior);
            f64x4 rest = count_of(b.all.data(), j, i) - w;
            f64x4 rows = load(&whole.changed[at]) * (load(before + i) + after[j]) + rest * mine;
            f64x4 moved = load(&whole.moved[at]), outer = load(&whole.outer[at]);
            f64x4 answers = load(&whole.answer[i]) * moved + mine, averages = load(&whole.average[i]) * moved + rows;
            store(&whole.answer[i], answers), store(&whole.average[i], averages);
            sum += answers * outer, expected += averages * outer;
        }
        const double share = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        const double average = (expected[0] + expected[1]) + (expected[2] + expected[3]);
        to[(j - 1) * stride] = share > 0 && average > 0 ? std::log(share) - std::log(average) + log_rest : 0.0;
    }
}

inline void leave_out_lines(const Binning &binning, double a, double rho, const int64_t *codes, const double *weights,
                            size_t lines, double *result) {
    const size_t n_classes = binning.present.size();
    RunEvidence b(binning);
    Whole whole = whole_of(b, a, rho);
    for (size_t c = 0; c < n_classes; ++c) expect(b, whole, c, a);
    for (size_t line = 0; line < lines; ++line, result += b.buckets * static_cast<int64_t>(n_classes)) {
        const size_t y = static_cast<size_t>(codes[line]);
        change(b, whole, y, weights[line], a);
        rescale(b, whole);
        for (size_t c = 0; c < n_classes; ++c)
            answer(b, whole, c, c == y, weights[line], a, result + c, static_cast<int64_t>(n_classes));
    }
}

} // namespace
} // namespace tb::TB_ISA
#endif
