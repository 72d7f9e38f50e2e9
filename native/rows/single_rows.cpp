// One row at a time: reading a dict, and adding what it holds to the sums in place.
//
// A call costs less than a microsecond for twenty columns, so arguments are looked at directly: the dict through the
// C API, arrays through their heads. The interpreter lock is held throughout: it makes each row all-or-nothing for
// other threads too.
#include "sums/exact.h"
#include "base/array_view.h"

#include <cmath>
#include <cstring>

namespace tb {
namespace {

constexpr double MISSING = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t WHOLE_LIMIT = int64_t(1) << 53; // whole numbers below it are doubles

std::vector<PyTypeObject *> scalar_types; // of NumPy, that stand for Python's own
PyTypeObject *float64_type;

// A NumPy scalar as the Python number or text that it stands for; anything else as it is.
nb::object plain(PyObject *value) {
    for (PyTypeObject *type : scalar_types)
        if (Py_TYPE(value) == type) return nb::handle(value).attr("item")();
    return nb::borrow(value);
}

// The number of an entry; false if it is not a plain float, int or bool of moderate size. None is missing.
bool read_number(PyObject *value, double &number) {
    if (PyFloat_CheckExact(value) || Py_TYPE(value) == float64_type) { // which has its number in the same place
        number = PyFloat_AS_DOUBLE(value);
        return !std::isinf(number);
    }
    if (value == Py_None) {
        number = MISSING;
        return true;
    }
    if (!PyLong_CheckExact(value) && !PyBool_Check(value)) {
        nb::object own = plain(value);
        return own.ptr() != value && read_number(own.ptr(), number);
    }
    int overflow;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    number = static_cast<double>(whole);
    return !overflow && whole < WHOLE_LIMIT && whole > -WHOLE_LIMIT;
}

// The code of an entry of `codes`, -1 if it has none; false if the entry is of another type than `kinds`.
bool read_code(PyObject *value, PyObject *codes, PyObject *kinds, double &number) {
    const nb::object own = plain(value);
    if (own.ptr() == Py_None || (PyFloat_Check(own.ptr()) && std::isnan(PyFloat_AS_DOUBLE(own.ptr())))) {
        number = MISSING;
        return true;
    }
    bool known = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); ++i)
        known |= reinterpret_cast<PyObject *>(Py_TYPE(own.ptr())) == PyTuple_GET_ITEM(kinds, i);
    if (!known) return false;
    PyObject *code = PyDict_GetItemWithError(codes, own.ptr());
    if (!code && PyErr_Occurred()) nb::raise_python_error();
    number = code ? PyLong_AsDouble(code) : -1.0;
    return true;
}

// Which places were met; without memory of its own for up to 512.
class Places {
  public:
    explicit Places(Py_ssize_t n) {
        if (n > INLINE_BITS) many_.resize(n);
    }
    // False if it was there already.
    bool add(Py_ssize_t place) {
        uint64_t &word = many_.empty() ? few_[place >> 6] : many_[place >> 6], bit = uint64_t(1) << (place & 63);
        const bool fresh = !(word & bit);
        word |= bit;
        return fresh;
    }

  private:
    static constexpr Py_ssize_t INLINE_BITS = 512;
    uint64_t few_[INLINE_BITS / 64] = {};
    std::vector<uint64_t> many_;
};

// Whether two names are the same text; equal names of different rows are mostly different objects.
bool same_name(PyObject *name, PyObject *expected) {
    if (name == expected) return true;
    if (!PyUnicode_CheckExact(name) || !PyUnicode_IS_COMPACT(name) || !PyUnicode_IS_COMPACT(expected)) return false;
    return PyUnicode_GET_LENGTH(name) == PyUnicode_GET_LENGTH(expected) &&
           PyUnicode_KIND(name) == PyUnicode_KIND(expected) &&
           !std::memcmp(PyUnicode_DATA(name), PyUnicode_DATA(expected),
                        PyUnicode_GET_LENGTH(name) * PyUnicode_KIND(name));
}

// The entry of a name in the index, null if there is none. Rows mostly have the names of the index in its order, from
// `next` on, and sometimes not all: then nothing is looked up.
PyObject *entry_of(PyObject *name, PyObject *index, Py_ssize_t &next) {
    constexpr int NAMES_AHEAD = 3;
    PyObject *expected, *entry;
    Py_ssize_t here = next;
    for (int i = 0; i < NAMES_AHEAD && PyDict_Next(index, &here, &expected, &entry); ++i)
        if (same_name(name, expected)) {
            next = here;
            return entry;
        }
    nb::object text;
    if (!PyUnicode_CheckExact(name)) {
        text = nb::steal(PyObject_Str(name));
        if (!text.is_valid()) nb::raise_python_error();
        name = text.ptr();
    }
    entry = PyDict_GetItemWithError(index, name);
    if (!entry && PyErr_Occurred()) nb::raise_python_error();
    return entry;
}

int64_t read_row(nb::handle row, nb::handle index, nb::handle values) {
    if (!PyDict_CheckExact(row.ptr()) || !PyDict_CheckExact(index.ptr())) return -1;
    const View<double> out(values, 1);
    for (Py_ssize_t i = 0; i < out.shape[0]; ++i) out(i) = MISSING;
    Places met(out.shape[0]);
    int64_t unknown = 0;
    Py_ssize_t position = 0, next = 0;
    PyObject *name, *value;
    while (PyDict_Next(row.ptr(), &position, &name, &value)) {
        PyObject *entry = entry_of(name, index.ptr(), next);
        if (!entry) return -1;
        const bool coded = PyTuple_CheckExact(entry);
        const Py_ssize_t place = PyLong_AsSsize_t(coded ? PyTuple_GET_ITEM(entry, 0) : entry);
        if (place == -2) continue; // the label, or an excluded column
        double number;
        if (coded ? !read_code(value, PyTuple_GET_ITEM(entry, 1), PyTuple_GET_ITEM(entry, 2), number)
                  : !read_number(value, number))
            return -1;
        if (place < 0) { // a column of which nothing is known yet
            if (!std::isnan(number)) return -1;
            continue;
        }
        if (place >= out.shape[0]) refuse("places below " + std::to_string(out.shape[0]), place);
        if (!met.add(place)) return -1; // 1 and "1" in one dict
        out(place) = number;
        unknown += coded && number == -1;
    }
    return unknown;
}

// The value of a name in a dict, null if it is absent. Rows mostly have the names in one order, as the same objects.
PyObject *value_of(PyObject *row, PyObject *name, Py_ssize_t &next) {
    PyObject *key, *value;
    if (PyDict_Next(row, &next, &key, &value) && key == name) return value;
    value = PyDict_GetItemWithError(row, name);
    if (!value && PyErr_Occurred()) nb::raise_python_error();
    return value;
}

nb::tuple read_real_columns(nb::sequence rows, nb::sequence names) {
    const nb::list every(rows), named(names); // neither can change while their values are read
    const Py_ssize_t n_rows = PyList_GET_SIZE(every.ptr()), n_names = PyList_GET_SIZE(named.ptr());
    const nb::module_ numpy = nb::module_::import_("numpy");
    std::vector<nb::object> arrays(n_names);
    std::vector<double *> values(n_names, nullptr); // null where a value is no float
    bool alike = true;
    for (Py_ssize_t i = 0; i < n_rows; ++i) alike &= bool(PyDict_CheckExact(PyList_GET_ITEM(every.ptr(), i)));
    const Py_ssize_t n_read = alike ? n_rows : 0;
    for (Py_ssize_t j = 0; j < n_names && alike; ++j) {
        arrays[j] = numpy.attr("empty")(n_rows);
        values[j] = reinterpret_cast<double *>(View<double>(arrays[j], 1).data);
    }
    for (Py_ssize_t i = 0; i < n_read; ++i) {
        PyObject *row = PyList_GET_ITEM(every.ptr(), i);
        alike &= PyDict_GET_SIZE(row) == n_names;
        Py_ssize_t next = 0;
        for (Py_ssize_t j = 0; j < n_names; ++j) {
            PyObject *value = value_of(row, PyList_GET_ITEM(named.ptr(), j), next);
            alike &= value != nullptr;
            if (!values[j]) continue;
            if (value && (PyFloat_CheckExact(value) || Py_TYPE(value) == float64_type))
                values[j][i] = PyFloat_AS_DOUBLE(value);
            else values[j] = nullptr;
        }
    }
    nb::list found;
    for (Py_ssize_t j = 0; j < n_names; ++j) found.append(values[j] ? arrays[j] : nb::none());
    return nb::make_tuple(found, alike);
}

// The digits of one class in all columns.
struct ClassDigits {
    View<int64_t> digits;
    Py_ssize_t code;
    int64_t low, width;

    ClassDigits(const char *name, nb::handle object, int64_t code, int64_t low, Contract &contract)
        : digits(object, 3), code(code), low(low), width(digits.shape[2]) {
        if (width < 1) refuse("sums of at least one digit", width);
        Contract::lowest_place(low);
        if (digits.strides[2] != sizeof(int64_t) && width > 1)
            throw nb::type_error("digits one behind the other are expected");
        contract.array(name, digits, {COLUMNS, CLASSES, width});
    }

    int64_t *cell(int64_t column) const { return &digits(column, code, 0); }

    // Whether m * 2**exponent (m odd, or zero) and the number that is there leave room for their sum; what was added
    // can always be taken back.
    bool fits(int64_t column, u128 m, int64_t exponent, int64_t sign) const {
        const uint64_t high = uint64_t(m >> 64);
        const int64_t bits = high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(uint64_t(m));
        const int64_t last = cell(column)[width - 1], room = int64_t(1) << (sign > 0 ? 29 : 30);
        return bits == 0 || ((exponent >= 32 * low) & (exponent + bits <= 32 * (low + width - 1) + 29) & (last < room) &
                             (last > -room));
    }

    // Adds m * 2**exponent, which has at most DIGITS digits and is known to fit.
    template <int DIGITS> void add(int64_t column, u128 m, int64_t exponent, bool negative) const {
        if (m == 0) return;
        const int shift = exponent & 31;
        const int64_t flip = -int64_t(negative); // -part is ~part + 1
        int64_t *here = cell(column) + ((exponent >> 5) - low), *last = cell(column) + (width - 1), carry = 0;
        u128 left = m >> (32 - shift); // what is above the lowest digit
        uint32_t part = uint32_t(m << shift);
#pragma GCC unroll 5
        for (int i = 0; i < DIGITS && here < last; ++i, ++here) {
            const int64_t sum = *here + carry + ((int64_t(part) ^ flip) - flip);
            *here = sum & 0xFFFFFFFF;
            carry = sum >> 32;
            part = uint32_t(left);
            left >>= 32;
        }
        for (; carry && here < last; ++here) {
            const int64_t sum = *here + carry;
            *here = sum & 0xFFFFFFFF;
            carry = sum >> 32;
        }
        if (here == last) *here += carry + ((int64_t(part) ^ flip) - flip);
    }
};

bool add_real_row(nb::handle n, nb::handle x, int64_t x_low, nb::handle xx, int64_t xx_low, nb::handle values,
                  int64_t code, int64_t sign) {
    const View<int64_t> counts(n, 2);
    const View<const double> row(values, 1);
    Contract contract;
    contract.array("n", counts, {COLUMNS, CLASSES});
    const ClassDigits x_digits("x", x, code, x_low, contract), xx_digits("xx", xx, code, xx_low, contract);
    contract.array("values", row, {COLUMNS});
    contract.code(code);
    Contract::sign(sign);
    bool fit = true;
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(row(j))) continue;
        const Number v = number_of(row(j));
        fit &= x_digits.fits(j, v.m, v.exponent, sign) & xx_digits.fits(j, u128(v.m) * v.m, 2 * v.exponent, sign);
    }
    if (!fit) return false;
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(row(j))) continue;
        const Number v = number_of(row(j));
        x_digits.add<3>(j, v.m, v.exponent, v.negative != (sign < 0));
        xx_digits.add<5>(j, u128(v.m) * v.m, 2 * v.exponent, sign < 0);
        add_wrapping(counts(j, code), sign);
    }
    return true;
}

bool add_event_row(nb::handle n, nb::handle x, nb::handle logs, int64_t low, nb::handle values, nb::handle factorials,
                   int64_t code, int64_t sign) {
    const View<int64_t> counts(n, 2), events(x, 2);
    const View<const double> row(values, 1), terms(factorials, 1);
    Contract contract;
    contract.array("n", counts, {COLUMNS, CLASSES});
    contract.array("x", events, {COLUMNS, CLASSES});
    const ClassDigits digits("log_factorial", logs, code, low, contract);
    contract.array("values", row, {COLUMNS});
    contract.array("terms", terms, {COLUMNS});
    contract.code(code);
    Contract::sign(sign);
    const int64_t room = int64_t(1) << (sign > 0 ? 61 : 62);
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(row(j))) continue;
        if (!(row(j) >= 0 && row(j) <= WHOLE_LIMIT && row(j) == std::floor(row(j)))) return false;
        const Number v = number_of(terms(j));
        const int64_t n_events = events(j, code);
        if (n_events <= -room || n_events >= room || !digits.fits(j, v.m, v.exponent, sign)) return false;
    }
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(row(j))) continue;
        const Number v = number_of(terms(j));
        digits.add<3>(j, v.m, v.exponent, v.negative != (sign < 0));
        events(j, code) += sign * static_cast<int64_t>(row(j));
        add_wrapping(counts(j, code), sign);
    }
    return true;
}

bool add_flag_row(nb::handle no, nb::handle yes, nb::handle values, int64_t code, int64_t sign) {
    const View<int64_t> zeros(no, 2), ones(yes, 2);
    const View<const double> row(values, 1);
    Contract contract;
    contract.array("no", zeros, {COLUMNS, CLASSES});
    contract.array("yes", ones, {COLUMNS, CLASSES});
    contract.array("values", row, {COLUMNS});
    contract.code(code);
    Contract::sign(sign);
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (row(j) == 0) add_wrapping(zeros(j, code), sign);
        if (row(j) == 1) add_wrapping(ones(j, code), sign);
    }
    return true;
}

int64_t count_value_row(nb::handle table, nb::handle totals, nb::handle values, int64_t code) {
    const View<int64_t> counts(table, 2), sums(totals, 2);
    const View<const double> row(values, 1);
    Contract contract;
    contract.array("table", counts, {LINES, CLASSES});
    contract.array("totals", sums, {COLUMNS, CLASSES});
    contract.array("values", row, {COLUMNS});
    contract.code(code);
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j)
        if (!std::isnan(row(j)) && !(row(j) >= 0 && row(j) < static_cast<double>(contract[LINES])))
            refuse_real("slots from 0 to below " + std::to_string(contract[LINES]), row(j));
    int64_t fresh = 0;
    for (Py_ssize_t j = 0; j < row.shape[0]; ++j) {
        if (std::isnan(row(j))) continue;
        int64_t &count = counts(static_cast<Py_ssize_t>(row(j)), code);
        fresh += count == 0;
        add_wrapping(count, 1);
        add_wrapping(sums(j, code), 1);
    }
    return fresh;
}

int64_t learn_row(nb::handle kind, nb::handle codes, nb::handle index, nb::handle values, nb::handle add,
                  nb::handle class_rows, nb::handle row, nb::handle label) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(label.ptr())) != kind.ptr() || !PyDict_CheckExact(codes.ptr())) return -1;
    PyObject *code = PyDict_GetItemWithError(codes.ptr(), label.ptr());
    if (!code) {
        if (PyErr_Occurred()) nb::raise_python_error();
        return -1;
    }
    const nb::object own = nb::borrow(code);
    if (const int64_t unknown = read_row(row, index, values)) return unknown;
    const View<int64_t> rows(class_rows, 1);
    const Py_ssize_t place = PyLong_AsSsize_t(code);
    if (place < 0 || place >= rows.shape[0]) refuse("codes below " + std::to_string(rows.shape[0]), place);
    static PyObject *one = PyLong_FromLong(1);
    PyObject *arguments[] = {code, one};
    const nb::object added = nb::steal(PyObject_Vectorcall(add.ptr(), arguments, 2, nullptr));
    if (!added.is_valid()) nb::raise_python_error();
    const int is_added = PyObject_IsTrue(added.ptr());
    if (is_added < 0) nb::raise_python_error();
    if (!is_added) return -1;
    ++rows(place);
    return 0;
}

} // namespace

void register_single_rows(nb::module_ &m) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    for (const char *name : {"bool_", "str_", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
                             "uint8", "uint16", "uint32", "uint64", "longlong", "ulonglong"})
        scalar_types.push_back(reinterpret_cast<PyTypeObject *>(nb::object(numpy.attr(name)).release().ptr()));
    float64_type = reinterpret_cast<PyTypeObject *>(nb::object(numpy.attr("float64")).release().ptr());
    define_kernel(m, "read_row", &read_row);
    define_kernel(m, "learn_row", &learn_row);
    define_kernel(m, "read_real_columns", &read_real_columns);
    define_kernel(m, "add_real_row", &add_real_row);
    define_kernel(m, "add_event_row", &add_event_row);
    define_kernel(m, "add_flag_row", &add_flag_row);
    define_kernel(m, "count_value_row", &count_value_row);
}

} // namespace tb
