// A column cut into runs of buckets: what average_binnings and binnings_left_out share. The sums are in runs.h.
#pragma once
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

// For given shares of all classes, or, without them, for those of the classes that occur.
inline Binning binning_of(const double *counts, int64_t buckets, int64_t n_classes,
                          const std::vector<double> &shares = {}) {
    const int64_t width = (buckets + 4) / 4 * 4;
    Binning b{buckets, width, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    std::vector<double> sums(n_classes);
    double total = 0;
    for (int64_t k = 0; k < buckets; ++k)
        for (int64_t c = 0; c < n_classes; ++c) sums[c] += counts[k * n_classes + c];
    for (int64_t c = 0; c < n_classes; ++c) {
        total += sums[c];
        if (sums[c] > 0 || !shares.empty()) b.present.push_back(c);
    }
    if (b.present.empty()) return b;
    b.before.resize(b.present.size() * width);
    b.all.resize(width);
    for (size_t c = 0; c < b.present.size(); ++c) {
        double *before = &b.before[c * width];
        b.share.push_back(shares.empty() ? sums[b.present[c]] / total : shares[c]);
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

} // namespace
} // namespace tb
