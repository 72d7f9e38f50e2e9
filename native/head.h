// NumPy arrays looked at directly, through the head of their object, whose layout NumPy has kept fixed since version 1:
// for kernels that are called once per row, where taking the arguments apart would cost more than the work.
#pragma once
#include "columns.h"

#include <cmath>

namespace tb {

struct ArrayHead { // the first fields of NumPy's PyArrayObject
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides; // strides in bytes
};

inline PyObject *array_type() {
    static PyObject *type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
    return type;
}

// An array of numbers of type T; that they are of it is trusted.
template <class T> struct View {
    char *data;
    Py_ssize_t *shape, *strides;

    explicit View(nb::handle object, int ndim) {
        if (!PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject *>(array_type())))
            throw nb::type_error("a NumPy array is expected");
        const auto &array = *reinterpret_cast<const ArrayHead *>(object.ptr());
        if (array.ndim != ndim) throw nb::type_error("a NumPy array has another number of dimensions than expected");
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

// Log of (n + k) / (N + k V): Laplace's rule. 0/0 is silence.
inline double log_share(double n, double total, double k, double n_values) {
    const double p = std::isinf(k) ? -std::log(n_values) : std::log(n + k) - std::log(total + k * n_values);
    return std::isnan(p) ? 0.0 : p;
}

} // namespace tb
