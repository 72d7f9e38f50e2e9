// cut_buckets: neighbouring buckets divided into cells, where the classes change (the reference kernel says how).
#include "base/columns.h"

#include <optional>

namespace tb {

namespace {

struct Cut {
    double gain; // 0 where the cut only divides the rows into halves
    int64_t place;
};

struct CutCell {
    int64_t start, stop;
    std::optional<Cut> cut;
};

// Rows and entropies of runs of buckets.
class BucketRuns {
  public:
    BucketRuns(const int64_t *buckets, int64_t n_buckets, int64_t n_classes, const double *terms)
        : n_classes_(n_classes), terms_(terms), before_(size_t(n_buckets + 1)),
          by_class_(size_t((n_buckets + 1) * n_classes)) {
        for (int64_t b = 0; b < n_buckets; ++b) {
            before_[b + 1] = before_[b];
            for (int64_t c = 0; c < n_classes; ++c) {
                const int64_t own = buckets[b * n_classes + c];
                before_[b + 1] += own;
                by_class_[(b + 1) * n_classes + c] = by_class_[b * n_classes + c] + own;
            }
        }
    }

    int64_t rows(int64_t start, int64_t stop) const { return before_[stop] - before_[start]; }

    std::optional<Cut> best_cut(int64_t start, int64_t stop, double least, double cost) const {
        std::optional<Cut> best, middle;
        int64_t smallest = 0;
        const double whole = nats(start, stop);
        for (int64_t at = start + 1; at < stop; ++at) {
            const int64_t left = rows(start, at), right = rows(at, stop);
            if (double(left) < least || double(right) < least) continue;
            const double gain = whole - nats(start, at) - nats(at, stop);
            if (!best || gain > best->gain) best = Cut{gain, at};
            if (const int64_t apart = std::abs(left - right); !middle || apart < smallest)
                middle = Cut{0.0, at}, smallest = apart;
        }
        return best && best->gain > cost ? best : middle;
    }

  private:
    // Rows times the entropy of the class.
    double nats(int64_t start, int64_t stop) const {
        const int64_t *from = by_class_.data() + start * n_classes_, *to = by_class_.data() + stop * n_classes_;
        double sum = 0;
        for (int64_t c = 0; c < n_classes_; ++c) sum += terms_[to[c] - from[c]];
        return terms_[rows(start, stop)] - sum;
    }

    int64_t n_classes_;
    const double *terms_;
    std::vector<int64_t> before_, by_class_; // rows before a bucket, and of each class
};

// The cell that is divided next, or none.
std::vector<CutCell>::iterator next_cell(std::vector<CutCell> &cells, const BucketRuns &runs, double large) {
    auto largest = cells.end(), best = cells.end();
    for (auto cell = cells.begin(); cell != cells.end(); ++cell) { // in order: of equal ones the first is taken
        if (!cell->cut) continue;
        const int64_t n = runs.rows(cell->start, cell->stop);
        if (largest == cells.end() || n > runs.rows(largest->start, largest->stop)) largest = cell;
        if (best == cells.end() || cell->cut->gain > best->cut->gain) best = cell;
    }
    if (largest == cells.end() || double(runs.rows(largest->start, largest->stop)) > large) return largest;
    return best->cut->gain == 0 ? cells.end() : best;
}

auto cut_buckets(Matrix<int64_t> buckets, Vector<double> terms, int64_t n_cells, double large, double least,
                 double cost) {
    Contract contract;
    contract.array("buckets", buckets, {LINES, CLASSES});
    contract.array("terms", terms, {ENTRIES});
    const int64_t n_buckets = contract[LINES], n_classes = contract[CLASSES];
    Contract::below("buckets", buckets.data(), n_buckets * n_classes, contract[ENTRIES]);
    Contract::known("large", large);
    Contract::known("least", least);
    Contract::known("cost", cost);
    int64_t rows = 0;
    for (int64_t i = 0; i < n_buckets * n_classes; ++i)
        if ((rows += buckets.data()[i]) >= contract[ENTRIES]) refuse("fewer rows than terms", rows);
    std::vector<int64_t> cuts;
    {
        nb::gil_scoped_release release;
        const BucketRuns runs(buckets.data(), n_buckets, n_classes, terms.data());
        std::vector<CutCell> cells{{0, n_buckets, runs.best_cut(0, n_buckets, least, cost)}};
        while (int64_t(cuts.size()) + 1 < n_cells) {
            const auto cell = next_cell(cells, runs, large);
            if (cell == cells.end()) break;
            const int64_t at = cell->cut->place, stop = cell->stop;
            cuts.push_back(at);
            *cell = {cell->start, at, runs.best_cut(cell->start, at, least, cost)};
            cells.insert(cell + 1, {at, stop, runs.best_cut(at, stop, least, cost)});
        }
    }
    const size_t n = cuts.size();
    return to_numpy(std::move(cuts), {n});
}

} // namespace

void register_cut_buckets(nb::module_ &m) { define_kernel(m, "cut_buckets", &cut_buckets); }

} // namespace tb
