// correction_gradient: the loss of corrections of tokens, and its gradient.
#include <cmath>

#include "base/tile_sizes.h"

namespace tb {

namespace {

auto correction_gradient(Matrix<double> table, Matrix<double> base, Vector<int64_t> indptr, Vector<int32_t> indices,
                         Vector<double> amounts, Vector<int32_t> codes, Vector<double> weights) {
    Contract contract;
    contract.array("table", table, {TOKENS, CLASSES});
    contract.array("base", base, {ROWS, CLASSES});
    contract.array("indptr", indptr, {plus_one(ROWS)});
    contract.array("indices", indices, {ENTRIES});
    contract.array("amounts", amounts, {ENTRIES});
    contract.array("codes", codes, {ROWS});
    contract.array("weights", weights, {ROWS});
    const int64_t n_rows = contract[ROWS], n_classes = contract[CLASSES], *ends = indptr.data();
    Contract::ends("indptr", ends, n_rows + 1, contract[ENTRIES]);
    Contract::below("indices", indices.data(), contract[ENTRIES], contract[TOKENS]);
    contract.codes(codes.data(), false);
    std::vector<double> gradient(static_cast<size_t>(contract[TOKENS] * n_classes));
    double loss = 0;
    {
        nb::gil_scoped_release release;
        std::vector<double> p(static_cast<size_t>(n_classes));
        for (int64_t r = 0; r < n_rows; ++r) {
            for (int64_t c = 0; c < n_classes; ++c) p[c] = base.data()[r * n_classes + c];
            for (int64_t i = ends[r]; i < ends[r + 1]; ++i) {
                const double *row = table.data() + indices.data()[i] * n_classes, amount = amounts.data()[i];
                for (int64_t c = 0; c < n_classes; ++c) p[c] += amount * row[c];
            }
            double top = p[0], sum = 0;
            for (int64_t c = 1; c < n_classes; ++c) top = std::max(top, p[c]);
            const int64_t own = codes.data()[r];
            const double score = p[own] - top, weight = weights.data()[r];
            for (int64_t c = 0; c < n_classes; ++c) sum += p[c] = std::exp(p[c] - top);
            loss += weight * (std::log(sum) - score);
            for (int64_t c = 0; c < n_classes; ++c) p[c] = weight * (p[c] / sum - (c == own ? 1.0 : 0.0));
            for (int64_t i = ends[r]; i < ends[r + 1]; ++i) {
                double *row = gradient.data() + indices.data()[i] * n_classes;
                const double amount = amounts.data()[i];
                for (int64_t c = 0; c < n_classes; ++c) row[c] += amount * p[c];
            }
        }
    }
    const size_t n_tokens = size_t(contract[TOKENS]);
    return nb::make_tuple(loss, to_numpy(std::move(gradient), {n_tokens, size_t(n_classes)}));
}

} // namespace

void register_correct_documents(nb::module_ &m) { define_kernel(m, "correction_gradient", &correction_gradient); }

} // namespace tb
