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

// The most that a size which is given as a number may be: cells of tallies have 24 bits for the class, and numbers of
// tokens and groups fit into 31 bits. So the bytes of a table of two sizes are a number of 64 bits.
constexpr int64_t MOST_CLASSES = 1 << 24, MOST = INT32_MAX;

constexpr int64_t MOST_PLACES = 1 << 20; // of digits: far more than the exponents of doubles and their squares need

// Adds to a counter as NumPy does: what is too large for 64 bits begins again from the other end.
inline void add_wrapping(int64_t &counter, int64_t n) {
    counter = static_cast<int64_t>(static_cast<uint64_t>(counter) + static_cast<uint64_t>(n));
}

// The sizes that arrays share. ROWS: at least as many as the kernel goes through, if a range of rows was given.
enum Size : int64_t { ROWS = -1, CLASSES = -2, COLUMNS = -3, TOKENS = -4, ENTRIES = -5, LINES = -6 };
constexpr int64_t plus_one(int64_t size) { return size - 100; }

template <class... A> size_t extent(const nb::ndarray<A...> &array, size_t i) { return array.shape(i); }

// Whether numbers may be read where they are; their distances are multiples of their size already.
template <class... A> bool is_aligned(const nb::ndarray<A...> &array) {
    return array.size() == 0 || reinterpret_cast<uintptr_t>(array.data()) % (array.dtype().bits / 8u) == 0;
}

class Contract {
  public:
    Contract() = default;

    // For kernels that go through the rows start to stop.
    Contract(int64_t start, int64_t stop) : start_(start), stop_(stop), ranged_(true) {
        if (start < 0 || stop < start) throw Refused{"rows in order, from 0 on", {start, stop}, -1, true};
    }

    int64_t operator[](Size size) const { return sizes_[-size]; }

    // A size that is given as a number.
    void size(const char *name, int64_t given, Size size) {
        const int64_t most = size == CLASSES ? MOST_CLASSES : MOST;
        if (given < 0) refuse(std::string(name) + " from 0 on", given);
        if (given > most) refuse(std::string(name) + " up to " + std::to_string(most), given);
        sizes_[-size] = given;
    }

    // The shape of an array: numbers as they are, names of sizes as they were met first.
    template <class A> void array(const char *name, const A &array, std::initializer_list<int64_t> shape) {
        bool fits = true;
        size_t i = 0;
        for (int64_t wanted : shape) fits &= bind(wanted, static_cast<int64_t>(extent(array, i++)));
        if (!is_aligned(array)) throw nb::type_error("expected a NumPy array that is aligned");
        if (fits) [[likely]]
            return;
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
        for (int64_t i = 0; i < n; ++i)
            strange |= static_cast<uint64_t>(static_cast<int64_t>(values[i])) >= uint64_t(limit);
        for (int64_t i = 0; strange && i < n; ++i)
            if (static_cast<uint64_t>(static_cast<int64_t>(values[i])) >= uint64_t(limit))
                refuse(std::string(what) + " from 0 to below " + std::to_string(limit),
                       static_cast<int64_t>(values[i]));
    }

    // Refuses the first value for which `fits` is false.
    template <class F> static void every(const std::string &expected, const double *values, int64_t n, F fits) {
        bool strange = false;
        for (int64_t i = 0; i < n; ++i) strange |= !fits(values[i]);
        for (int64_t i = 0; strange && i < n; ++i)
            if (!fits(values[i])) refuse_real(expected, values[i]);
    }

    static void finite(const char *what, const double *values, int64_t n) {
        every(std::string("finite ") + what, values, n, [](double x) { return std::abs(x) < INFINITY; });
    }
    static void counts(const char *what, const double *values, int64_t n) {
        every(std::string("finite ") + what + " from 0 on", values, n, [](double x) { return x >= 0 && x < INFINITY; });
    }
    static void positive(const char *what, double x) {
        if (!(x > 0 && x < INFINITY)) refuse_real(std::string("a finite ") + what + " above 0", x);
    }
    static void known(const char *what, double x) {
        if (std::isnan(x)) refuse_real(std::string("a ") + what + " that is not NaN", x);
    }
    // Means, their low parts and variances behind each other, n of each.
    static void moments(const char *what, const double *values, int64_t n) {
        finite(what, values, 3 * n);
        every(std::string(what) + " with variances from 0 on", values + 2 * n, n, [](double x) { return x >= 0; });
    }
    static void unit(int64_t exponent) {
        if (exponent < -1022 || exponent > 1022)
            refuse("units within the exponents of doubles, -1022 to 1022", exponent);
    }
    static void lowest_place(int64_t low) {
        if (low < -MOST_PLACES || low > MOST_PLACES) refuse("a lowest place within 2**20 digits", low);
    }
    static void sign(int64_t sign) {
        if (sign != 1 && sign != -1) refuse("a sign of 1 or -1", sign);
    }
    static void up_to(const char *what, int64_t n, int64_t most) {
        if (n < 0 || n > most) refuse(std::string(what) + " from 0 to " + std::to_string(most), n);
    }

    // Each not below the one before it; if `different`, above it.
    template <class T> static void ascending(const char *what, const T *values, int64_t n, bool different = false) {
        for (int64_t i = 0; i < n; ++i)
            if (i ? !(different ? values[i] > values[i - 1] : values[i] >= values[i - 1]) : values[i] != values[i]) {
                const auto expected = std::string(what) + " in increasing order";
                if constexpr (std::is_floating_point_v<T>) refuse_real(expected, values[i]);
                else refuse(expected, values[i]);
            }
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
        if (name == -ROWS && ranged_) return given - more >= stop_;
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
            const int64_t size = wanted >= 0 ? wanted : std::max<int64_t>(known, 0);
            text += std::to_string(uint64_t(size) + uint64_t(more)); // 2**63 - 1 rows and one more have 64 bits
        }
        return text + (shape.size() == 1 ? ",)" : ")");
    }

    int64_t start_ = 0, stop_ = 0;
    bool ranged_ = false;
    int64_t sizes_[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
};

} // namespace tb
