// add_events: log likelihoods of counts of events.
//
// Log gammas are the costly part, and counts are mostly small and repeated: where many rows are scored at once, the
// scores of counts below LISTED_COUNTS are computed once per column.
#include "base/tile_sizes.h"

#include <numbers>

namespace tb {
namespace {

constexpr double WHOLE_LIMIT = 0x1p53; // from here on x and x + 1 are one double
constexpr int64_t LISTED_COUNTS = 256, LISTING_ROWS = 64;

double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign); // the plain one writes a global variable
}

const double LOG_2_PI = std::log(2 * std::numbers::pi);

// log gamma(x + 1) minus Stirling's formula, for x > 0.
double stirling_error(double x) {
    if (x <= 16) return log_gamma(x + 1) - (x + 0.5) * std::log(x) + x - LOG_2_PI / 2;
    const double far = x * x;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / far) / far) / far) / far) / x;
}

// x log(x / m) + m - x, for x > 0 and m >= 0; by its series where x is near m.
double deviance(double x, double m) {
    const double v = (x - m) / (x + m), square = v * v;
    if (!(std::abs(v) < 0.1)) {
        const double ratio = x / m;
        return x * (std::isinf(ratio) ? std::log(x) - std::log(m) : std::log(ratio)) + m - x;
    }
    double series = 0.0;
    for (int i = 9; i > 0; --i) series = (series + 1.0 / (2 * i + 1)) * square;
    return v * (x - m) + 2 * x * v * series;
}

// Loader's saddle-point form: see `log_events` in kernels/reference/score_columns.py.
struct EventDensity {
    double shape, shape_error, rate, p, q, at_zero;
    bool silent;
    double weight = 1;

    double weighted(double x, double base) const { return silent ? 0.0 : weight * log_prob(x, base); }

    // The negative binomial, or (`shape` 0) the Poisson distribution; base: -stirling_error(x) - log(2 pi x) / 2.
    double log_prob(double x, double base) const {
        if (x == 0) return at_zero;
        if (shape == 0) return base - deviance(x, rate);
        const double n = x + shape;
        return base + stirling_error(n) - shape_error + std::log(shape / n) / 2 - deviance(shape, n * p) -
               deviance(x, n * q);
    }
};

EventDensity density_of(const double *shape, double rate, bool silent, int64_t i) {
    if (silent) return {0, 0, 0, 0, 0, 0, true};
    if (!shape) return {0, 0, rate, 0, 0, -rate, false};
    const double r = shape[i];
    return {r, stirling_error(r), rate, rate / (1 + rate), 1 / (1 + rate), -r * std::log1p(1 / rate), false};
}

template <class T>
int64_t event_rows(const std::vector<Column<T>> &columns, const std::vector<EventDensity> &cells, int64_t n_classes,
                   double *out, int64_t start, int64_t stop) {
    const int64_t n_columns = columns.size();
    int64_t bad = -1;
    std::vector<double> list(stop - start >= LISTING_ROWS ? LISTED_COUNTS * n_classes : 0);
    std::vector<bool> listed;
    for (int64_t j = 0; j < n_columns; ++j) {
        const EventDensity *cell = &cells[j * n_classes];
        listed.assign(LISTED_COUNTS, false);
        auto work_out = [&](double x, auto &&give) {
            const double base = x == 0 ? 0.0 : -stirling_error(x) - std::log(2 * std::numbers::pi * x) / 2;
            for (int64_t c = 0; c < n_classes; ++c) give(c, cell[c].weighted(x, base));
        };
        for (int64_t row = start; row < stop; ++row) {
            const double x = columns[j][row];
            double *to = out + row * n_classes;
            if (std::isnan(x)) continue;
            if (!(x >= 0 && x <= WHOLE_LIMIT && x == std::floor(x))) {
                bad = first_place(bad, row * n_columns + j);
            } else if (x < LISTED_COUNTS && !list.empty()) {
                double *line = &list[static_cast<int64_t>(x) * n_classes];
                if (!listed[static_cast<int64_t>(x)]) work_out(x, [&](int64_t c, double log_p) { line[c] = log_p; });
                listed[static_cast<int64_t>(x)] = true;
                for (int64_t c = 0; c < n_classes; ++c) to[c] += line[c];
            } else {
                work_out(x, [&](int64_t c, double log_p) { to[c] += log_p; });
            }
        }
    }
    return bad;
}

int64_t add_events(nb::object list, std::optional<Matrix<double>> shape, Matrix<double> rate, Matrix<bool> silent,
                   std::optional<Matrix<double>> weights, Out<double> out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("out", out, {ROWS, CLASSES});
    if (shape) contract.array("shape", *shape, {COLUMNS, CLASSES});
    contract.array("rate", rate, {COLUMNS, CLASSES});
    contract.array("silent", silent, {COLUMNS, CLASSES});
    if (weights) contract.array("weights", *weights, {COLUMNS, CLASSES});
    return block.visit<double, float>([&]<class T>(const std::vector<Column<T>> &columns) -> int64_t {
        const int64_t n_classes = contract[CLASSES], size = contract[COLUMNS] * n_classes;
        const double *shapes = shape ? shape->data() : nullptr, *rates = rate.data();
        const double *own_weights = weights ? weights->data() : nullptr;
        const bool *silences = silent.data();
        double *to = out.data();
        nb::gil_scoped_release release;
        std::vector<EventDensity> cells(size);
        for (int64_t i = 0; i < size; ++i) {
            const double weight =
                own_weights ? own_weights[i] : 1.0; // a weight of 0 is silent, also where log p is -inf
            cells[i] = density_of(shapes, rates[i], silences[i] || weight == 0, i);
            cells[i].weight = weight;
        }
        return event_rows(columns, cells, n_classes, to, start, stop);
    });
}

} // namespace

void register_events(nb::module_ &m) { define_kernel(m, "add_events", &add_events); }

} // namespace tb
