// Totals of whole amounts per token and class, of a sparse matrix in rows.
//
// `count_bags` lists them. Rows are brought together by class, and one class at a time is summed into an array over all
// tokens, which stays in the cache. The entries, class after class, are then put in order of tokens by counting (Knuth
// 5.2 D, distribution counting), which keeps the order of the classes: nothing is ever compared.
//
// `count_bags_dense` has a dense table. Rows are taken as they come, into a table of 32 bits a cell laid out [class][token], so that a
// row stays within one class's slice of it. Amounts that do not fit there, which are rare, are left to the list.
#include "base/columns.h"
#include "base/simd.h"

#include <algorithm>
#include <bit>

namespace tb {

namespace {

struct TokenTotal {
    int64_t token, total;
};

// Whole amounts from 0 on, of which the total must stay below 2**53.
struct WholeAmounts {
    unsigned __int128 total = 0;
    bool whole = true;

    template <class A> TB_INLINE int64_t take(A amount) {
        int64_t value = 0;
        if constexpr (std::is_floating_point_v<A>) {
            if (amount >= 0 && amount < A(0x1p53)) [[likely]]
                value = int64_t(amount);
            whole &= A(value) == amount;
        } else {
            value = amount;
            whole &= uint64_t(value) < uint64_t(1) << 53;
        }
        total += uint64_t(value);
        return value;
    }
    bool fit() const { return whole && total >> 53 == 0; }
};

struct Ones { // stands for the amounts if there are none
    int8_t operator[](int64_t) const { return 1; }
};

// The rows from `start` to `stop` class by class; the first of class c is first[c], rows to be left out come last.
struct ByClass {
    std::vector<int64_t> rows, first;

    ByClass(const int32_t *codes, int64_t n_classes, int64_t start, int64_t stop)
        : rows(stop - start), first(n_classes + 2) {
        auto group = [&](int64_t row) { return codes[row] < 0 ? n_classes : codes[row]; };
        for (int64_t r = start; r < stop; ++r) ++first[group(r) + 1];
        for (int64_t c = 0; c <= n_classes; ++c) first[c + 1] += first[c];
        std::vector<int64_t> next(first.begin(), first.end() - 1);
        for (int64_t r = start; r < stop; ++r) rows[next[group(r)]++] = r;
    }
};

template <class I, class Values> class BagCounter {
  public:
    BagCounter(const Ends &indptr, const I *indices, Values amounts, int64_t n_tokens)
        : indptr_(indptr), indices_(indices), amounts_(amounts), sums_(n_tokens), per_token_(n_tokens + 1) {}

    // False if an amount or the total is not fit for whole numbers.
    bool run(const ByClass &by_class, int64_t n_classes) {
        class_ends_.assign(n_classes, 0);
        for (int64_t c = 0; c < n_classes; ++c) {
            const int64_t *from = by_class.rows.data() + by_class.first[c],
                          *to = by_class.rows.data() + by_class.first[c + 1];
            if (!add_class(from, to)) return false;
            class_ends_[c] = entries_.size();
        }
        for (int64_t k = by_class.first[n_classes]; k < by_class.first[n_classes + 1]; ++k)
            if (!add_row<Look>(by_class.rows[k])) return false;
        return true;
    }

    void emit(std::vector<int64_t> &places, std::vector<int64_t> &totals) {
        int64_t n_classes = class_ends_.size();
        for (size_t t = 1; t < per_token_.size(); ++t) per_token_[t] += per_token_[t - 1];
        places.resize(entries_.size());
        totals.resize(entries_.size());
        size_t k = 0;
        for (int64_t c = 0; c < n_classes; ++c)
            for (; k < class_ends_[c]; ++k) {
                int64_t at = per_token_[entries_[k].token]++;
                places[at] = entries_[k].token * n_classes + c;
                totals[at] = entries_[k].total;
            }
    }

  private:
    enum Way { Dense, Touched, Look };

    template <Way How> bool add_row(int64_t row) {
        WholeAmounts amounts = seen_;
        for (int64_t i = indptr_[row]; i < indptr_[row + 1]; ++i) {
            int64_t value = amounts.take(amounts_[i]);
            if constexpr (How == Look) continue;
            int64_t &sum = sums_[indices_[i]];
            if (How == Touched && sum == 0 && value != 0) touched_.push_back(indices_[i]);
            sum += value;
        }
        seen_ = amounts;
        return seen_.fit();
    }

    // A class with few numbers keeps a list of its tokens, so that not all tokens need be looked through.
    bool add_class(const int64_t *row, const int64_t *end) {
        int64_t size = 0;
        for (const int64_t *r = row; r < end; ++r) size += indptr_[*r + 1] - indptr_[*r];
        bool few = size < int64_t(sums_.size()) / 4;
        for (; row < end; ++row) {
            if (end - row > ROWS_AHEAD) prefetch(row[ROWS_AHEAD]);
            if (!(few ? add_row<Touched>(*row) : add_row<Dense>(*row))) return false;
        }
        if (few) {
            for (int64_t token : touched_) emit_token(token);
            touched_.clear();
        } else {
            for (size_t token = 0; token < sums_.size(); ++token)
                if (sums_[token]) emit_token(token);
        }
        return true;
    }

    // The rows of a class lie apart, so the processor cannot know which one comes next.
    static constexpr int64_t ROWS_AHEAD = 4;
    void prefetch(int64_t row) const {
        for (int64_t i = indptr_[row]; i < indptr_[row + 1]; i += 64 / sizeof(I)) {
            __builtin_prefetch(indices_ + i);
            if constexpr (std::is_pointer_v<Values>) {
                __builtin_prefetch(amounts_ + i);
                if constexpr (sizeof(*amounts_) > sizeof(I)) __builtin_prefetch(amounts_ + i + 32 / sizeof(I));
            }
        }
    }

    void emit_token(int64_t token) {
        entries_.push_back({token, sums_[token]});
        ++per_token_[token + 1];
        sums_[token] = 0;
    }

    const Ends &indptr_;
    const I *indices_;
    Values amounts_;
    std::vector<int64_t> sums_, per_token_, touched_;
    std::vector<TokenTotal> entries_; // class after class
    std::vector<size_t> class_ends_;
    WholeAmounts seen_;
};

// Amounts that together stay below 2**32. They are turned into integers some at a time, in a loop without a branch
// which the compiler makes vectors of, and are checked by what they leave behind.
class SmallAmounts {
  public:
    static constexpr int64_t AMOUNTS_AT_ONCE = 256;

    template <class Values> TB_INLINE const uint32_t *take(Values amounts, int64_t from, int64_t n) {
        uint64_t lost = 0, seen = 0, total = 0;
        for (int64_t i = 0; i < n; ++i) {
            const auto amount = amounts[from + i];
            uint64_t whole;
            if constexpr (std::is_floating_point_v<std::remove_cv_t<decltype(amount)>>) {
                const double shifted = double(amount) + 0x1p52; // a whole number now sits in the lowest bits
                lost |= std::bit_cast<uint64_t>((shifted - 0x1p52) - double(amount));
                whole = std::bit_cast<uint64_t>(shifted) ^ std::bit_cast<uint64_t>(0x1p52);
            } else {
                whole = uint64_t(int64_t(amount));
            }
            seen |= whole; // negative, too large and NaN: some of the upper 32 bits are set
            total += whole;
            whole_[i] = uint32_t(whole);
        }
        lost_ |= lost;
        seen_ |= seen;
        total_ += total;
        return whole_;
    }
    uint64_t total() const { return total_; }
    bool fit() const { return lost_ == 0 && (seen_ | total_) >> 32 == 0; }

  private:
    uint64_t lost_ = 0, seen_ = 0, total_ = 0;
    uint32_t whole_[AMOUNTS_AT_ONCE];
};

// Asks for what stands some way behind the entries from `i` to `end`: the scattered sums keep the processor from
// foreseeing it. (The sums themselves need no help, many of them are under way at a time.)
template <class I, class Values>
TB_INLINE void prefetch_behind(const I *indices, Values amounts, int64_t i, int64_t end) {
    constexpr int64_t ENTRIES_AHEAD = 512, LINE = 8; // of the widest entries a cache line holds eight
    for (; i < end; i += LINE) {
        __builtin_prefetch(indices + i + ENTRIES_AHEAD);
        if constexpr (std::is_pointer_v<Values>) __builtin_prefetch(amounts + i + ENTRIES_AHEAD);
    }
}

// Adds the rows up in counts[class][token], of which the last class is for rows to be left out, and writes the total
// of each row into `lengths`. False if the amounts do not fit; then neither has a meaning.
template <class I, class Values>
bool count_small(const Ends &indptr, const I *indices, Values amounts, const int32_t *codes, int64_t n_classes,
                 int64_t n_tokens, int64_t start, int64_t stop, uint32_t *counts, double *lengths) {
    constexpr int64_t CHECKED = 256; // rows whose indices are checked at a time: then they are in the cache
    SmallAmounts small;
    for (int64_t row = start; row < stop; ++row) {
        if ((row - start) % CHECKED == 0)
            BagArrays::check_indices(indptr, indices, n_tokens, row, std::min(row + CHECKED, stop));
        const int64_t end = indptr[row + 1];
        const uint64_t before = small.total();
        uint32_t *slice = counts + (codes[row] < 0 ? n_classes : codes[row]) * n_tokens;
        prefetch_behind(indices, amounts, indptr[row], end);
        for (int64_t from = indptr[row]; from < end; from += SmallAmounts::AMOUNTS_AT_ONCE) {
            const int64_t n = std::min(SmallAmounts::AMOUNTS_AT_ONCE, end - from);
            const uint32_t *whole = small.take(amounts, from, n);
            for (int64_t i = 0; i < n; ++i) slice[indices[from + i]] += whole[i];
        }
        if (!small.fit()) return false;
        lengths[row] = static_cast<double>(small.total() - before);
    }
    return true;
}

// table[token][class] = counts[class][token], in blocks of tokens whose rows stay in the first cache.
void turn(const uint32_t *counts, int64_t n_classes, int64_t n_tokens, int64_t *table) {
    constexpr int64_t TOKEN_BLOCK = 64;
    for (int64_t first = 0; first < n_tokens; first += TOKEN_BLOCK) {
        const int64_t end = std::min(first + TOKEN_BLOCK, n_tokens);
        for (int64_t c = 0; c < n_classes; ++c)
            for (int64_t t = first; t < end; ++t) table[t * n_classes + c] = counts[c * n_tokens + t];
    }
}

struct BagInput {
    BagArrays bags;
    const int32_t *codes;
    int64_t n_classes, n_tokens;
    Contract contract;

    // f(ends, pointer to the tokens, the amounts) with their types.
    template <bool indices_too, class F> bool visit(F f) {
        return bags.visit<indices_too>(contract, n_tokens,
                                       [&]<class I, class A>(const Ends &ends, const I *tokens, const A *amounts) {
                                           return amounts ? f(ends, tokens, amounts) : f(ends, tokens, Ones{});
                                       });
    }
};

// Sorted places and their totals; false if the amounts are not fit for integers.
bool list_bags(BagInput &in, std::vector<int64_t> &places, std::vector<int64_t> &totals) {
    return in.visit<true>([&]<class I, class Values>(const Ends &ends, const I *tokens, Values amounts) {
        BagCounter<I, Values> bags(ends, tokens, amounts, in.n_tokens);
        bool fit = bags.run(ByClass(in.codes, in.n_classes, in.contract.start(), in.contract.end()), in.n_classes);
        if (fit) bags.emit(places, totals);
        return fit;
    });
}

bool fill_table(BagInput &in, std::vector<int64_t> &table, const OutVector<double> &lengths) {
    const size_t size = in.n_classes * in.n_tokens;
    in.contract.array("lengths", lengths, {ROWS});
    std::vector<uint32_t> counts(size + in.n_tokens);
    const bool small = in.visit<false>([&]<class I, class Values>(const Ends &ends, const I *tokens, Values amounts) {
        return count_small(ends, tokens, amounts, in.codes, in.n_classes, in.n_tokens, in.contract.start(),
                           in.contract.end(), counts.data(), lengths.data());
    });
    if (small) {
        table.resize(size);
        turn(counts.data(), in.n_classes, in.n_tokens, table.data());
        return true;
    }
    std::vector<int64_t> places, totals;
    if (!list_bags(in, places, totals)) return false;
    table.resize(size);
    for (size_t k = 0; k < places.size(); ++k) table[places[k]] = totals[k];
    return in.visit<false>([&](const Ends &ends, auto, auto amounts) {
        for (int64_t row = in.contract.start(); row < in.contract.end(); ++row) {
            WholeAmounts seen;
            for (int64_t i = ends[row]; i < ends[row + 1]; ++i) seen.take(amounts[i]);
            lengths.data()[row] = static_cast<double>(seen.total);
        }
        return true;
    });
}

// f(input, results ...) without the lock of the interpreter, after the codes have been checked.
template <class F, class... Results>
bool unlocked(F f, BagInput &in, const Vector<int32_t> &codes, Results &...results) {
    nb::gil_scoped_release release;
    in.contract.size("n_classes", in.n_classes, CLASSES);
    in.contract.size("n_tokens", in.n_tokens, TOKENS);
    in.contract.array("codes", codes, {ROWS});
    in.contract.codes(in.codes);
    return f(in, results...);
}

nb::object count_bags(Array indptr, Contiguous indices, std::optional<Contiguous> amounts, Vector<int32_t> codes,
                      int64_t n_classes, int64_t n_tokens, int64_t start, int64_t stop) {
    BagInput in{{indptr, indices, amounts}, codes.data(), n_classes, n_tokens, {start, stop}};
    std::vector<int64_t> places, totals;
    if (!unlocked(list_bags, in, codes, places, totals)) return nb::none();
    size_t size = places.size();
    return nb::make_tuple(to_numpy(std::move(places), {size}), to_numpy(std::move(totals), {size}));
}

nb::object count_bags_dense(Array indptr, Contiguous indices, std::optional<Contiguous> amounts, Vector<int32_t> codes,
                            int64_t n_classes, int64_t n_tokens, OutVector<double> lengths, int64_t start,
                            int64_t stop) {
    BagInput in{{indptr, indices, amounts}, codes.data(), n_classes, n_tokens, {start, stop}};
    std::vector<int64_t> table;
    if (!unlocked(fill_table, in, codes, table, lengths)) return nb::none();
    return nb::cast(to_numpy(std::move(table), {size_t(n_tokens), size_t(n_classes)}));
}

} // namespace

void register_bags(nb::module_ &m) {
    define_kernel(m, "count_bags", &count_bags);
    define_kernel(m, "count_bags_dense", &count_bags_dense);
}

} // namespace tb
