// left_out: documents scored by the sums without themselves.
//
// Logarithms are the cost: those of all tokens and classes of a document are taken in one go.
#ifndef TB_ISA
#include "score.h"

#define TB_FILE "left_out.cpp"
#include "isa.h"

namespace tb {

namespace {

auto left_out(Matrix<double> table, Vector<double> whole, Vector<double> totals, double n_tokens, Vector<int64_t> indptr,
              Vector<int32_t> indices, Vector<double> own, Vector<double> amounts, Vector<int32_t> codes,
              Vector<double> weights, double k, bool complement) {
    const int64_t n_rows = int64_t(codes.shape(0)), n_classes = int64_t(totals.shape(0)), size = int64_t(indices.shape(0));
    const int64_t *ends = indptr.data();
    if (int64_t(indptr.shape(0)) != n_rows + 1 || whole.shape(0) != table.shape(0) || int64_t(own.shape(0)) != size || int64_t(amounts.shape(0)) != size ||
        int64_t(weights.shape(0)) != n_rows || int64_t(table.shape(1)) != n_classes)
        throw std::invalid_argument("documents of different lengths");
    for (int64_t r = 0; r < n_rows; ++r)
        if (ends[r] < 0 || ends[r + 1] < ends[r] || ends[r + 1] > size || codes.data()[r] < 0 || codes.data()[r] >= n_classes)
            throw std::invalid_argument("documents out of order");
    for (int64_t i = 0; i < size; ++i)
        if (indices.data()[i] < 0 || indices.data()[i] >= int64_t(table.shape(0))) throw std::invalid_argument("no such token");
    std::vector<double> out(static_cast<size_t>(n_rows * n_classes));
    {
        nb::gil_scoped_release release;
        auto score = n_classes == 2 ? TB_BEST(score_one<2>) : TB_BEST(score_one<0>);
        std::vector<double> room, total(static_cast<size_t>(n_classes));
        for (int64_t r = 0; r < n_rows; ++r) {
            const int64_t from = ends[r], n = ends[r + 1] - from;
            score(table.data(), whole.data(), totals.data(), n_tokens, indices.data() + from, own.data() + from,
                  amounts.data() + from, n, n_classes,
                  codes.data()[r], weights.data()[r], k, complement, room, total, out.data() + r * n_classes);
        }
    }
    return to_numpy(std::move(out), {size_t(n_rows), size_t(n_classes)});
}

} // namespace

void register_left_out(nb::module_ &m) { m.def("left_out", &left_out); }

} // namespace tb

#else
#include "tile.h"

#include "logexp.h"

namespace tb::TB_ISA {
namespace {

// `few`: the number of classes where it is known beforehand, else 0.
template <int few>
void score_one(const double *table, const double *whole, const double *totals, double n_tokens, const int32_t *tokens, const double *own,
               const double *amounts, int64_t n, int64_t all_classes, int64_t code, double weight, double k, bool complement,
               std::vector<double> &room, std::vector<double> &total, double *out) {
    const int64_t n_classes = few ? few : all_classes, cells = n * n_classes, padded = (cells + LANES - 1) / LANES * LANES;
    if (room.size() < size_t(padded)) room.resize(size_t(padded));
    for (int64_t i = cells; i < padded; ++i) room[i] = 1.0;
    double known = 0, all = 0, lost = 0; // amounts of tokens that something is left of; own of all; tokens without any
    for (int64_t i = 0; i < n; ++i) {
        const double *row = table + tokens[i] * n_classes;
        double *to = room.data() + i * n_classes;
        const double left = whole[tokens[i]] - weight * own[i];
        for (int64_t c = 0; c < n_classes; ++c) to[c] = row[c];
        to[code] -= weight * own[i];
        all += own[i];
        if (!(left > 1e-9 * own[i])) {
            for (int64_t c = 0; c < n_classes; ++c) to[c] = 1.0; // its logarithm is 0
            ++lost;
            continue;
        }
        known += amounts[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            const double count = complement ? left - to[c] : to[c];
            to[c] = std::max(count, 0.0) + k;
        }
    }
    for (int64_t i = 0; i < padded; i += LANES) store(room.data() + i, lanes_log(load<Lanes>(room.data() + i)));
    double every = 0;
    for (int64_t c = 0; c < n_classes; ++c) total[c] = totals[c] - (c == code ? weight * all : 0.0), every += total[c];
    for (int64_t c = 0; c < n_classes; ++c) out[c] = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < n_classes; ++c) out[c] += amounts[i] * room[i * n_classes + c];
    for (int64_t c = 0; c < n_classes; ++c) {
        const double rest = (complement ? every - total[c] : total[c]) + k * (n_tokens - lost);
        out[c] -= known * std::log(rest);
        if (complement) out[c] = -out[c];
    }
}

} // namespace
} // namespace tb::TB_ISA
#endif
