// add_bags: log likelihoods of the rows of a sparse matrix.
//
// A row's totals stay in registers over all its entries, which are taken in the order given. What limits is how soon
// the rows of the table arrive, so they are asked for some entries ahead, and the entries themselves long before.
#ifndef TB_ISA
#include "base/tile_sizes.h"

namespace tb {
namespace {

// The amounts of a row as doubles; where they are of another type, or all one, by way of a buffer.
struct RealAmounts {
    const void *data;                                                       // null: all one
    void (*convert)(const void *data, int64_t from, int64_t n, double *to); // null: they are doubles
    std::vector<double> buffer{};

    Pointer of(int64_t from, int64_t n) {
        if (data && !convert) return static_cast<Pointer>(data) + from;
        if (static_cast<int64_t>(buffer.size()) < n) buffer.resize(2 * n, 1.0);
        if (data) convert(data, from, n, buffer.data());
        return buffer.data();
    }
};

template <class A> void convert_amounts(const void *data, int64_t from, int64_t n, double *to) {
    std::copy_n(static_cast<const A *>(data) + from, n, to);
}

} // namespace
} // namespace tb

#define TB_FILE "scoring/score_bags.cpp"
#include "base/isa.h"

namespace tb {
namespace {

void add_bags(Array indptr, Contiguous indices, std::optional<Contiguous> amounts, Matrix<double> table,
              Out<double> out, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.array("table", table, {TOKENS, CLASSES});
    contract.array("out", out, {ROWS, CLASSES});
    const int64_t n_classes = contract[CLASSES];
    Pointer from = table.data();
    double *to = out.data() + start * n_classes;
    nb::gil_scoped_release release;
    BagArrays(indptr, indices, amounts)
        .visit(contract, contract[TOKENS], [&]<class I, class A>(const Ends &ends, const I *tokens, const A *amount) {
            RealAmounts values{amount, std::is_same_v<A, double> ? nullptr : convert_amounts<A>};
            TB_BEST(bag_rows<I>)(ends.values, tokens, values, from, to, n_classes);
            return true;
        });
}

} // namespace

void register_bag_scores(nb::module_ &m) { define_kernel(m, "add_bags", &add_bags); }

} // namespace tb

#else
#include "base/tile.h"

#include "scoring/sum_rows.h"

namespace tb::TB_ISA {
namespace {

constexpr int64_t LINES_AHEAD = 16;    // entries by which the rows of the table are asked for before
constexpr int64_t ENTRIES_AHEAD = 512; // and the entries

// The entries of one row, and the rows of the table that they name.
template <class I> struct Tokens {
    static constexpr bool weighted = true;
    const I *indices;
    Pointer amounts;
    int64_t last; // entry of the whole matrix, counted from here
    Pointer table;
    int64_t n_classes;

    TB_INLINE Pointer row(int64_t i) const { return table + static_cast<int64_t>(indices[i]) * n_classes; }
    TB_INLINE double amount(int64_t i) const { return amounts[i]; }

    // Asks for `bytes` from class `at` on, of a row that will be added soon.
    template <int bytes> TB_INLINE void prefetch(int64_t i, int64_t at) const {
        auto *p = reinterpret_cast<const char *>(row(std::min(i + LINES_AHEAD, last)) + at);
#pragma GCC unroll 4
        for (int byte = 0; byte < bytes; byte += 64) __builtin_prefetch(p + byte);
        __builtin_prefetch(p + bytes - 1);
    }
};

template <class I> TB_INLINE void prefetch_entries(const Tokens<I> &tokens, int64_t n) {
    for (int64_t i = 0; i < n; i += 8) { // eight doubles are a cache line
        __builtin_prefetch(tokens.indices + i + ENTRIES_AHEAD);
        __builtin_prefetch(tokens.amounts + i + ENTRIES_AHEAD);
    }
}

template <class I>
void bag_rows(const std::vector<int64_t> &ends, const I *indices, RealAmounts &amounts, Pointer table, double *out,
              int64_t n_classes) {
    for (size_t row = 0; row + 1 < ends.size(); ++row, out += n_classes) {
        const int64_t from = ends[row], n = ends[row + 1] - from;
        const Tokens<I> tokens{indices + from, amounts.of(from, n), ends.back() - 1 - from, table, n_classes};
        prefetch_entries(tokens, n);
        for_classes(n_classes, [&]<int vectors, int tail>(int64_t at) { sum_rows<vectors, tail>(tokens, n, at, out); });
    }
}

} // namespace
} // namespace tb::TB_ISA
#endif
