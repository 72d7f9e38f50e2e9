// Lexicon and Buckets: texts to bags of numbered tokens. kernels/reference/tokeniser.py defines what they return.
//
// Without the lock of the interpreter: a lexicon that grows belongs to one thread, one that is only looked up in may be
// shared. An amount is an int32; a token that occurs 2^31 times in one text of at least 2 GB is an error.
#include "base/columns.h"
#include "text/tokeniser.h"

#include <nanobind/stl/tuple.h>

namespace tb {

namespace {

template <class T> nb::ndarray<nb::numpy, T> to_numpy(Growing<T> &&values) {
    size_t size = values.size();
    if (!size) values.reserve(1);
    T *block = values.release();
    nb::capsule owner(block, [](void *p) noexcept { std::free(p); });
    return nb::ndarray<nb::numpy, T>(block, {size}, owner);
}

Rules rules_of(nb::tuple given) {
    if (given.size() != 10) refuse("ten rules", static_cast<int64_t>(given.size()));
    auto rule = [&](size_t i) { return nb::cast<int64_t>(given[i]); };
    return {rule(0), rule(1), rule(2), rule(3), rule(4), rule(5), rule(6), rule(7), rule(8), rule(9)};
}

// Texts as Arrow has them, from one row to another, checked.
template <class Offset> class Texts {
  public:
    Texts(const Array &offsets, const Vector<uint8_t> &data, int64_t start, int64_t stop)
        : ends_{static_cast<const Offset *>(offsets.data()), offsets.stride(0)}, data_(data.data()),
          size_(int64_t(data.shape(0))) {
        if (start >= stop) return;
        Contract contract(start, stop);
        contract.array("offsets", offsets, {plus_one(ROWS)});
        for (int64_t r = start; r <= stop; ++r)
            if (ends_[r] < (r > start ? ends_[r - 1] : 0) || int64_t(ends_[r]) > size_)
                refuse("offsets that do not decrease, from 0 to at most " + std::to_string(size_), ends_[r], r);
    }

    const uint8_t *begin(int64_t row) const { return data_ + ends_[row]; }
    const uint8_t *end(int64_t row) const { return data_ + ends_[row + 1]; }
    Token token(int64_t row) const {
        return Lexicon::token(begin(row), end(row) - begin(row), size_ - int64_t(ends_[row]));
    }

  private:
    Column<Offset> ends_;
    const uint8_t *data_;
    int64_t size_;
};

using Valid = std::optional<Vector<bool>>;

template <class Numbers>
nb::tuple tokenise(Numbers numbers, const Array &offsets, const Vector<uint8_t> &data, const Valid &valid,
                   int64_t start, int64_t stop, nb::tuple given, const Lexicon *stop_words) {
    Rules rules = rules_of(given);
    Contract contract;
    contract.array("offsets", offsets, {plus_one(ROWS)});
    if (valid) contract.array("valid", *valid, {ROWS});
    TokenBags<Numbers> bags(numbers);
    dispatch<int32_t, int64_t>(offsets.dtype(), [&](auto offset) {
        nb::gil_scoped_release release;
        Texts<decltype(offset)> texts(offsets, data, start, stop);
        Tokeniser<Numbers> tokeniser(rules, stop_words, bags);
        for (int64_t row = start; row < stop; ++row) {
            if (valid && !valid->data()[row]) bags.end_text();
            else tokeniser.text(texts.begin(row), texts.end(row));
        }
        return true;
    });
    return nb::make_tuple(to_numpy(std::move(bags.indptr_)), to_numpy(std::move(bags.indices_)),
                          to_numpy(std::move(bags.amounts_)));
}

// Calls number(token) for each of some packed tokens.
template <class F>
auto numbers_of(const Lexicon &lexicon, const Vector<uint8_t> &data, const Array &offsets, F &&number) {
    Growing<int32_t> numbers;
    int64_t n = std::max<int64_t>(int64_t(offsets.shape(0)) - 1, 0);
    dispatch<int64_t, int32_t>(offsets.dtype(), [&](auto offset) {
        nb::gil_scoped_release release;
        Texts<decltype(offset)> texts(offsets, data, 0, n);
        numbers.reserve(size_t(n));
        Token some[32]; // their slots are fetched before any is looked at
        for (int64_t i = 0; i < n;) {
            const int64_t m = std::min<int64_t>(int64_t(std::size(some)), n - i);
            for (int64_t j = 0; j < m; ++j) lexicon.fetch_slot(some[j] = texts.token(i + j));
            for (int64_t j = 0; j < m; ++j, ++i) numbers.push(number(some[j]));
        }
        return true;
    });
    return to_numpy(std::move(numbers));
}

nb::tuple packed(const Lexicon &lexicon) {
    Growing<uint8_t> bytes(lexicon.bytes());
    Growing<int64_t> offsets(lexicon.offsets());
    if (!offsets.size()) offsets.push(0);
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
}

int32_t number(const Lexicon &lexicon, nb::str text) {
    nb::object keeps;
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
    if (!bytes) { // surrogates: they stand for the bytes of a token that is not UTF-8, if they could have come from one
        PyErr_Clear();
        keeps = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
        if (!keeps.is_valid()) {
            PyErr_Clear();
            return -1;
        }
        bytes = PyBytes_AS_STRING(keeps.ptr());
        length = PyBytes_GET_SIZE(keeps.ptr());
        nb::object again = nb::steal(PyUnicode_DecodeUTF8(bytes, length, "surrogateescape"));
        if (!again.is_valid()) nb::raise_python_error();
        if (!again.equal(text)) return -1;
    }
    return lexicon.find(Lexicon::token(reinterpret_cast<const uint8_t *>(bytes), length, length));
}

// Texts of a list as bytes and offsets, and which are there if some are None; None if it holds anything else.
nb::object pack_texts(nb::list values) {
    const size_t n = nb::len(values);
    std::vector<const char *> from(n);
    Growing<int64_t> offsets;
    offsets.reserve(n + 1);
    offsets.push(0);
    std::vector<bool> there(n, true);
    bool all = true;
    for (size_t i = 0; i < n; ++i) {
        PyObject *value = PyList_GET_ITEM(values.ptr(), Py_ssize_t(i));
        Py_ssize_t length = 0;
        if (PyUnicode_Check(value)) {
            if (!(from[i] = PyUnicode_AsUTF8AndSize(value, &length))) { // half of a surrogate pair
                PyErr_Clear();
                return nb::none();
            }
        } else if (PyBytes_Check(value)) {
            from[i] = PyBytes_AS_STRING(value);
            length = PyBytes_GET_SIZE(value);
        } else if (value == Py_None) {
            all = there[i] = false;
        } else {
            return nb::none();
        }
        offsets.push(offsets[i] + length);
    }
    Growing<uint8_t> data;
    data.reserve(size_t(offsets[n]));
    for (size_t i = 0; i < n; ++i)
        if (offsets[i + 1] > offsets[i])
            std::memcpy(data.data() + offsets[i], from[i], size_t(offsets[i + 1] - offsets[i]));
    data.set_size(size_t(offsets[n]));
    nb::object valid = nb::none();
    if (!all) {
        Growing<bool> flags;
        for (size_t i = 0; i < n; ++i) flags.push(there[i]);
        valid = nb::cast(to_numpy(std::move(flags)));
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(data)), valid);
}

void make_buckets(Buckets *at, nb::bytes key, int64_t size) {
    if (size < 1 || size > int64_t(1) << 31) refuse("from 1 to 2**31 buckets", size);
    uint64_t halves[2] = {0, 0};
    std::memcpy(halves, key.data(), std::min<size_t>(key.size(), 16));
    new (at) Buckets(halves[0], halves[1], size);
}

} // namespace

void register_tokens(nb::module_ &m) {
    m.def("pack_texts", &pack_texts, nb::arg("values"));
    nb::class_<Lexicon>(m, "Lexicon", "Tokens numbered in the order in which they come.")
        .def(nb::init<>())
        .def("__len__", &Lexicon::size)
        .def("number", &number, nb::arg("token"))
        .def(
            "add",
            [](Lexicon &self, Vector<uint8_t> data, Array offsets) {
                return numbers_of(self, data, offsets, [&](const Token &token) { return self.add(token); });
            },
            nb::arg("data"), nb::arg("offsets"))
        .def(
            "find",
            [](const Lexicon &self, Vector<uint8_t> data, Array offsets) {
                return numbers_of(self, data, offsets, [&](const Token &token) { return self.find(token); });
            },
            nb::arg("data"), nb::arg("offsets"))
        .def("packed", &packed)
        .def("copy", [](const Lexicon &self) { return Lexicon(self); })
        .def(
            "tokenise",
            [](Lexicon &self, Array offsets, Vector<uint8_t> data, Valid valid, int64_t start, int64_t stop,
               nb::tuple rules, const Lexicon *stop_words, bool grow) {
                if (grow && stop_words == &self)
                    throw std::invalid_argument("a lexicon that grows cannot be its own stop words");
                return grow ? tokenise(Grow{{self}}, offsets, data, valid, start, stop, rules, stop_words)
                            : tokenise(Find{{self}}, offsets, data, valid, start, stop, rules, stop_words);
            },
            nb::arg("offsets"), nb::arg("data"), nb::arg("valid").none(), nb::arg("start"), nb::arg("stop"),
            nb::arg("rules"), nb::arg("stop_words").none(), nb::arg("grow"))
        .def("__getstate__", &packed)
        .def("__setstate__", [](Lexicon &self, std::tuple<Vector<uint8_t>, Vector<int64_t>> state) {
            auto &[data, offsets] = state;
            new (&self) Lexicon();
            Texts<int64_t> texts(Array(offsets), data, 0, int64_t(offsets.shape(0)) - 1);
            for (int64_t i = 0; i + 1 < int64_t(offsets.shape(0)); ++i)
                if (self.add(texts.token(i)) != i) throw std::invalid_argument("a token comes twice");
        });

    nb::class_<Buckets>(m, "Buckets", "Tokens numbered by a hash that nobody can foresee without its key.")
        .def("__init__", &make_buckets, nb::arg("key"), nb::arg("size"))
        .def("__len__", &Buckets::size)
        .def(
            "number",
            [](const Buckets &self, nb::str token) {
                Py_ssize_t length;
                const char *bytes = PyUnicode_AsUTF8AndSize(token.ptr(), &length);
                if (!bytes) nb::raise_python_error();
                return self.number(reinterpret_cast<const uint8_t *>(bytes), length);
            },
            nb::arg("token"))
        .def(
            "tokenise",
            [](const Buckets &self, Array offsets, Vector<uint8_t> data, Valid valid, int64_t start, int64_t stop,
               nb::tuple rules, const Lexicon *stop_words,
               bool) { return tokenise(Hash{self}, offsets, data, valid, start, stop, rules, stop_words); },
            nb::arg("offsets"), nb::arg("data"), nb::arg("valid").none(), nb::arg("start"), nb::arg("stop"),
            nb::arg("rules"), nb::arg("stop_words").none(), nb::arg("grow"))
        .def("__getstate__",
             [](const Buckets &self) {
                 uint64_t key[2] = {self.low(), self.high()};
                 return nb::make_tuple(nb::bytes(reinterpret_cast<const char *>(key), 16), self.size());
             })
        .def("__setstate__", [](Buckets &self, std::tuple<nb::bytes, int64_t> state) {
            make_buckets(&self, std::get<0>(state), std::get<1>(state));
        });
}

} // namespace tb
