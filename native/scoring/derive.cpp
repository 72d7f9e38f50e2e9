// laplace, log_shares, beta, negative_binomial and pooled_rate: from counts to log probabilities and rates.
#include "base/array_view.h"

namespace tb {

namespace {

// An array of which one row or column may stand for all.
struct Spread {
    View<const double> view;
    bool rows, columns;

    Spread(const char *name, nb::handle array, Contract &contract)
        : view(array, 2), rows(view.shape[0] != 1), columns(view.shape[1] != 1) {
        contract.array(name, view, {rows ? int64_t(LINES) : 1, columns ? int64_t(CLASSES) : 1});
    }
    double operator()(size_t i, size_t c) const { return view(rows ? i : 0, columns ? c : 0); }
};

auto laplace(nb::handle counts, nb::handle totals, double k, nb::handle n_values) {
    const View<const double> n(counts, 2);
    Contract contract;
    contract.array("counts", n, {LINES, CLASSES});
    const Spread total("totals", totals, contract), values("n_values", n_values, contract);
    const size_t n_rows = n.shape[0], n_classes = n.shape[1];
    std::vector<double> logs(n_rows * n_classes);
    for (size_t i = 0; i < n_rows; ++i)
        for (size_t c = 0; c < n_classes; ++c)
            logs[i * n_classes + c] = log_share(n(i, c), total(i, c), k, values(i, c));
    return to_numpy(std::move(logs), {n_rows, n_classes});
}

auto log_shares(nb::handle counts, double k) {
    const View<const double> n(counts, 1);
    std::vector<double> logs(n.shape[0]);
    double total = 0;
    for (size_t c = 0; c < logs.size(); ++c) total += n(c) + k;
    for (size_t c = 0; c < logs.size(); ++c) logs[c] = std::log(n(c) + k) - std::log(total);
    const size_t n_classes = logs.size();
    return to_numpy(std::move(logs), {n_classes});
}

auto beta(nb::handle no, nb::handle yes, double k) {
    const View<const int64_t> zeros(no, 2), ones(yes, 2);
    Contract contract;
    contract.array("no", zeros, {COLUMNS, CLASSES});
    contract.array("yes", ones, {COLUMNS, CLASSES});
    const size_t n_columns = zeros.shape[0], n_classes = zeros.shape[1], size = n_columns * n_classes;
    std::vector<double> tables(4 * size);
    for (size_t j = 0, i = 0; j < n_columns; ++j)
        for (size_t c = 0; c < n_classes; ++c, ++i) {
            const double n[2] = {static_cast<double>(zeros(j, c)), static_cast<double>(ones(j, c))};
            for (size_t v = 0; v < 2; ++v) {
                tables[v * size + i] = n[v];
                tables[(2 + v) * size + i] = log_share(n[v], n[0] + n[1], k, 2.0);
            }
        }
    return to_numpy(std::move(tables), {4, n_columns, n_classes});
}

auto negative_binomial(nb::handle n, nb::handle x, nb::handle mean, double share) {
    const View<const int64_t> counts(n, 2), events(x, 2);
    const View<const double> pooled(mean, 1);
    Contract contract;
    contract.array("n", counts, {COLUMNS, CLASSES});
    contract.array("x", events, {COLUMNS, CLASSES});
    contract.array("mean", pooled, {COLUMNS});
    const size_t n_columns = counts.shape[0], n_classes = counts.shape[1], size = n_columns * n_classes;
    std::vector<double> tables(3 * size);
    double *rows = tables.data(), *shape = rows + size, *rate = shape + size;
    for (size_t j = 0, i = 0; j < n_columns; ++j)
        for (size_t c = 0; c < n_classes; ++c, ++i) {
            const bool silent = pooled(j) == 0;
            rows[i] = static_cast<double>(counts(j, c));
            shape[i] = silent ? 0.0 : 1 + share * static_cast<double>(events(j, c));
            rate[i] = 1 / (silent ? 1.0 : pooled(j)) + share * rows[i];
        }
    return to_numpy(std::move(tables), {3, n_columns, n_classes});
}

auto pooled_rate(nb::handle n, nb::handle x) {
    const View<const int64_t> counts(n, 2), events(x, 2);
    Contract contract;
    contract.array("n", counts, {COLUMNS, CLASSES});
    contract.array("x", events, {COLUMNS, CLASSES});
    const size_t n_columns = counts.shape[0];
    std::vector<double> rates(n_columns);
    for (size_t j = 0; j < n_columns; ++j) {
        __int128 rows = 0, total = 0;
        for (Py_ssize_t c = 0; c < counts.shape[1]; ++c) rows += counts(j, c), total += events(j, c);
        if (rows != 0) rates[j] = static_cast<double>(total) / static_cast<double>(rows);
    }
    return to_numpy(std::move(rates), {n_columns});
}

} // namespace

void register_derive(nb::module_ &m) {
    define_kernel(m, "laplace", &laplace);
    define_kernel(m, "log_shares", &log_shares);
    define_kernel(m, "beta", &beta);
    define_kernel(m, "negative_binomial", &negative_binomial);
    define_kernel(m, "pooled_rate", &pooled_rate);
}

} // namespace tb
