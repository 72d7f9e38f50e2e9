// Evidence of the runs of a binning (binnings.h) for one strength, and its sums over all ways to cut a column into
// runs, all in log space.
//
// The dynamic programme is that of Yao (1984) and Fearnhead (2006) for change points; the reference kernel has the
// formulas. Matrices of runs are stored as [to][from], so that every loop runs over the starts of the runs that end at
// one place, four at a time. Log gammas come from a table where counts are whole and not many; otherwise a class that
// occurs in few buckets has few different counts, and its log gammas are taken once per pair of those buckets.
// Read once per instruction set (isa.h), behind log_gamma.h.

namespace tb::TB_ISA {
namespace {

constexpr double TABLE = 8192; // rows up to which a table of log gammas is quicker than log gammas of the runs

struct RunEvidence : Binning {
    std::vector<double> log_m;                   // [to][from]
    std::vector<double> few, few_values, spread; // of the class at hand: see add_log_gammas
    std::vector<int32_t> index;
    std::vector<double> table;                    // log gammas by whole count, empty if counts are not whole or many
    std::vector<double> forward, backward, start; // see forward_sums

    explicit RunEvidence(Binning binning) : Binning(std::move(binning)), log_m((buckets + 1) * width), index(width) {
        for (auto *vector : {&few, &few_values, &spread, &forward, &backward, &start}) vector->resize(width);
        if (whole && all[buckets] <= TABLE) table.resize(static_cast<size_t>(all[buckets]) + 4);
    }
};

// values[i] = lgamma(a + counts[to] - counts[i]) - at_zero for i < to; what comes behind has no meaning.
TB_INLINE void log_risings(const double *counts, int64_t to, double a, f64x4 at_zero, double *values) {
    const f64x4 end = broadcast(counts[to]);
    for (int64_t i = 0; i < to; i += 4) store(values + i, log_gamma(a + (end - load(counts + i))) - at_zero);
}

// The same as add_log_gammas, for whole counts.
TB_INLINE void add_from_table(RunEvidence &b, const double *before, double a, double sign) {
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
TB_INLINE void add_log_gammas(RunEvidence &b, const double *before, double a, double sign) {
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
            for (int64_t i = 0; !everywhere && i <= b.buckets; ++i)
                b.spread[i] = b.index[i] < here ? b.few_values[b.index[i]] : 0.0;
        }
        const double *values = everywhere ? b.few_values.data() : b.spread.data();
        double *row = &b.log_m[to * b.width];
        for (int64_t i = 0; i < to; i += 4) store(row + i, load(row + i) + sign * load(values + i));
    }
}

// log m of every run for one strength; -inf behind the last start.
TB_INLINE void evidence_of_runs(RunEvidence &b, double strength) {
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
TB_INLINE double forward_sums(RunEvidence &b, const double *log_m, double rate) {
    const double log_cut = std::log(rate), log_none = std::log1p(-rate);
    std::fill(b.start.begin(), b.start.end(), 0.0);
    b.forward[0] = 0;
    for (int64_t j = 1; j <= b.buckets; ++j) {
        b.forward[j] = (j - 1) * log_none + log_sum(b.start.data(), log_m + j * b.width, j);
        b.start[j] = b.forward[j] + log_cut - j * log_none;
    }
    return b.forward[b.buckets];
}

// backward[i]: log evidence of the buckets from place i on, with the cut at i unless it is the end.
TB_INLINE void backward_sums(RunEvidence &b, const double *log_m, double rate) {
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

} // namespace
} // namespace tb::TB_ISA
