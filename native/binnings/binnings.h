// A column cut into runs of buckets: what average_binnings and binnings_leave_one_out share. The sums over all ways to
// cut are in runs_by_strength.h and runs.h.
#pragma once
#include "base/tile_sizes.h"

namespace tb {
namespace {

struct Binning {
    int64_t buckets, width;       // width: places 0 .. buckets, rounded up to whole vectors
    std::vector<int64_t> present; // classes that occur
    std::vector<double> share;    // of those classes in the column
    std::vector<double> before;   // [class][place]: count before the place
    std::vector<double> all;      // [place]: count of all classes before the place
    bool whole = false;           // whether all counts are whole numbers
};

// For given shares of all classes, or, without them, for those of the classes that occur.
inline Binning binning_of(const double *counts, int64_t buckets, int64_t n_classes,
                          const std::vector<double> &shares = {}) {
    const int64_t width = (buckets + 4) / 4 * 4;
    Binning b{buckets, width, {}, {}, {}, {}};
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
    b.whole = total < 0x1p31;
    for (size_t c = 0; c < b.present.size(); ++c) {
        double *before = &b.before[c * width];
        b.share.push_back(shares.empty() ? sums[b.present[c]] / total : shares[c]);
        for (int64_t k = 0; k < buckets; ++k) before[k + 1] = before[k] + counts[k * n_classes + b.present[c]];
        for (int64_t k = 1; k <= buckets; ++k) {
            b.all[k] += before[k];
            b.whole = b.whole && before[k] == std::floor(before[k]);
        }
    }
    return b;
}

} // namespace
} // namespace tb
