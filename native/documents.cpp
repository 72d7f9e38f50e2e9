// What documents add to the sums (sum_documents, merge_cells), the logarithms of their amounts (log_amounts), and
// numbers that tell documents apart (fingerprint_documents).
//
// sum_documents takes the documents class by class and sums one class at a time into an array over all tokens, with a
// list of those it has met. The cells, class after class, are then put in order of tokens by counting (Knuth 5.2 D),
// which keeps the order of the classes: nothing is ever compared.
#include "columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tb {

namespace {

constexpr int64_t LOOKED_AT = 32; // tokens of a document that its fingerprint is made of
constexpr int64_t LISTED = 1024; // logarithms of amounts below it are worked out once

// The nearest whole number, ties to the even one, of what is below 2**51.
inline int64_t to_whole(double x) {
    return std::bit_cast<int64_t>(x + 0x1.8p52) - std::bit_cast<int64_t>(0x1.8p52);
}

struct Documents {
    const int64_t *ends;
    const int32_t *tokens, *amounts;
    int64_t n_rows;

    Documents(Contract &contract, const Vector<int64_t> &indptr, const Vector<int32_t> *indices,
              const Vector<int32_t> &amounts, int64_t n_tokens)
        : ends(indptr.data()), tokens(indices ? indices->data() : nullptr), amounts(amounts.data()) {
        contract.array("indptr", indptr, {plus_one(ROWS)});
        contract.array("amounts", amounts, {ENTRIES});
        if (indices) contract.array("indices", *indices, {ENTRIES});
        n_rows = contract[ROWS];
        Contract::ends("indptr", ends, n_rows + 1, contract[ENTRIES]);
        if (indices) Contract::below("indices", tokens, contract[ENTRIES], n_tokens);
    }
};

// log(1 + amount), and what it is multiplied by so that a document's are whole numbers of 2**-30.
struct Logs {
    const std::vector<double> &list = known();

    double operator()(int32_t amount) const {
        return amount >= 0 && amount < LISTED ? list[amount] : std::log1p(double(amount));
    }
    double scale(const Documents &documents, int64_t row, bool unit) const {
        double square = 0;
        for (int64_t i = documents.ends[row]; unit && i < documents.ends[row + 1]; ++i) {
            const double log = (*this)(documents.amounts[i]);
            square += log * log;
        }
        return square > 0 ? 0x1p30 / std::sqrt(square) : 0x1p30;
    }

  private:
    static const std::vector<double> &known() {
        static const std::vector<double> logs = [] {
            std::vector<double> values(LISTED);
            for (int64_t i = 0; i < LISTED; ++i) values[i] = std::log1p(double(i));
            return values;
        }();
        return logs;
    }
};

auto log_amounts(Vector<int64_t> indptr, Vector<int32_t> amounts, bool unit) {
    Contract contract;
    const Documents documents(contract, indptr, nullptr, amounts, 0);
    std::vector<int64_t> result(amounts.shape(0));
    {
        nb::gil_scoped_release release;
        const Logs log;
        for (int64_t r = 0; r < documents.n_rows; ++r) {
            const double scale = log.scale(documents, r, unit);
            for (int64_t i = documents.ends[r]; i < documents.ends[r + 1]; ++i)
                result[i] = to_whole(log(documents.amounts[i]) * scale);
        }
    }
    const size_t size = result.size();
    return to_numpy(std::move(result), {size});
}

// The documents that have a class, class by class.
std::vector<int64_t> by_class(const int32_t *codes, int64_t n_rows, int64_t n_classes) {
    std::vector<int64_t> next(n_classes + 1), rows;
    for (int64_t r = 0; r < n_rows; ++r)
        if (codes[r] >= 0) ++next[codes[r] + 1];
    for (int64_t c = 0; c < n_classes; ++c) next[c + 1] += next[c];
    rows.resize(next[n_classes]);
    for (int64_t r = 0; r < n_rows; ++r)
        if (codes[r] >= 0) rows[next[codes[r]]++] = r;
    return rows;
}

struct Sum {
    int64_t amount, log;
    int32_t documents, token;
};

struct Cell {
    Sum sum;
    int64_t code;
};

class ByToken {
  public:
    ByToken(int64_t n_tokens, int64_t n_classes) : sums_(n_tokens), next_(n_tokens + 1), ends_(n_classes) {}

    // Returns how many tokens the document has, each as often as it occurs.
    int64_t add(const Documents &documents, int64_t row, double scale, const Logs &log) {
        int64_t length = 0;
        constexpr int64_t AHEAD = 16; // entries; their sums lie far apart
        const int64_t end = documents.ends[row + 1];
        for (int64_t i = documents.ends[row]; i < end; ++i) {
            if (i + AHEAD < end) __builtin_prefetch(&sums_[documents.tokens[i + AHEAD]], 1);
            Sum &sum = sums_[documents.tokens[i]];
            if (sum.documents++ == 0) met_.push_back(documents.tokens[i]);
            sum.amount += documents.amounts[i];
            length += documents.amounts[i];
            sum.log += to_whole(log(documents.amounts[i]) * scale);
        }
        return length;
    }
    void end_class(int64_t code) {
        for (int32_t token : met_) {
            cells_.push_back(sums_[token]);
            cells_.back().token = token;
            sums_[token] = {};
            ++next_[token + 1];
        }
        met_.clear();
        ends_[code] = int64_t(cells_.size());
    }
    // Cells as token << 24 | class in order, and their sums; the totals of the classes.
    auto result() {
        const size_t n = cells_.size(), n_classes = ends_.size();
        for (size_t t = 1; t < next_.size(); ++t) next_[t] += next_[t - 1];
        std::vector<Cell> sorted(n); // one write to a far place for each cell, not four
        size_t k = 0;
        for (size_t c = 0; c < n_classes; ++c)
            for (; k < size_t(ends_[c]); ++k) sorted[next_[cells_[k].token]++] = {cells_[k], int64_t(c)};
        std::vector<int64_t> cells(n), sums(3 * n), totals(3 * n_classes);
        for (size_t i = 0; i < n; ++i) {
            const Cell &cell = sorted[i];
            cells[i] = int64_t(cell.sum.token) << 24 | cell.code;
            totals[cell.code] += sums[i] = cell.sum.amount;
            totals[n_classes + cell.code] += sums[n + i] = cell.sum.documents;
            totals[2 * n_classes + cell.code] += sums[2 * n + i] = cell.sum.log;
        }
        return std::make_tuple(std::move(cells), std::move(sums), std::move(totals));
    }

  private:
    std::vector<Sum> sums_, cells_; // of the class at hand, by token; of all classes, one after the other
    std::vector<int32_t> met_;
    std::vector<int64_t> next_, ends_;
};

auto sum_documents(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<int32_t> amounts, Vector<int32_t> codes,
                   int64_t n_classes, int64_t n_tokens, bool unit, int64_t first, int64_t last) {
    Contract contract;
    contract.size("n_classes", n_classes, CLASSES);
    contract.size("n_tokens", n_tokens, TOKENS);
    const Documents documents(contract, indptr, &indices, amounts, n_tokens);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    const int32_t *code = codes.data();
    decltype(ByToken(0, 0).result()) result;
    std::vector<int64_t> lengths(static_cast<size_t>(documents.n_rows), -1);
    {
        nb::gil_scoped_release release;
        const Logs log;
        ByToken sums(n_tokens, n_classes);
        const std::vector<int64_t> rows = by_class(code, documents.n_rows, n_classes);
        size_t at = 0;
        for (int64_t c = 0; c < n_classes; ++c) {
            for (; at < rows.size() && code[rows[at]] == c; ++at)
                if (c >= first && c < last)
                    lengths[rows[at]] = sums.add(documents, rows[at], log.scale(documents, rows[at], unit), log);
            sums.end_class(c);
        }
        result = sums.result();
    }
    auto &[cells, sums, totals] = result;
    const size_t n = cells.size();
    return nb::make_tuple(to_numpy(std::move(cells), {n}), to_numpy(std::move(sums), {3, n}),
                          to_numpy(std::move(totals), {3, size_t(n_classes)}),
                          to_numpy(std::move(lengths), {size_t(documents.n_rows)}));
}

// Two lists of cells in order, with their sums, as one; a cell that both have gets both sums.
auto merge_cells(Vector<int64_t> cells_a, Matrix<int64_t> sums_a, Vector<int64_t> cells_b, Matrix<int64_t> sums_b) {
    const size_t n_a = cells_a.shape(0), n_b = cells_b.shape(0), kinds = sums_a.shape(0);
    Contract contract;
    contract.array("sums_a", sums_a, {LINES, int64_t(n_a)});
    contract.array("sums_b", sums_b, {LINES, int64_t(n_b)});
    const int64_t *a = cells_a.data(), *b = cells_b.data();
    std::vector<int64_t> cells, sums;
    {
        nb::gil_scoped_release release;
        size_t n = n_a + n_b;
        for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
            n -= a[i] == b[j];
            const bool take_a = a[i] <= b[j], take_b = b[j] <= a[i];
            i += take_a, j += take_b;
        }
        cells.resize(n), sums.resize(n * kinds);
        for (size_t i = 0, j = 0, k = 0; k < n; ++k) {
            const bool take_a = j == n_b || (i < n_a && a[i] <= b[j]), take_b = i == n_a || (j < n_b && b[j] <= a[i]);
            cells[k] = take_a ? a[i] : b[j];
            for (size_t kind = 0; kind < kinds; ++kind)
                sums[kind * n + k] = (take_a ? sums_a.data()[kind * n_a + i] : 0) + (take_b ? sums_b.data()[kind * n_b + j] : 0);
            i += take_a, j += take_b;
        }
    }
    const size_t n = cells.size();
    return nb::make_tuple(to_numpy(std::move(cells), {n}), to_numpy(std::move(sums), {kinds, n}));
}

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// The first and the last eight bytes of a token, and its length.
inline uint64_t token_hash(const uint8_t *from, int64_t length) {
    uint64_t first = 0, last = 0;
    const size_t n = size_t(length < 8 ? length : 8);
    std::memcpy(&first, from, n);
    std::memcpy(&last, from + length - int64_t(n), n);
    return mixed(first ^ mixed(last + uint64_t(length)));
}

auto fingerprint_documents(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<int32_t> amounts, Vector<uint8_t> data,
                  Vector<int64_t> offsets) {
    Contract contract;
    contract.array("offsets", offsets, {plus_one(TOKENS)});
    const int64_t n_tokens = contract[TOKENS], *at = offsets.data();
    Contract::ends("offsets", at, n_tokens + 1, int64_t(data.shape(0)));
    const Documents documents(contract, indptr, &indices, amounts, n_tokens);
    std::vector<uint64_t> result(static_cast<size_t>(documents.n_rows));
    {
        nb::gil_scoped_release release;
        std::vector<uint64_t> tokens(static_cast<size_t>(n_tokens));
        for (int64_t t = 0; t < n_tokens; ++t) tokens[t] = token_hash(data.data() + at[t], at[t + 1] - at[t]);
        for (int64_t r = 0; r < documents.n_rows; ++r) {
            uint64_t hash = mixed(uint64_t(documents.ends[r + 1] - documents.ends[r]));
            const int64_t size = documents.ends[r + 1] - documents.ends[r];
            for (int64_t j = 0; j < std::min(size, LOOKED_AT); ++j) {
                const int64_t i = documents.ends[r] + j * std::max(size, LOOKED_AT) / LOOKED_AT;
                hash = mixed(hash ^ (tokens[documents.tokens[i]] + uint64_t(int64_t(documents.amounts[i]))));
            }
            result[size_t(r)] = hash;
        }
    }
    return to_numpy(std::move(result), {size_t(documents.n_rows)});
}

} // namespace

void register_documents(nb::module_ &m) {
    define_kernel(m, "log_amounts", &log_amounts);
    define_kernel(m, "sum_documents", &sum_documents);
    define_kernel(m, "merge_cells", &merge_cells);
    define_kernel(m, "fingerprint_documents", &fingerprint_documents);
}

} // namespace tb
