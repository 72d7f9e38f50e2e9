// What documents add to the sums (sum_documents, merge_cells), and the logarithms of their amounts (log_amounts).
//
// sum_documents takes the documents class by class and puts their entries in order of tokens by counting (Knuth 5.2 D),
// which keeps the order of the classes: then what belongs to a cell stands together, and nothing is ever compared.
#include "base/columns.h"
#include "text/tokens_array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tb {

namespace {

constexpr int64_t LISTED_LOGS = 1024; // logarithms of amounts below it are worked out once

// The nearest whole number, ties to the even one, of what is below 2**51.
inline int64_t to_whole(double x) { return std::bit_cast<int64_t>(x + 0x1.8p52) - std::bit_cast<int64_t>(0x1.8p52); }

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
        for (int64_t i = 0; i < contract[ENTRIES]; ++i)
            if (this->amounts[i] < 0) refuse("amounts from 0 on", this->amounts[i]);
    }
};

// log(1 + amount), and what it is multiplied by so that a document's are whole numbers of 2**-30.
struct Logs {
    const std::vector<double> &list = known();

    double operator()(int32_t amount) const {
        return amount >= 0 && amount < LISTED_LOGS ? list[amount] : std::log1p(double(amount));
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
            std::vector<double> values(LISTED_LOGS);
            for (int64_t i = 0; i < LISTED_LOGS; ++i) values[i] = std::log1p(double(i));
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

// Arrays that are written all over once: not filled before, in large pages.
template <class T> Growing<T> room_for(size_t n) {
    Growing<T> result;
    result.reserve(n);
    use_huge_pages(result.data(), n * sizeof(T));
    result.set_size(n);
    return result;
}

struct DocumentSums {
    Growing<int64_t> cells, sums; // token << 24 | class in order; (3, cells)
    std::vector<int64_t> totals;  // (3, classes)
};

// The entries of some documents, which are in order of their classes, put in order of tokens and summed up.
// Number: of entries and documents, as short as it may be: there is an entry to be written far away for each.
template <class Number>
DocumentSums sum_by_token(const Documents &documents, const std::vector<int64_t> &rows, const int32_t *codes,
                          int64_t n_classes, int64_t n_tokens, bool unit) {
    struct DocumentEntry {
        Number row; // among `rows`
        int32_t amount;
    };
    constexpr int64_t COUNTERS_AHEAD = 32, PLACES_AHEAD = 16; // entries whose places are asked for beforehand
    Growing<Number> next = room_for<Number>(size_t(n_tokens) + 1);
    std::fill_n(next.data(), next.size(), Number(0));
    for (int64_t row : rows)
        for (int64_t i = documents.ends[row]; i < documents.ends[row + 1]; ++i) ++next[size_t(documents.tokens[i]) + 1];
    for (size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
    const size_t n_entries = next[size_t(n_tokens)];
    Growing<DocumentEntry> entries = room_for<DocumentEntry>(n_entries);
    for (size_t r = 0; r < rows.size(); ++r) {
        const int64_t end = documents.ends[rows[r] + 1];
        for (int64_t i = documents.ends[rows[r]]; i < end; ++i) {
            if (i + COUNTERS_AHEAD < end) __builtin_prefetch(&next[documents.tokens[i + COUNTERS_AHEAD]], 1);
            if (i + PLACES_AHEAD < end)
                __builtin_prefetch(entries.data() + next[documents.tokens[i + PLACES_AHEAD]], 1);
            entries[next[documents.tokens[i]]++] = {Number(r), documents.amounts[i]};
        }
    } // now next[t] is where the entries of token t end

    std::vector<int32_t> code_of(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) code_of[r] = codes[rows[r]];
    size_t n = 0;
    for (size_t i = 0, t = 0; i < n_entries; ++t)
        for (int32_t before = -1; i < next[t]; ++i)
            n += std::exchange(before, code_of[entries[i].row]) != code_of[entries[i].row];

    const Logs log;
    std::vector<double> scales(unit ? rows.size() : 0);
    for (size_t r = 0; r < scales.size(); ++r) scales[r] = log.scale(documents, rows[r], unit);
    DocumentSums result{room_for<int64_t>(n), room_for<int64_t>(3 * n), std::vector<int64_t>(3 * size_t(n_classes))};
    int64_t *cells = result.cells.data(), *amounts = result.sums.data(), *counts = amounts + n, *logs = counts + n;
    for (size_t i = 0, t = 0, cell = 0; i < n_entries; ++t)
        while (i < next[t]) {
            const int32_t code = code_of[entries[i].row];
            int64_t amount = 0, units = 0;
            const size_t from = i;
            for (; i < next[t] && code_of[entries[i].row] == code; ++i) {
                amount += entries[i].amount;
                units += to_whole(log(entries[i].amount) * (unit ? scales[entries[i].row] : 0x1p30));
            }
            cells[cell] = int64_t(t) << 24 | code;
            result.totals[code] += amounts[cell] = amount;
            result.totals[n_classes + code] += counts[cell] = int64_t(i - from);
            result.totals[2 * n_classes + code] += logs[cell] = units;
            ++cell;
        }
    return result;
}

// As a NumPy array that owns the block.
template <class T> nb::ndarray<nb::numpy, T> block_to_numpy(Growing<T> &&values, std::initializer_list<size_t> shape) {
    if (!values.size()) values.reserve(1);
    T *block = values.release();
    nb::capsule owner(block, [](void *p) noexcept { std::free(p); });
    return nb::ndarray<nb::numpy, T>(block, shape, owner);
}

auto sum_documents(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<int32_t> amounts, Vector<int32_t> codes,
                   int64_t n_classes, int64_t n_tokens, bool unit, int64_t first, int64_t last) {
    Contract contract;
    contract.size("n_classes", n_classes, CLASSES);
    contract.size("n_tokens", n_tokens, TOKENS);
    const Documents documents(contract, indptr, &indices, amounts, n_tokens);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    const int32_t *code = codes.data();
    DocumentSums result;
    std::vector<int64_t> lengths(static_cast<size_t>(documents.n_rows), -1);
    {
        nb::gil_scoped_release release;
        std::vector<int64_t> rows = by_class(code, documents.n_rows, n_classes);
        std::erase_if(rows, [&](int64_t row) { return code[row] < first || code[row] >= last; });
        for (int64_t row : rows) {
            lengths[row] = 0;
            for (int64_t i = documents.ends[row]; i < documents.ends[row + 1]; ++i)
                lengths[row] += documents.amounts[i];
        }
        const auto sum = std::max<size_t>(indices.shape(0), rows.size()) < UINT32_MAX ? &sum_by_token<uint32_t>
                                                                                      : &sum_by_token<uint64_t>;
        result = sum(documents, rows, code, n_classes, n_tokens, unit);
    }
    auto &[cells, sums, totals] = result;
    const size_t n = cells.size();
    return nb::make_tuple(block_to_numpy(std::move(cells), {n}), block_to_numpy(std::move(sums), {3, n}),
                          to_numpy(std::move(totals), {3, size_t(n_classes)}),
                          to_numpy(std::move(lengths), {size_t(documents.n_rows)}));
}

// Two lists of cells in order, with their sums, as one; a cell that both have gets both sums.
auto merge_cells(Vector<int64_t> cells_a, Matrix<int64_t> sums_a, Vector<int64_t> cells_b, Matrix<int64_t> sums_b) {
    const size_t n_a = cells_a.shape(0), n_b = cells_b.shape(0), kinds = sums_a.shape(0);
    Contract contract;
    contract.array("cells_a", cells_a, {int64_t(n_a)});
    contract.array("cells_b", cells_b, {int64_t(n_b)});
    contract.array("sums_a", sums_a, {LINES, int64_t(n_a)});
    contract.array("sums_b", sums_b, {LINES, int64_t(n_b)});
    const int64_t *a = cells_a.data(), *b = cells_b.data();
    Contract::ascending("cells_a", a, int64_t(n_a), true);
    Contract::ascending("cells_b", b, int64_t(n_b), true);
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
            for (size_t kind = 0; kind < kinds; ++kind) {
                int64_t &sum = sums[kind * n + k] = take_a ? sums_a.data()[kind * n_a + i] : 0;
                if (take_b) add_wrapping(sum, sums_b.data()[kind * n_b + j]);
            }
            i += take_a, j += take_b;
        }
    }
    const size_t n = cells.size();
    return nb::make_tuple(to_numpy(std::move(cells), {n}), to_numpy(std::move(sums), {kinds, n}));
}

} // namespace

void register_documents(nb::module_ &m) {
    define_kernel(m, "log_amounts", &log_amounts);
    define_kernel(m, "sum_documents", &sum_documents);
    define_kernel(m, "merge_cells", &merge_cells);
}

} // namespace tb
