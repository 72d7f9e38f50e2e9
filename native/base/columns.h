// Arguments as they come from Python: columns, which are a list of 1-d arrays of one dtype or a matrix, and bags.
//
// The columns of a C-ordered matrix, of a Fortran-ordered one and of an Arrow table all arrive as (pointer, stride).
// Shapes, codes and indices are checked by the contract (contract.h) before anything is read.
#pragma once
#include "base/contract.h"
#include "base/instruction_set.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>

namespace tb {

using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Contiguous = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> struct Column {
    const T *data;
    int64_t stride; // in elements
    const T &operator[](int64_t row) const { return data[row * stride]; }
};

// Calls f with a value of the type that a dtype stands for, one of Ts.
template <class... Ts, class F> auto dispatch(nb::dlpack::dtype dtype, F &&f) {
    using First = std::tuple_element_t<0, std::tuple<Ts...>>;
    using Result = decltype(f(First{}));
    Result result{};
    bool found = ((dtype == nb::dtype<Ts>() ? (result = f(Ts{}), true) : false) || ...);
    if (!found) throw nb::type_error("an array has a dtype that this kernel does not take");
    return result;
}

template <class A> A cast_array(nb::handle object) {
    A array;
    if (!nb::try_cast(object, array)) throw nb::type_error("expected columns of numbers: 1-d arrays, or a matrix");
    return array;
}

// The columns of a list of arrays or of a matrix. They keep pointing into the arrays, which the caller keeps alive.
class Block {
  public:
    Block(nb::object block, Contract &contract) {
        if (nb::isinstance<nb::list>(block)) {
            nb::list list = nb::borrow<nb::list>(block);
            columns_.reserve(nb::len(list));
            for (nb::handle item : list) {
                auto array = cast_array<Array>(item);
                if (columns_.empty()) dtype_ = array.dtype();
                if (array.dtype() != dtype_) throw nb::type_error("the columns of a block have one dtype");
                contract.array("column", array, {ROWS});
                columns_.push_back({array.data(), array.stride(0)});
            }
        } else {
            auto matrix = cast_array<nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>>(block);
            contract.array("columns", matrix, {ROWS, static_cast<int64_t>(matrix.shape(1))});
            dtype_ = matrix.dtype();
            const auto *data = static_cast<const char *>(matrix.data());
            const int64_t bytes = dtype_.bits / 8;
            columns_.reserve(matrix.shape(1));
            for (size_t j = 0; j < matrix.shape(1); ++j)
                columns_.push_back({data + static_cast<int64_t>(j) * matrix.stride(1) * bytes, matrix.stride(0)});
        }
        contract.size("columns", static_cast<int64_t>(columns_.size()), COLUMNS);
    }

    size_t size() const { return columns_.size(); }

    // f(columns of type T) for the T among Ts that they are of; without columns, for the first.
    template <class... Ts, class F> auto visit(F &&f) const {
        using First = std::tuple_element_t<0, std::tuple<Ts...>>;
        return dispatch<Ts...>(columns_.empty() ? nb::dtype<First>() : dtype_, [&]<class T>(T) {
            std::vector<Column<T>> columns;
            columns.reserve(columns_.size());
            for (auto [data, stride] : columns_) columns.push_back({static_cast<const T *>(data), stride});
            return f(columns);
        });
    }

  private:
    struct RawColumn {
        const void *data;
        int64_t stride;
    };
    std::vector<RawColumn> columns_;
    nb::dlpack::dtype dtype_{};
};

// Where the rows from `first` on begin and end among the entries of bags.
struct Ends {
    int64_t first = 0;
    std::vector<int64_t> values = {};
    int64_t operator[](int64_t row) const { return values[static_cast<size_t>(row - first)]; }
};

// Bags in compressed sparse rows. `amounts` may be absent: one each.
class BagArrays {
  public:
    BagArrays(const Array &indptr, const Contiguous &indices, const std::optional<Contiguous> &amounts)
        : indptr_(indptr), indices_(indices), amounts_(amounts) {}

    // f(ends, tokens, amounts or null) with their types, after the rows of the contract have been checked. It may be
    // called without the lock of the interpreter. Without `indices_too` the caller checks the indices, as it goes.
    template <bool indices_too = true, class F> auto visit(Contract &contract, int64_t n_tokens, F &&f) const {
        contract.array("indptr", indptr_, {plus_one(ROWS)});
        contract.array("indices", indices_, {ENTRIES});
        if (amounts_) contract.array("amounts", *amounts_, {ENTRIES});
        const Ends ends = ends_of(contract);
        return dispatch<int32_t, int64_t>(indices_.dtype(), [&]<class I>(I) {
            const auto *tokens = static_cast<const I *>(indices_.data());
            if constexpr (indices_too) check_indices(ends, tokens, n_tokens, contract.start(), contract.end());
            if (!amounts_) return f(ends, tokens, static_cast<const double *>(nullptr));
            return dispatch<double, float, int64_t, int32_t>(amounts_->dtype(), [&]<class A>(A) {
                return f(ends, tokens, static_cast<const A *>(amounts_->data()));
            });
        });
    }

    // Refuses indices outside 0 .. n_tokens - 1 in the rows start to stop.
    template <class I>
    static void check_indices(const Ends &ends, const I *indices, int64_t n_tokens, int64_t start, int64_t stop) {
        using Unsigned = std::make_unsigned_t<I>;
        const I *from = indices + ends[start], *to = indices + ends[stop];
        const auto limit = static_cast<Unsigned>(std::min<int64_t>(n_tokens, std::numeric_limits<I>::max()));
        Unsigned strange = 0;
        for (const I *index = from; index < to; ++index) strange |= static_cast<Unsigned>(*index) >= limit;
        if (!strange) [[likely]]
            return;
        for (int64_t row = start;; ++row)
            for (int64_t i = ends[row]; i < ends[row + 1]; ++i)
                if (static_cast<Unsigned>(indices[i]) >= limit)
                    refuse("an index from 0 to below " + std::to_string(n_tokens), static_cast<int64_t>(indices[i]),
                           row);
    }

  private:
    Ends ends_of(const Contract &contract) const {
        Ends ends{contract.start(), {}};
        ends.values.reserve(static_cast<size_t>(contract.end() - contract.start()) + 1);
        return dispatch<int32_t, int64_t>(indptr_.dtype(), [&]<class P>(P) {
            const Column<P> indptr{static_cast<const P *>(indptr_.data()), indptr_.stride(0)};
            for (int64_t row = contract.start(), last = 0; row <= contract.end(); ++row) {
                if (indptr[row] < last || int64_t(indptr[row]) > contract[ENTRIES]) [[unlikely]]
                    refuse("an indptr that does not decrease, from 0 to at most " + std::to_string(contract[ENTRIES]),
                           indptr[row], row);
                ends.values.push_back(last = indptr[row]);
            }
            return ends;
        });
    }

    const Array &indptr_;
    const Contiguous &indices_;
    const std::optional<Contiguous> &amounts_;
};

template <class T> constexpr bool is_optional = false;
template <class T> constexpr bool is_optional<std::optional<T>> = true;

template <class T> constexpr bool is_written = false;
template <class T, class N>
constexpr bool is_written<nb::ndarray<T, N, nb::c_contig, nb::device::cpu>> =
    std::is_arithmetic_v<T> && !std::is_const_v<T>;

template <class A> auto annotation() {
    if constexpr (is_optional<A>) return nb::arg().none();
    else if constexpr (is_written<A>) return nb::arg().noconvert();
    else return nb::arg();
}

// Defines a kernel for Python. Only optional arguments may be None. An array that is written must be as it should be: a
// converted copy would be written instead.
template <class R, class... A> void define_kernel(nb::module_ &m, const char *name, R (*kernel)(A...)) {
    if constexpr ((is_optional<A> || ...) || (is_written<A> || ...)) m.def(name, kernel, annotation<A>()...);
    else // without annotations a call is quicker
        m.def(name, kernel);
}

// A NumPy array that owns the vector.
template <class T> nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> &&values, std::initializer_list<size_t> shape) {
    auto *owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

} // namespace tb
