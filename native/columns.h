// Columns as they come from Python: a list of 1-d arrays of one dtype, each with a stride of its own.
//
// The columns of a C-ordered matrix, of a Fortran-ordered one and of an Arrow table all arrive as (pointer, stride).
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace nb = nanobind;

namespace tb {

using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> struct Column {
    const T *data;
    int64_t stride; // in elements
    const T &operator[](int64_t row) const { return data[row * stride]; }
};

// The columns of a list of arrays or of a matrix, all of dtype T. They keep pointing into the arrays, which the caller
// keeps alive.
template <class T> std::vector<Column<T>> columns_of(nb::object block) {
    std::vector<Column<T>> columns;
    if (!nb::isinstance<nb::list>(block)) {
        auto matrix = nb::cast<nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>>(block);
        if (matrix.dtype() != nb::dtype<T>()) throw std::invalid_argument("the columns of a block have one dtype");
        for (size_t j = 0; j < matrix.shape(1); ++j)
            columns.push_back({static_cast<const T *>(matrix.data()) + int64_t(j) * matrix.stride(1), matrix.stride(0)});
        return columns;
    }
    columns.reserve(nb::len(block));
    for (nb::handle item : nb::borrow<nb::list>(block)) {
        auto array = nb::cast<Array>(item);
        if (array.dtype() != nb::dtype<T>()) throw std::invalid_argument("the columns of a block have one dtype");
        columns.push_back({static_cast<const T *>(array.data()), array.stride(0)});
    }
    return columns;
}

inline size_t n_columns_of(nb::object block) {
    if (nb::isinstance<nb::list>(block)) return nb::len(block);
    return nb::cast<nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>>(block).shape(1);
}

inline bool has_rows(nb::object block, size_t rows) {
    if (!nb::isinstance<nb::list>(block))
        return nb::cast<nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>>(block).shape(0) == rows;
    for (nb::handle item : nb::borrow<nb::list>(block))
        if (nb::cast<Array>(item).shape(0) != rows) return false;
    return true;
}

// Calls f with a value of the element type of the first column, one of Ts.
template <class... Ts, class F> auto dispatch(nb::dlpack::dtype dtype, F &&f) {
    using First = std::tuple_element_t<0, std::tuple<Ts...>>;
    using Result = decltype(f(First{}));
    Result result{};
    bool found = ((dtype == nb::dtype<Ts>() ? (result = f(Ts{}), true) : false) || ...);
    if (!found) throw std::invalid_argument("a column has a dtype that this kernel does not know");
    return result;
}

inline nb::dlpack::dtype dtype_of_first(nb::object block) {
    if (!nb::isinstance<nb::list>(block)) return nb::cast<nb::ndarray<nb::ro, nb::device::cpu>>(block).dtype();
    if (nb::len(block) == 0) return nb::dtype<double>();
    return nb::cast<Array>(nb::borrow<nb::list>(block)[0]).dtype();
}

// A NumPy array that owns the vector.
template <class T> nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> &&values, std::initializer_list<size_t> shape) {
    auto *owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

void register_sums(nb::module_ &m);
void register_grouped(nb::module_ &m);
void register_row(nb::module_ &m);
void register_derive(nb::module_ &m);
void register_observe(nb::module_ &m);
void register_score(nb::module_ &m);
void register_binnings(nb::module_ &m);
void register_words(nb::module_ &m);
void register_tokens(nb::module_ &m);
void register_documents(nb::module_ &m);
void register_left_out(nb::module_ &m);
void register_pairs(nb::module_ &m);
void register_student_left_out(nb::module_ &m);
void register_normal_left_out(nb::module_ &m);
void register_binnings_left_out(nb::module_ &m);

} // namespace tb
