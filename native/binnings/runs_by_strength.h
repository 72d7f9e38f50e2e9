// The evidence of all ways to cut a column into runs (binnings.h), for four strengths at a time and all rates of cuts.
//
// The dynamic programme is that of Yao (1984) and Fearnhead (2006) for change points; the reference kernel has the
// formulas. A way to cut with k cuts weighs odds**k * product of m(run), and (1 - rate)**(buckets - 1) is common to all
// (odds = rate / (1 - rate)). The strengths are the lanes of a vector. Only the sums at one rate, the base, are taken
// in log space; they give last[j][i] = P(the last run starts at i | cut at j). With these the sums at the other rates,
// relative to those at the base, and all that comes behind, need neither logarithms nor exponentials:
//
//     relative[j] = sum over i < j of last[j][i] * start[i],    start[0] = 1, start[i] = odds / base odds * relative[i]
//
// Everything is a sum of positive terms. Relative sums grow by the ratio of the odds at each place at most: for the
// rates of the histogram family and 128 buckets that is less than 2**500.
// Read once per instruction set (isa.h), behind log_gamma.h.

namespace tb::TB_ISA {
namespace {

constexpr int STRENGTHS = 4;          // in a vector
constexpr int RATES = 4;              // whose sums are taken together, to hide the latencies
constexpr double SMALLEST = 2.3e-308; // the log gamma of what is smaller is infinite
constexpr double OFTEN = 0x1p15;      // count up to which a table of log gammas pays if several columns use it
constexpr double ONCE = 0x1p12;       // and if it serves one column: there are 8,256 runs of 128 buckets

// lgamma(a + n) - lgamma(a) with a = strength * share, for the class at hand or for all classes together.
struct Risings {
    double share = -1.0;
    std::vector<double> table; // [n][strength], for whole n; kept for the next column if its share is the same
};

// What one class, or all together, contribute to the evidence of the runs that end at one place.
struct Contribution {
    double a[STRENGTHS], at_zero[STRENGTHS];
    const double *table;        // [n][strength], or none
    std::vector<int32_t> index; // by place: of the row in `table`, or of the entry in `few`, times the strengths
    std::vector<double> few;    // the different counts before a place
    std::vector<double> values; // [place in few][strength]: of the runs that end at `have`
    int32_t have = 0;

    Contribution(Risings &known, const double *strengths, double share, const double *before, int64_t buckets,
                 bool whole)
        : table(nullptr), index(buckets + 1) {
        const bool again = known.share == share;
        const double total = before[buckets];
        for (int lane = 0; lane < STRENGTHS; ++lane) a[lane] = std::max(strengths[lane] * share, SMALLEST);
        store(at_zero, log_gamma(load(a)));
        if (!again) known.share = share, known.table.clear();
        if (whole && total <= (again ? OFTEN : ONCE)) {
            auto n = static_cast<int64_t>(known.table.size()) / STRENGTHS;
            known.table.resize(std::max(n, static_cast<int64_t>(total) + 1) * STRENGTHS);
            for (; n <= total; ++n) store(&known.table[n * STRENGTHS], rising(static_cast<double>(n)));
            table = known.table.data();
            for (int64_t k = 0; k <= buckets; ++k) index[k] = static_cast<int32_t>(before[k]) * STRENGTHS;
            return;
        }
        few.push_back(0.0);
        for (int64_t k = 1; k <= buckets; ++k) {
            if (before[k] != before[k - 1]) few.push_back(before[k]);
            index[k] = static_cast<int32_t>(few.size() - 1) * STRENGTHS;
        }
        values.resize(few.size() * STRENGTHS);
    }

    TB_INLINE f64x4 rising(double n) const {
        const f64x4 z = load(a) + n;
        return (n >= 64 ? log_gamma_from_64(z) : n >= 8 ? log_gamma_from_8(z) : log_gamma(z)) - load(at_zero);
    }

    // Adds to, or subtracts from, the log evidence [from][strength] of the runs that end at `to`.
    template <bool ADD> TB_INLINE void contribute(int64_t to, double *row) {
        const int32_t here = index[to];
        int64_t stop = to;
        const double *from = table + here;
        if (!table) {
            for (int32_t k = 0; here != have && k < here; k += STRENGTHS)
                store(&values[k], rising(few[here / STRENGTHS] - few[k / STRENGTHS]));
            have = here, from = values.data();
            while (stop > 0 && index[stop - 1] == here) --stop; // these runs have nothing of the class
        }
        const int64_t sign = table ? -1 : 1;
        for (int64_t i = 0; i < stop; ++i) {
            f64x4 x = load(row + STRENGTHS * i), y = load(from + sign * index[i]);
            store(row + STRENGTHS * i, ADD ? x + y : x - y);
        }
    }
};

TB_INLINE int64_t triangle(int64_t to) { return to * (to - 1) / 2; } // of the first run that ends there

// The sums of one column for four strengths.
struct StrengthSums {
    std::vector<double> terms;        // [triangle of to, from][strength]: last, times `whole` of the place `to`
    std::vector<double> whole;        // [to][strength]: the sum of the terms
    std::vector<double> relative;     // [rate][place][strength]: start, see above; of the rates other than the base
    std::vector<double> log_evidence; // [rate][strength], the base behind the others

    StrengthSums(int64_t buckets, size_t others)
        : terms(triangle(buckets + 1) * STRENGTHS), whole((buckets + 1) * STRENGTHS),
          relative(others * (buckets + 1) * STRENGTHS), log_evidence((others + 1) * STRENGTHS) {}
};

// Of RATES rates at once: relative sums at place `to`, not yet divided by the whole.
TB_INLINE void relative_sums(const double *terms, int64_t to, const double *start, int64_t stride, f64x4 *sums) {
    for (int r = 0; r < RATES; ++r) sums[r] = f64x4{};
    for (int64_t i = 0; i < to; ++i) {
        const f64x4 term = load(terms + STRENGTHS * i);
#pragma GCC unroll 4
        for (int r = 0; r < RATES; ++r) sums[r] += term * load(start + r * stride + STRENGTHS * i);
    }
}

// The log of the sum of exp(x), and the terms exp(x - its greatest), [from][strength].
TB_INLINE f64x4 log_sums(double *x, const double *start, int64_t n, double *terms, f64x4 &whole) {
    f64x4 top = broadcast(NEVER), sum{};
    for (int64_t i = 0; i < n; ++i) {
        f64x4 own = load(x + STRENGTHS * i) + load(start + STRENGTHS * i);
        store(x + STRENGTHS * i, own);
        top = own > top ? own : top;
    }
    for (int64_t i = 0; i < n; ++i) {
        f64x4 term = exp4(load(x + STRENGTHS * i) - top);
        store(terms + STRENGTHS * i, term);
        sum += term;
    }
    whole = sum;
    return top + log4(sum);
}

// `rates` are those other than the base, a multiple of RATES. Returns the ratios of their odds to those of the base.
inline std::vector<double> sum_over_cuts(const Binning &b, std::vector<Contribution> &parts, double base,
                                         const std::vector<double> &rates, StrengthSums &sums) {
    const int64_t stride = (b.buckets + 1) * STRENGTHS;
    const double log_odds = std::log(base) - std::log1p(-base);
    std::vector<double> row(stride), start(stride), ratios;
    for (double rate : rates) ratios.push_back(rate / (1 - rate) * ((1 - base) / base));
    f64x4 log_whole{}, relative[RATES];
    for (size_t r = 0; r < rates.size(); ++r) store(&sums.relative[r * stride], broadcast(1.0));
    for (int64_t to = 1; to <= b.buckets; ++to) {
        std::fill(row.begin(), row.begin() + STRENGTHS * to, 0.0);
        parts[0].contribute<false>(to, row.data());
        for (size_t c = 1; c < parts.size(); ++c) parts[c].contribute<true>(to, row.data());
        double *terms = &sums.terms[triangle(to) * STRENGTHS];
        f64x4 whole;
        log_whole = log_sums(row.data(), start.data(), to, terms, whole);
        store(&start[to * STRENGTHS], log_whole + log_odds);
        store(&sums.whole[to * STRENGTHS], whole);
        for (size_t first = 0; first < rates.size(); first += RATES) {
            double *starts = &sums.relative[first * stride];
            relative_sums(terms, to, starts, stride, relative);
            for (int r = 0; r < RATES; ++r)
                store(starts + r * stride + to * STRENGTHS, ratios[first + r] * (relative[r] / whole));
        }
    }
    store(&sums.log_evidence[rates.size() * STRENGTHS], log_whole + (b.buckets - 1) * std::log1p(-base));
    for (size_t r = 0; r < rates.size(); ++r) {
        f64x4 gain = log4(load(&sums.relative[r * stride + b.buckets * STRENGTHS]) / ratios[r]);
        store(&sums.log_evidence[r * STRENGTHS], log_whole + gain + (b.buckets - 1) * std::log1p(-rates[r]));
    }
    return ratios;
}

} // namespace
} // namespace tb::TB_ISA
