// score_documents_leave_one_out: documents scored by the sums without themselves.
//
// Logarithms are the cost: those of all tokens and classes of a document are taken in one go. The classes that have none
// of a token share one logarithm; for the others, the token's cells, the difference to it is added.
#ifndef TB_ISA
#include "base/tile_sizes.h"

namespace tb {

// The classes that have a token and their counts, in order of tokens and of classes, and the sums over the classes.
struct TokenCells {
    const int64_t *starts;
    const int32_t *classes;
    const double *counts, *whole;
};

// Room for one document: the values whose logarithms are taken, the class of each (-1: of those that have none of the
// token), and where the values of each token end.
struct DocumentRoom {
    std::vector<double> values, total;
    std::vector<int32_t> classes;
    std::vector<int64_t> ends;

    explicit DocumentRoom(int64_t n_classes) : total(static_cast<size_t>(n_classes)) {}
    void reserve(int64_t n_tokens, int64_t n_cells) {
        const size_t wanted = static_cast<size_t>(n_cells + 2 * n_tokens) + 8; // whole vectors are read
        if (values.size() < wanted) values.resize(wanted), classes.resize(wanted);
        if (ends.size() < static_cast<size_t>(n_tokens)) ends.resize(static_cast<size_t>(n_tokens));
    }
};

} // namespace tb

#define TB_FILE "leave_one_out/documents_leave_one_out.cpp"
#include "base/isa.h"

namespace tb {

namespace {

auto score_documents_leave_one_out(Vector<int64_t> starts, Vector<int32_t> classes, Vector<double> counts,
                                   Vector<double> whole, Vector<double> totals, double n_tokens, Vector<int64_t> indptr,
                                   Vector<int32_t> indices, Vector<double> own, Vector<double> amounts,
                                   Vector<int32_t> codes, Vector<double> weights, double k, bool complement) {
    Contract contract;
    contract.array("starts", starts, {plus_one(TOKENS)});
    contract.array("classes", classes, {LINES});
    contract.array("counts", counts, {LINES});
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
    Contract::ends("starts", starts.data(), contract[TOKENS] + 1, contract[LINES]);
    Contract::below("classes", classes.data(), contract[LINES], n_classes);
    contract.codes(codes.data(), false);
    std::vector<double> out(static_cast<size_t>(n_rows * n_classes));
    {
        nb::gil_scoped_release release;
        const auto score = TB_BEST(score_one);
        const TokenCells cells{starts.data(), classes.data(), counts.data(), whole.data()};
        DocumentRoom room(n_classes);
        for (int64_t r = 0; r < n_rows; ++r) {
            const int64_t from = ends[r], n = ends[r + 1] - from;
            score(cells, totals.data(), n_tokens, indices.data() + from, own.data() + from, amounts.data() + from, n,
                  n_classes, codes.data()[r], weights.data()[r], k, complement, room, out.data() + r * n_classes);
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
#include "base/tile.h"

#include "base/logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr int64_t CELLS_AHEAD = 8; // tokens whose cells are asked for beforehand

void score_one(const TokenCells &cells, const double *totals, double n_tokens, const int32_t *tokens, const double *own,
               const double *amounts, int64_t n, int64_t n_classes, int64_t code, double weight, double k,
               bool complement, DocumentRoom &room, double *out) {
    int64_t n_cells = 0;
    for (int64_t i = 0; i < n; ++i) n_cells += cells.starts[tokens[i] + 1] - cells.starts[tokens[i]];
    room.reserve(n, n_cells);
    double *values = room.values.data();
    int32_t *classes = room.classes.data();
    double known = 0, all = 0, lost = 0; // amounts of tokens that something is left of; own of all; tokens without any
    int64_t size = 0;
    for (int64_t i = 0; i < n; room.ends[i++] = size) {
        if (i + CELLS_AHEAD < n) {
            const int64_t later = cells.starts[tokens[i + CELLS_AHEAD]];
            __builtin_prefetch(cells.counts + later), __builtin_prefetch(cells.classes + later);
        }
        const double added = weight * own[i], left = cells.whole[tokens[i]] - added;
        all += own[i];
        if (!(left > 1e-9 * own[i])) {
            ++lost;
            continue;
        }
        known += amounts[i];
        if (complement) values[size] = left + k, classes[size++] = -1;
        bool has_own = false;
        const auto add = [&](int32_t c, double count) {
            values[size] = std::max(complement ? left - count : count, 0.0) + k;
            classes[size++] = c;
        };
        for (int64_t j = cells.starts[tokens[i]]; j < cells.starts[tokens[i] + 1]; ++j) {
            const int32_t c = cells.classes[j];
            has_own |= c == code;
            add(c, cells.counts[j] - (c == code ? added : 0.0));
        }
        if (!has_own) add(int32_t(code), 0.0 - added);
    }
    for (int64_t i = size; i % LANES; ++i) values[i] = 1.0;
    for (int64_t i = 0; i < size; i += LANES) store(values + i, lanes_log(load<Lanes>(values + i)));
    const double log_k = lanes_log(broadcast<Lanes>(k))[0];
    double none = 0; // what a class would have that has none of the tokens
    for (int64_t c = 0; c < n_classes; ++c) out[c] = 0;
    for (int64_t i = 0, at = 0; i < n; ++i) {
        if (at == room.ends[i]) continue;
        const double amount = amounts[i], rest = complement ? values[at++] : log_k;
        none += amount * rest;
        if (room.ends[i] - at == n_classes && classes[at] == 0 && classes[room.ends[i] - 1] == n_classes - 1)
            for (int64_t c = 0; c < n_classes; ++c) out[c] += amount * (values[at + c] - rest);
        else
            for (int64_t j = at; j < room.ends[i]; ++j) out[classes[j]] += amount * (values[j] - rest);
        at = room.ends[i];
    }
    double every = 0, *total = room.total.data();
    for (int64_t c = 0; c < n_classes; ++c) total[c] = totals[c] - (c == code ? weight * all : 0.0), every += total[c];
    for (int64_t c = 0; c < n_classes; ++c) {
        const double rest = (complement ? every - total[c] : total[c]) + k * (n_tokens - lost);
        out[c] += none - known * std::log(rest);
        if (complement) out[c] = -out[c];
    }
}

} // namespace
} // namespace tb::TB_ISA
#endif
