// Counting flags per class.
//
// Rows are taken in tiles and the columns of a tile one after the other, so that a C-ordered matrix is read from
// memory once and the counters of a column stay near. Flags are compared four columns at a time, and the masks, which
// are -1 where they hold, are subtracted from the counters. Flags without gaps that lie side by side need less: the rows
// of a tile are added up as they come, each to the sums of its class.
#ifndef TB_ISA
#include "base/quads.h"

namespace tb {
namespace {

// The columns that lie side by side in a matrix, from the lowest address on.
template <class T> struct SideBySide {
    const T *data;
    int64_t stride, n_quads;

    explicit SideBySide(const std::vector<Quad<T>> &quads) : data(nullptr), stride(0), n_quads(0) {
        for (const Quad<T> &quad : quads) {
            if (!quad.adjacent || (n_quads > 0 && (quad.data[0] != data + 4 * n_quads || quad.stride[0] != stride)))
                return;
            if (n_quads++ == 0) data = quad.data[0], stride = quad.stride[0];
        }
    }
};

// The first value in the rows that has no meaning; there is one.
template <class T> int64_t first_strange(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t row) {
    for (;; ++row) {
        if (codes[row] < 0) continue;
        for (size_t j = 0; j < columns.size(); ++j) {
            T x = columns[j][row];
            bool missing = std::is_floating_point_v<T> ? x != x : int64_t(x) == -1;
            if (!missing && x != 0 && x != 1) return row * int64_t(columns.size()) + int64_t(j);
        }
    }
}

} // namespace
} // namespace tb

#define TB_FILE "counting/count_flags.cpp"
#define TB_FOURS
#include "base/isa.h"

namespace tb {
namespace {

nb::tuple count_flags(nb::object list, Vector<int32_t> codes, int64_t n_classes, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("codes", codes, {ROWS});
    contract.codes(codes.data());
    std::vector<int64_t> no(block.size() * n_classes), yes(no);
    auto count = [&]<class T>(const std::vector<Column<T>> &columns) {
        const int32_t *code = codes.data();
        nb::gil_scoped_release release;
        return TB_BEST(count_all_flags<T>)(columns, code, n_classes, start, stop, no, yes);
    };
    int64_t bad =
        block.visit<double, float, bool, int8_t, uint8_t, int64_t>([&]<class T>(std::vector<Column<T>> &columns) {
            if constexpr (std::is_same_v<T, bool>) { // a bool is a byte that is 0 or 1
                std::vector<Column<uint8_t>> bytes;
                for (auto &column : columns)
                    bytes.push_back({reinterpret_cast<const uint8_t *>(column.data), column.stride});
                return count(bytes);
            } else {
                return count(columns);
            }
        });
    std::initializer_list<size_t> shape = {block.size(), size_t(n_classes)};
    return nb::make_tuple(to_numpy(std::move(no), shape), to_numpy(std::move(yes), shape), bad);
}

} // namespace

void register_flag_counts(nb::module_ &m) { define_kernel(m, "count_flags", &count_flags); }

} // namespace tb

#else
#include "base/quad_rows.h"

namespace tb::TB_ISA {
namespace {

struct alignas(32) Seen { // four columns, one class
    i64x4 zero, one;
};

// Not 0 where a value is neither 0 nor 1, but for infinity. (0 and 1 are the reals with x*x = x.)
TB_INLINE i64x4 not_bits(f64x4 x) { return x * x != x; }
TB_INLINE i64x4 not_bits(i64x4 x) { return x & ~int64_t{1}; }

// A tile without missing values: the sum of flags is how many are one. Returns false, and has counted nothing, if there
// is anything but 0 and 1.
template <bool Adjacent, class T>
TB_INLINE bool tile_of_bits(const Quad<T> &quad, int64_t start, int64_t stop, const ClassRuns &runs, Seen *seen) {
    struct alignas(32) Sum {
        typename Quad<T>::Values of;
    } sums[ClassRuns::GROUPED_CLASSES];
    if (runs.count > ClassRuns::GROUPED_CLASSES) return false;
    i64x4 strange = i64x4{};
    for (int64_t k = 0, i = 0; k < runs.count; ++k) {
        typename Quad<T>::Values sum{};
        for (; i < runs.run[k].end; ++i) {
            quad.prefetch(stop + i);
            const auto x = read_row<Adjacent>(quad, start + runs.row[i]);
            strange |= not_bits(x);
            sum += x;
        }
        sums[k].of = sum;
        if constexpr (std::is_floating_point_v<T>) strange |= sum == INFINITY;
    }
    if (any(strange)) return false;
    for (int64_t k = 0, before = 0; k < runs.count; before = runs.run[k++].end) {
        const i64x4 ones = __builtin_convertvector(sums[k].of, i64x4);
        seen[runs.run[k].code].one += ones;
        seen[runs.run[k].code].zero += runs.run[k].end - before - ones;
    }
    return true;
}

// The quad is a copy, which no counter that is stored can change: so it stays in registers.
template <bool Adjacent, class T>
TB_INLINE bool tile_flags(const Quad<T> quad, int64_t start, int64_t stop, const ClassRuns &runs, Seen *seen) {
    i64x4 strange = i64x4{};
    for (int64_t k = 0, i = 0; k < runs.count; ++k) {
        Seen here = seen[runs.run[k].code];
        for (; i < runs.run[k].end; ++i) {
            quad.prefetch(stop + i);
            auto x = read_row<Adjacent>(quad, start + runs.row[i]);
            i64x4 zero = x == 0, one = x == 1, missing;
            if constexpr (std::is_floating_point_v<T>) missing = x != x;
            else missing = x == -1;
            here.zero -= zero;
            here.one -= one;
            strange |= ~(zero | one | missing);
        }
        seen[runs.run[k].code] = here;
    }
    return any(strange);
}

// Sums of the flags of a tile by class, (2, classes, quads): of every other row, so that a sum seldom waits for the last
// one. Returns whether there is anything but 0 and 1.
template <class T> struct alignas(32) QuadSum {
    typename Quad<T>::Values of;
};
template <class T>
bool add_rows_of_bits(const SideBySide<T> &side, const int32_t *codes, int64_t start, int64_t stop, int64_t n_classes,
                      QuadSum<T> *sums) {
    typedef T Raw __attribute__((vector_size(4 * sizeof(T))));
    i64x4 strange = i64x4{};
    for (int64_t row = start; row < stop; ++row) {
        if (codes[row] < 0) continue;
        QuadSum<T> *own = sums + ((row & 1) * n_classes + codes[row]) * side.n_quads;
        const T *from = side.data + row * side.stride;
        for (int64_t q = 0; q < side.n_quads; ++q) {
            Raw raw;
            __builtin_memcpy(&raw, from + 4 * q, sizeof raw);
            const auto x = __builtin_convertvector(raw, typename Quad<T>::Values);
            strange |= not_bits(x);
            own[q].of += x;
        }
    }
    return any(strange);
}

// Whether there is a value without a meaning.
template <class T>
bool count_tile_flags(const Quad<T> &quad, int64_t start, int64_t stop, const ClassRuns &runs, Seen *seen) {
    if (quad.adjacent ? tile_of_bits<true>(quad, start, stop, runs, seen)
                      : tile_of_bits<false>(quad, start, stop, runs, seen))
        return false;
    return quad.adjacent ? tile_flags<true>(quad, start, stop, runs, seen)
                         : tile_flags<false>(quad, start, stop, runs, seen);
}

// Counts what add_rows_of_bits has added up; returns the number of quads.
template <class T>
int64_t add_bits(const std::vector<QuadSum<T>> &sums, const int32_t *codes, int64_t start, int64_t stop,
                 int64_t n_classes, int64_t n_quads, std::vector<Seen> &seen) {
    int64_t rows[ClassRuns::GROUPED_CLASSES + 1] = {}; // the first is for rows to be left out
    for (int64_t row = start; row < stop; ++row) ++rows[codes[row] + 1];
    for (int64_t c = 0; c < n_classes; ++c)
        for (int64_t q = 0; q < n_quads; ++q) {
            const auto sum = sums[c * n_quads + q].of + sums[(n_classes + c) * n_quads + q].of;
            const i64x4 ones = __builtin_convertvector(sum, i64x4);
            seen[q * n_classes + c].one += ones;
            seen[q * n_classes + c].zero += rows[c + 1] - ones;
        }
    return n_quads;
}

template <class T>
int64_t count_all_flags(const std::vector<Column<T>> &columns, const int32_t *codes, int64_t n_classes, int64_t start,
                        int64_t stop, std::vector<int64_t> &no, std::vector<int64_t> &yes) {
    const std::vector<int> order = by_address(columns.data(), columns.size());
    const std::vector<Column<T>> ordered = in_order(columns, order);
    std::vector<Quad<T>> quads;
    for (size_t first = 0; first < columns.size(); first += 4) quads.push_back(Quad<T>::at(ordered, first));
    std::vector<Seen> seen(quads.size() * n_classes, Seen{});
    const SideBySide<T> side(quads);
    const bool fits = n_classes <= ClassRuns::GROUPED_CLASSES && side.n_quads > 1 &&
                      n_classes * side.n_quads <= 256; // 16 KiB of sums
    const int64_t together = fits ? side.n_quads : 0;
    std::vector<QuadSum<T>> sums(2 * n_classes * together);
    int64_t bad = -1, step = together > 0 ? ClassRuns::TILE_ROWS : tile_rows(columns.size(), sizeof(T));
    ClassRuns runs;
    for (int64_t from = start; from < stop; from += step) {
        bool strange = false;
        int64_t to = std::min(from + step, stop), done = 0;
        if (together > 0) {
            std::fill(sums.begin(), sums.end(), QuadSum<T>{});
            if (!add_rows_of_bits(side, codes, from, to, n_classes, sums.data()))
                done = add_bits(sums, codes, from, to, n_classes, together, seen);
        }
        if (done < int64_t(quads.size())) runs.set(codes + from, to - from, n_classes);
        for (size_t q = done; q < quads.size(); ++q)
            strange |= count_tile_flags(quads[q], from, to, runs, seen.data() + q * n_classes);
        if (strange && bad < 0) bad = first_strange(columns, codes, from);
    }
    for (size_t j = 0; j < columns.size(); ++j)
        for (int64_t c = 0; c < n_classes; ++c) {
            no[order[j] * n_classes + c] = seen[j / 4 * n_classes + c].zero[j % 4];
            yes[order[j] * n_classes + c] = seen[j / 4 * n_classes + c].one[j % 4];
        }
    return bad;
}

} // namespace
} // namespace tb::TB_ISA
#endif
