// One row at a time: reading a dict of numbers, and adding it to exact sums in place.
//
// A call costs less than a microsecond for twenty columns, so arguments are looked at directly: the dict through the
// C API, and NumPy arrays through the head of their object, whose layout NumPy has kept fixed since version 1.
// The interpreter lock is held throughout: it makes each row all-or-nothing for other threads too.
#include "columns.h"
#include "exact.h"

#include <cmath>

namespace tb {
namespace {

struct ArrayHead { // the first fields of NumPy's PyArrayObject
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides; // strides in bytes
};

PyObject *array_type; // numpy.ndarray

const ArrayHead &array_of(nb::handle object) {
    if (!PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject *>(array_type)))
        throw nb::type_error("a NumPy array is expected");
    return *reinterpret_cast<const ArrayHead *>(object.ptr());
}

// The number of a row's entry; false if it is not a plain float or int of moderate size. None is NaN.
bool read_number(PyObject *value, double &number) {
    if (PyFloat_CheckExact(value)) {
        number = PyFloat_AS_DOUBLE(value);
        return !std::isinf(number);
    }
    if (value == Py_None) {
        number = std::nan("");
        return true;
    }
    if (!PyLong_CheckExact(value)) return false;
    int overflow;
    long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    number = double(whole);
    return !overflow && whole < (1LL << 53) && whole > -(1LL << 53);
}

int64_t read_row(nb::handle row, nb::handle index, nb::handle values) {
    if (!PyDict_CheckExact(row.ptr()) || !PyDict_CheckExact(index.ptr())) return -1;
    const ArrayHead &out = array_of(values);
    auto at = [&](Py_ssize_t i) -> double & { return *reinterpret_cast<double *>(out.data + i * out.strides[0]); };
    for (Py_ssize_t i = 0; i < out.shape[0]; ++i) at(i) = std::nan("");
    int64_t count = 0;
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(row.ptr(), &position, &name, &value)) {
        PyObject *place = PyDict_GetItemWithError(index.ptr(), name);
        if (!place) {
            if (PyErr_Occurred()) nb::raise_python_error();
            return -1;
        }
        Py_ssize_t i = PyLong_AsSsize_t(place);
        if (i < 0) continue; // the label, or a column left out
        if (i >= out.shape[0]) nb::raise("the index points outside of the values");
        if (!read_number(value, at(i))) return -1;
        count += !std::isnan(at(i));
    }
    return count;
}

// The digits of one class in all columns.
struct Digits {
    char *data;
    Py_ssize_t column_stride, digit_stride, width;
    int64_t low;

    Digits(nb::handle object, int64_t code, int64_t low) : low(low) {
        const ArrayHead &array = array_of(object);
        data = array.data + code * array.strides[1];
        column_stride = array.strides[0];
        digit_stride = array.strides[2];
        width = array.shape[2];
    }

    int64_t &digit(int64_t column, int64_t k) const {
        return *reinterpret_cast<int64_t *>(data + column * column_stride + k * digit_stride);
    }

    // Whether m * 2**exponent (m odd, or zero) and the number that is there leave room for their sum.
    bool fits(int64_t column, u128 m, int64_t exponent) const {
        uint64_t high = uint64_t(m >> 64);
        int64_t bits = high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(uint64_t(m));
        if (bits == 0) return true;
        int64_t last = digit(column, width - 1);
        constexpr int64_t ROOM = int64_t(1) << 29;
        return exponent >= 32 * low && exponent + bits <= 32 * (low + width - 1) + 29 && last < ROOM && last > -ROOM;
    }

    void add(int64_t column, u128 m, int64_t exponent, bool negative) const {
        if (m == 0) return;
        int shift = exponent & 31;
        int64_t carry = 0;
        u128 left = m >> (32 - shift); // what is above the lowest digit
        uint32_t part = uint32_t(m << shift);
        for (int64_t k = (exponent >> 5) - low; k < width; ++k) {
            int64_t &here = digit(column, k), sum = here + carry + (negative ? -int64_t(part) : int64_t(part));
            bool is_last = k == width - 1;
            here = is_last ? sum : sum & 0xFFFFFFFF;
            carry = is_last ? 0 : sum >> 32;
            if (carry == 0 && left == 0) return;
            part = uint32_t(left);
            left >>= 32;
        }
    }
};

bool add_row(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low, nb::handle values, int64_t code,
             int64_t sign) {
    const ArrayHead &counts = array_of(n), &row = array_of(values);
    Digits x_digits(x, code, x_low), xx_digits(xx, code, xx_low);
    auto number_at = [&](Py_ssize_t j) { return *reinterpret_cast<const double *>(row.data + j * row.strides[0]); };
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(number_at(j))) continue;
        Number v = number_of(number_at(j));
        if (!x_digits.fits(j, v.m, v.exponent) || !xx_digits.fits(j, u128(v.m) * v.m, 2 * v.exponent)) return false;
    }
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(number_at(j))) continue;
        Number v = number_of(number_at(j));
        x_digits.add(j, v.m, v.exponent, v.negative != (sign < 0));
        xx_digits.add(j, u128(v.m) * v.m, 2 * v.exponent, sign < 0);
        *reinterpret_cast<int64_t *>(counts.data + j * counts.strides[0] + code * counts.strides[1]) += sign;
    }
    return true;
}

} // namespace

void register_row(nb::module_ &m) {
    array_type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
    m.def("read_row", &read_row);
    m.def("add_row", &add_row);
}

} // namespace tb
