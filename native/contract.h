// The one contract for the arguments of all kernels: shapes, ranges of rows, class codes and indices are checked here
// before a kernel uses them as addresses. `kernels/contract.py` has the same checks, with the same words, for the
// reference kernels. Whatever is refused is a DataError in Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace tb {

// What was expected, what was given (a number, or a shape) and in which row.
struct Refused {
    std::string expected;
    std::vector<int64_t> got;
    int64_t row = -1;
    bool is_shape = false, is_real = false;
    double real = 0;
};

[[noreturn]] inline void refuse(std::string expected, int64_t got, int64_t row = -1) {
    throw Refused{std::move(expected), {got}, row};
}
[[noreturn]] inline void refuse_real(std::string expected, double got) {
    throw Refused{std::move(expected), {}, -1, false, true, got};
}

// The sizes that arrays share. ROWS: at least as many as the kernel goes through, if a range of rows was given.
enum Size : int64_t { ROWS = -1, CLASSES = -2, COLUMNS = -3, TOKENS = -4, ENTRIES = -5, LINES = -6 };
constexpr int64_t plus_one(int64_t size) { return size - 100; }

template <class... A> size_t extent(const nb::ndarray<A...> &array, size_t i) { return array.shape(i); }

class Contract {
  public:
    Contract() = default;

    // For kernels that go through the rows start to stop.
    Contract(int64_t start, int64_t stop) : start_(start), stop_(stop), ranged_(true) {
        if (start < 0 || stop < start)
            throw Refused{"rows in order, from 0 on", {start, stop}, -1, true};
    }

    int64_t operator[](Size size) const { return sizes_[-size]; }

    // A size that is given as a number.
    void size(const char *name, int64_t given, Size size) {
        if (given < 0) refuse(std::string(name) + " from 0 on", given);
        sizes_[-size] = given;
    }

    // The shape of an array: numbers as they are, names of sizes as they were met first.
    template <class A> void array(const char *name, const A &array, std::initializer_list<int64_t> shape) {
        bool fits = true;
        size_t i = 0;
        for (int64_t wanted : shape) fits &= bind(wanted, static_cast<int64_t>(extent(array, i++)));
        if (fits) [[likely]] return;
        std::vector<int64_t> got;
        for (i = 0; i < shape.size(); ++i) got.push_back(static_cast<int64_t>(extent(array, i)));
        throw Refused{std::string(name) + " of shape " + text_of(shape), got, -1, true};
    }

    // Class codes of the rows in range: below the number of classes. `absent`: a negative code means no class.
    void codes(const int32_t *codes, bool absent = true) const {
        const int64_t n_classes = sizes_[-CLASSES], stop = end();
        const int32_t limit = static_cast<int32_t>(std::min<int64_t>(n_classes, INT32_MAX));
        bool strange = false;
        for (int64_t row = start_; row < stop; ++row) strange |= codes[row] >= limit || (!absent && codes[row] < 0);
        for (int64_t row = start_; strange && row < stop; ++row)
            if (codes[row] >= limit || (!absent && codes[row] < 0))
                refuse((absent ? "a class code below " : "a class code from 0 to below ") + std::to_string(n_classes),
                       codes[row], row);
    }

    // Numbers from 0 to below a limit, such as groups.
    template <class I> static void below(const char *what, const I *values, int64_t n, int64_t limit) {
        bool strange = false;
        for (int64_t i = 0; i < n; ++i) strange |= static_cast<uint64_t>(static_cast<int64_t>(values[i])) >= uint64_t(limit);
        for (int64_t i = 0; strange && i < n; ++i)
            if (static_cast<uint64_t>(static_cast<int64_t>(values[i])) >= uint64_t(limit))
                refuse(std::string(what) + " from 0 to below " + std::to_string(limit), static_cast<int64_t>(values[i]));
    }

    static void finite(const char *what, const double *values, int64_t n) {
        double zero = 0;
        for (int64_t i = 0; i < n; ++i) zero += values[i] * 0.0; // NaN if one of them is not finite
        for (int64_t i = 0; zero != 0 && i < n; ++i)
            if (!std::isfinite(values[i])) refuse_real(std::string("finite ") + what, values[i]);
    }

    // Ends of groups of lines, one behind the other: from 0 or more to at most `last`.
    template <class I> static void ends(const char *what, const I *ends, int64_t n, int64_t last) {
        for (int64_t i = 0; i < n; ++i)
            if (ends[i] < (i ? ends[i - 1] : 0) || int64_t(ends[i]) > last)
                refuse(std::string(what) + " that do not decrease, from 0 to at most " + std::to_string(last), ends[i]);
    }

    // A single class code.
    void code(int64_t code) const {
        if (code < 0 || code >= sizes_[-CLASSES])
            refuse("a class code from 0 to below " + std::to_string(sizes_[-CLASSES]), code);
    }

    int64_t start() const { return start_; }
    int64_t end() const { return ranged_ ? stop_ : std::max<int64_t>(sizes_[-ROWS], 0); }

  private:
    bool bind(int64_t wanted, int64_t given) {
        if (wanted >= 0) return given == wanted;
        const int64_t more = wanted < -100, name = -(wanted + 100 * more);
        if (name == -ROWS && ranged_) return given >= stop_ + more;
        if (sizes_[name] < 0) sizes_[name] = given - more;
        return given == sizes_[name] + more && sizes_[name] >= 0;
    }

    std::string text_of(std::initializer_list<int64_t> shape) const {
        std::string text = "(";
        for (int64_t wanted : shape) {
            const int64_t more = wanted < -100, name = -(wanted + 100 * more);
            if (text.size() > 1) text += ", ";
            if (wanted < 0 && name == -ROWS && ranged_) text += "at least ";
            const int64_t known = name == -ROWS && ranged_ ? stop_ : wanted < 0 ? sizes_[name] : 0;
            text += std::to_string(wanted >= 0 ? wanted : std::max<int64_t>(known, 0) + more);
        }
        return text + (shape.size() == 1 ? ",)" : ")");
    }

    int64_t start_ = 0, stop_ = 0;
    bool ranged_ = false;
    int64_t sizes_[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
};

} // namespace tb
