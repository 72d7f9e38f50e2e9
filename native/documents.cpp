// log_amounts and document_sums: what a document adds to the sums, and the sums over documents by token and class.
//
// Documents are taken class by class, and their entries put in order of tokens by counting (Knuth 5.2 D), which keeps
// the order of the classes: then equal places stand side by side, and nothing is ever compared.
#include "columns.h"

#include <cmath>

namespace tb {

namespace {

constexpr int64_t LISTED = 1024; // logarithms of amounts below it are worked out once

auto log_amounts(Vector<int64_t> indptr, Vector<int32_t> amounts, bool unit) {
    const int64_t n_rows = int64_t(indptr.shape(0)) - 1, size = int64_t(amounts.shape(0));
    const int64_t *ends = indptr.data();
    const int32_t *amount = amounts.data();
    for (int64_t r = 0; r < n_rows; ++r)
        if (ends[r] < 0 || ends[r + 1] < ends[r] || ends[r + 1] > size) throw std::invalid_argument("ends out of order");
    static const std::vector<double> list = [] {
        std::vector<double> logs(LISTED);
        for (int64_t i = 0; i < LISTED; ++i) logs[i] = std::log1p(double(i));
        return logs;
    }();
    std::vector<int64_t> result(static_cast<size_t>(size));
    {
        nb::gil_scoped_release release;
        auto log = [&](int64_t i) { return amount[i] < LISTED ? list[amount[i]] : std::log1p(double(amount[i])); };
        for (int64_t r = 0; r < n_rows; ++r) {
            double square = 0;
            if (unit)
                for (int64_t i = ends[r]; i < ends[r + 1]; ++i) square += log(i) * log(i);
            const double scale = square > 0 ? 0x1p30 / std::sqrt(square) : 0x1p30;
            for (int64_t i = ends[r]; i < ends[r + 1]; ++i) result[i] = std::llrint(log(i) * scale);
        }
    }
    return to_numpy(std::move(result), {size_t(size)});
}

struct Entry {
    int32_t code, amount;
    int64_t log;
};

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

struct Sums {
    std::vector<int64_t> places, amounts, documents, logs;

    void add(int64_t place, const Entry &entry) {
        if (places.empty() || places.back() != place) {
            places.push_back(place), amounts.push_back(0), documents.push_back(0), logs.push_back(0);
        }
        amounts.back() += entry.amount, ++documents.back(), logs.back() += entry.log;
    }
};

auto document_sums(Vector<int64_t> indptr, Vector<int32_t> indices, Vector<int32_t> amounts, Vector<int64_t> logs,
                   Vector<int32_t> codes, int64_t n_classes, int64_t first, int64_t last) {
    const int64_t n_rows = int64_t(codes.shape(0)), size = int64_t(indices.shape(0));
    const int64_t *ends = indptr.data();
    const int32_t *token = indices.data();
    if (int64_t(indptr.shape(0)) != n_rows + 1 || int64_t(amounts.shape(0)) != size || int64_t(logs.shape(0)) != size ||
        first > last)
        throw std::invalid_argument("documents of different lengths");
    for (int64_t r = 0; r < n_rows; ++r)
        if (ends[r] < 0 || ends[r + 1] < ends[r] || ends[r + 1] > size || codes.data()[r] >= n_classes)
            throw std::invalid_argument("documents out of order");
    Sums sums;
    {
        nb::gil_scoped_release release;
        const uint64_t width = uint64_t(last - first);
        std::vector<int64_t> next(width + 1);
        const std::vector<int64_t> rows = by_class(codes.data(), n_rows, n_classes);
        for (int64_t row : rows)
            for (int64_t i = ends[row]; i < ends[row + 1]; ++i)
                if (uint64_t at = uint64_t(token[i] - first); at < width) ++next[at + 1];
        for (uint64_t t = 0; t < width; ++t) next[t + 1] += next[t];
        std::vector<Entry> entries(next[width]);
        for (int64_t row : rows)
            for (int64_t i = ends[row]; i < ends[row + 1]; ++i)
                if (uint64_t at = uint64_t(token[i] - first); at < width)
                    entries[next[at]++] = {codes.data()[row], amounts.data()[i], logs.data()[i]};
        int64_t k = 0; // next[t] is now where the entries of token t end
        for (uint64_t t = 0; t < width; ++t)
            for (; k < next[t]; ++k) sums.add((first + int64_t(t)) * n_classes + entries[k].code, entries[k]);
    }
    const size_t n = sums.places.size();
    return nb::make_tuple(to_numpy(std::move(sums.places), {n}), to_numpy(std::move(sums.amounts), {n}),
                          to_numpy(std::move(sums.documents), {n}), to_numpy(std::move(sums.logs), {n}));
}

} // namespace

void register_documents(nb::module_ &m) {
    m.def("log_amounts", &log_amounts);
    m.def("document_sums", &document_sums);
}

} // namespace tb
