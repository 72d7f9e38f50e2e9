// Exact sums of numbers by group and of amounts of tokens by class, and exact numbers rounded to doubles.
#include "columns.h"
#include "exact.h"

#include <nanobind/stl/optional.h>

namespace tb {

namespace {

nb::tuple grouped(Vector<double> values, std::optional<Vector<double>> weights, Vector<int64_t> groups, int64_t n_groups) {
    Store sums(n_groups);
    const double *value = values.data(), *weight = weights ? weights->data() : nullptr;
    const int64_t *group = groups.data(), n = values.shape(0);
    {
        nb::gil_scoped_release release;
        for (int64_t i = 0; i < n; ++i) {
            if (weight)
                sums.add_product(group[i], number_of(value[i]), number_of(weight[i]));
            else
                sums.add(group[i], number_of(value[i]));
        }
        sums.finish();
    }
    const int64_t low = sums.low();
    const size_t width = sums.width();
    return nb::make_tuple(to_numpy(sums.take(), {size_t(n_groups), width}), low);
}

using Contiguous = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

nb::tuple bag_sums(Contiguous indptr, Contiguous indices, std::optional<Contiguous> amounts,
                   std::optional<Vector<double>> weights, Vector<int32_t> codes, int64_t n_tokens, int64_t first,
                   int64_t last) {
    Store sums((last - first) * n_tokens);
    const double *weight = weights ? weights->data() : nullptr;
    auto add = [&]<class I, class P, class A>(const P *ends, const I *tokens, const A *amount) {
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
        dispatch<int32_t, int64_t>(indptr.dtype(), [&]<class P>(P) {
            return dispatch<int32_t, int64_t>(indices.dtype(), [&]<class I>(I) {
                auto *ends = static_cast<const P *>(indptr.data());
                auto *tokens = static_cast<const I *>(indices.data());
                if (!amounts) return add(ends, tokens, static_cast<const double *>(nullptr));
                return dispatch<double, float, int64_t, int32_t>(amounts->dtype(), [&]<class A>(A) {
                    return add(ends, tokens, static_cast<const A *>(amounts->data()));
                });
            });
        });
        sums.finish();
    }
    const int64_t low = sums.low();
    const size_t width = sums.width();
    return nb::make_tuple(to_numpy(sums.take(), {size_t(last - first), size_t(n_tokens), width}), low);
}

nb::ndarray<nb::numpy, double> rounded_digits(Matrix<int64_t> digits, int64_t low) {
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

} // namespace

void register_grouped(nb::module_ &m) {
    m.def("grouped", &grouped, nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
    m.def("bag_sums", &bag_sums, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg());
    m.def("rounded", &rounded_digits);
}

} // namespace tb
