// Exact sums of numbers by group and of amounts of tokens by class, and exact numbers rounded to doubles.
#include "base/columns.h"
#include "sums/exact.h"

namespace tb {

namespace {

nb::tuple sum_groups(Vector<double> values, std::optional<Vector<double>> weights, Vector<int64_t> groups,
                     int64_t n_groups) {
    Contract contract;
    contract.size("n_groups", n_groups, LINES);
    contract.array("values", values, {ROWS});
    contract.array("groups", groups, {ROWS});
    if (weights) contract.array("weights", *weights, {ROWS});
    Store sums(n_groups);
    const double *value = values.data(), *weight = weights ? weights->data() : nullptr;
    const int64_t *group = groups.data(), n = values.shape(0);
    {
        nb::gil_scoped_release release;
        Contract::below("groups", group, n, n_groups);
        Contract::finite("values", value, n);
        if (weight) Contract::finite("weights", weight, n);
        for (int64_t i = 0; i < n; ++i) {
            if (weight) sums.add_product(group[i], number_of(value[i]), number_of(weight[i]));
            else sums.add(group[i], number_of(value[i]));
        }
        sums.finish();
    }
    const int64_t low = sums.low();
    const size_t width = sums.width();
    return nb::make_tuple(to_numpy(sums.take(), {size_t(n_groups), width}), low);
}

// The rows of the classes first to last, class after class: the sums of one class at a time stay in the cache.
std::vector<int64_t> rows_by_class(const int32_t *codes, int64_t n_rows, int64_t first, int64_t last) {
    std::vector<int64_t> ends(last - first + 1);
    for (int64_t row = 0; row < n_rows; ++row)
        if (codes[row] >= first && codes[row] < last) ++ends[codes[row] - first + 1];
    for (size_t c = 1; c < ends.size(); ++c) ends[c] += ends[c - 1];
    std::vector<int64_t> rows(ends.back());
    for (int64_t row = 0; row < n_rows; ++row)
        if (codes[row] >= first && codes[row] < last) rows[ends[codes[row] - first]++] = row;
    return rows;
}

template <class A> Number number_from(A amount) {
    if constexpr (std::is_floating_point_v<A>) return number_of(double(amount));
    else return {amount < 0 ? -uint64_t(amount) : uint64_t(amount), 0, amount < 0};
}

nb::tuple sum_bags(Array indptr, Contiguous indices, std::optional<Contiguous> amounts,
                   std::optional<Vector<double>> weights, Vector<int32_t> codes, int64_t n_tokens, int64_t first,
                   int64_t last) {
    Contract contract;
    contract.size("n_tokens", n_tokens, TOKENS);
    contract.array("codes", codes, {ROWS});
    if (weights) contract.array("weights", *weights, {ROWS});
    if (first < 0 || last < first) throw Refused{"classes in order, from 0 on", {first, last}, -1, true};
    Contract::up_to("last", last, MOST_CLASSES);
    Store sums((last - first) * n_tokens);
    const double *weight = weights ? weights->data() : nullptr;
    auto add = [&]<class I, class A>(const Ends &ends, const I *tokens, const A *amount) {
        if (std::is_floating_point_v<A> && amount)
            for (int64_t i = ends.values.front(); i < ends.values.back(); ++i)
                if (!std::isfinite(double(amount[i]))) refuse_real("finite amounts", double(amount[i]));
        for (int64_t row : rows_by_class(codes.data(), codes.shape(0), first, last)) {
            const int64_t cell = (codes.data()[row] - first) * n_tokens;
            const Number w = number_of(weight ? weight[row] : 1.0);
            for (int64_t i = ends[row]; i < ends[row + 1]; ++i) {
                const Number x = amount ? number_from(amount[i]) : Number{1, 0, false};
                if (weight) sums.add_product(cell + tokens[i], x, w);
                else sums.add(cell + tokens[i], x);
            }
        }
        return true;
    };
    {
        nb::gil_scoped_release release;
        if (weight) Contract::finite("weights", weight, contract[ROWS]);
        BagArrays(indptr, indices, amounts).visit(contract, n_tokens, add);
        sums.finish();
    }
    const int64_t low = sums.low();
    const size_t width = sums.width();
    return nb::make_tuple(to_numpy(sums.take(), {size_t(last - first), size_t(n_tokens), width}), low);
}

nb::ndarray<nb::numpy, double> round_digits(Matrix<int64_t> digits, int64_t low) {
    const size_t n = digits.shape(0), width = digits.shape(1);
    std::vector<double> result(n);
    const int64_t *digit = digits.data();
    {
        nb::gil_scoped_release release;
        Big number;
        for (size_t i = 0; i < n; ++i) {
            number.set(digit + i * width, width);
            result[i] = quotient(number, false, 1, 32 * low);
        }
    }
    return to_numpy(std::move(result), {n});
}

nb::tuple trim_digits(Matrix<int64_t> digits, int64_t low) {
    const size_t n = digits.shape(0);
    const size_t stride = digits.shape(1);
    if (stride < 1) refuse("numbers of at least one digit", 0);
    const int64_t *digit = digits.data();
    size_t width = stride, first = 0;
    std::vector<int64_t> top(n), result;
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; ++i) top[i] = digit[i * stride + width - 1];
        auto joined = [&](size_t i) { return int64_t(uint64_t(top[i]) << 32) + digit[i * stride + width - 2]; };
        auto fits = [&](size_t i) { return top[i] >= -1 && top[i] <= 1 && joined(i) == int32_t(joined(i)); };
        auto every = [&](auto holds) {
            for (size_t i = 0; i < n; ++i)
                if (!holds(i)) return false;
            return true;
        };
        while (width > 1 && every(fits)) {
            for (size_t i = 0; i < n; ++i) top[i] = joined(i);
            --width;
        }
        while (first + 1 < width && every([&](size_t i) { return digit[i * stride + first] == 0; })) ++first;
        const bool zero = first + 1 == width && every([&](size_t i) { return top[i] == 0; });
        low = zero ? 0 : low + int64_t(first);
        width = zero ? 1 : width - first;
        const bool two = low == 0 && width == 2, shifted = low == 1 && width == 1; // in 64 bits
        result.reserve(n * width);
        for (size_t i = 0; i < n; ++i) {
            const int64_t *own = digit + i * stride + first;
            if (two || shifted) {
                result.push_back(int64_t(uint64_t(top[i]) << 32) + (two ? own[0] : 0));
            } else {
                result.insert(result.end(), own, own + width - 1);
                result.push_back(top[i]);
            }
        }
        if (two || shifted) low = 0, width = 1;
    }
    return nb::make_tuple(to_numpy(std::move(result), {n, width}), low);
}

} // namespace

void register_groups(nb::module_ &m) {
    define_kernel(m, "sum_groups", &sum_groups);
    define_kernel(m, "sum_bags", &sum_bags);
    define_kernel(m, "round_digits", &round_digits);
    define_kernel(m, "trim_digits", &trim_digits);
}

} // namespace tb
