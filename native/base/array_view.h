// NumPy arrays read directly, through the head of their object, whose layout NumPy has kept fixed since version 1:
// for kernels that are called once per row, where nanobind's conversion of the arguments would cost more than the work.
#pragma once
#include "base/columns.h"

namespace tb {

struct ArrayHead { // the first fields of NumPy's PyArrayObject
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides; // strides in bytes
    PyObject *base, *dtype;
    int flags;
};

inline PyObject *array_type() {
    static PyObject *type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
    return type;
}

// NumPy's dtype of T. An array mostly has this very object; after pickling it may have another one that equals it.
template <class T> PyObject *dtype_object() {
    constexpr const char *name = std::is_same_v<T, double> ? "float64" : std::is_same_v<T, bool> ? "bool" : "int64";
    static PyObject *dtype = nb::object(nb::module_::import_("numpy").attr("dtype")(name)).release().ptr();
    return dtype;
}

// An array of numbers of type T, which may be const.
template <class T> struct View {
    char *data;
    Py_ssize_t *shape, *strides;

    explicit View(nb::handle object, int ndim) {
        constexpr int ALIGNED = 0x100, WRITEABLE = 0x400; // NumPy's flags
        if (!PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject *>(array_type())))
            throw nb::type_error("expected a NumPy array");
        const auto &array = *reinterpret_cast<const ArrayHead *>(object.ptr());
        if (array.ndim != ndim) throw nb::type_error("expected a NumPy array with another number of dimensions");
        PyObject *wanted = dtype_object<std::remove_const_t<T>>();
        if (array.dtype != wanted && PyObject_RichCompareBool(array.dtype, wanted, Py_EQ) != 1)
            throw nb::type_error("expected a NumPy array of another dtype");
        if (!(array.flags & ALIGNED) || (!std::is_const_v<T> && !(array.flags & WRITEABLE)))
            throw nb::type_error("expected a NumPy array that is aligned, and writeable where the kernel writes");
        data = array.data, shape = array.shape, strides = array.strides;
    }
    bool contiguous(int ndim) const {
        Py_ssize_t size = sizeof(T);
        bool plain = true;
        for (int d = ndim - 1; d >= 0; --d) {
            if (shape[d] == 0) return true;
            if (strides[d] != size && shape[d] > 1) plain = false;
            size *= shape[d];
        }
        return plain;
    }
    T &operator()(Py_ssize_t i) const { return *reinterpret_cast<T *>(data + i * strides[0]); }
    T &operator()(Py_ssize_t i, Py_ssize_t j) const {
        return *reinterpret_cast<T *>(data + i * strides[0] + j * strides[1]);
    }
    T &operator()(Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) const {
        return *reinterpret_cast<T *>(data + i * strides[0] + j * strides[1] + k * strides[2]);
    }
};

template <class T> size_t extent(const View<T> &array, size_t i) { return static_cast<size_t>(array.shape[i]); }
template <class T> bool is_aligned(const View<T> &) { return true; } // it was refused otherwise

// Doubles without gaps, read where they are, or from a copy if the array is of another kind.
struct Doubles {
    nb::object copy = {};
    const double *data;

    Doubles(const char *name, nb::handle array, std::initializer_list<int64_t> shape, Contract &contract) {
        const int ndim = static_cast<int>(shape.size());
        if (!is_plain(array)) {
            copy = nb::module_::import_("numpy").attr("ascontiguousarray")(array, "float64");
            array = copy;
        }
        const View<const double> view(array, ndim);
        contract.array(name, view, shape);
        data = reinterpret_cast<const double *>(view.data);
    }

  private:
    static bool is_plain(nb::handle object) {
        constexpr int C_CONTIGUOUS = 0x1, ALIGNED = 0x100; // NumPy's flags
        if (!PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject *>(array_type())))
            throw nb::type_error("expected a NumPy array");
        const auto &head = *reinterpret_cast<const ArrayHead *>(object.ptr());
        return head.dtype == dtype_object<double>() && (head.flags & C_CONTIGUOUS) && (head.flags & ALIGNED);
    }
};

// Log of (n + k) / (N + k V): Laplace's rule. 0/0 is silence.
inline double log_share(double n, double total, double k, double n_values) {
    const double p = std::isinf(k) ? -std::log(n_values) : std::log(n + k) - std::log(total + k * n_values);
    return std::isnan(p) ? 0.0 : p;
}

} // namespace tb
