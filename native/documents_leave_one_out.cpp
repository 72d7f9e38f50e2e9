// score_documents_leave_one_out: documents scored by the sums without themselves.
//
// Logarithms are the cost: those of all tokens and classes of a document are taken in one go.
#ifndef TB_ISA
#include "score.h"

#define TB_FILE "documents_leave_one_out.cpp"
#include "isa.h"

namespace tb {

namespace {

auto score_documents_leave_one_out(Matrix<double> table, Vector<double> whole, Vector<double> totals, double n_tokens,
                                   Vector<int64_t> indptr, Vector<int32_t> indices, Vector<double> own,
                                   Vector<double> amounts, Vector<int32_t> codes, Vector<double> weights, double k,
                                   bool complement) {
    Contract contract;
    contract.array("table", table, {TOKENS, CLASSES});
    contract.array("whole", whole, {TOKENS});
    contract.array("totals", totals, {CLASSES});
    contract.array("indptr", indptr, {plus_one(ROWS)});
    contract.array("indices", indices, {ENTRIES});
    contract.array("own", own, {ENTRIES});
    contract.array("amounts", amounts, {ENTRIES});
    contract.array("codes", codes, {ROWS});
    contract.array("weights", weights, {ROWS});
    const int64_t n_rows = contract[ROWS], n_classes = contract[CLASSES], *ends = indptr.data();
    Contract::ends("indptr", ends, n_rows + 1, contract[ENTRIES]);
    Contract::below("indices", indices.data(), contract[ENTRIES], contract[TOKENS]);
    contract.codes(codes.data(), false);
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

void register_documents_leave_one_out(nb::module_ &m) {
    define_kernel(m, "score_documents_leave_one_out", &score_documents_leave_one_out);
}

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
