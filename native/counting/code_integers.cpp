// Integers such as labels: numbered from a given one on and counted, in one pass over the rows.
#ifndef TB_ISA
#include "base/columns.h"
#include "base/simd.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tb {
namespace {

constexpr int64_t ROWS_AT_ONCE = 2048; // rows whose codes stay in the first cache until they are counted

struct Range {
    int64_t least = std::numeric_limits<int64_t>::max(), greatest = std::numeric_limits<int64_t>::min();
};

} // namespace
} // namespace tb

#define TB_FILE "counting/code_integers.cpp"
#include "base/isa.h"

namespace tb {
namespace {

// Few counters are kept four times, one for every fourth row: adding to one that was written a moment ago would wait.
class CodeCounters {
  public:
    explicit CodeCounters(int64_t size) : size_(size), counts_(size <= FOURFOLD_CODES ? 4 * (size + 1) : size + 1) {}

    void add(const int32_t *codes, int64_t rows) {
        int64_t *counts = counts_.data() + 1; // -1 is counted too, and left out in the end
        if (size_ > FOURFOLD_CODES) {
            for (int64_t r = 0; r < rows; ++r) ++counts[codes[r]];
            return;
        }
        const int64_t own = size_ + 1;
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4)
            for (int64_t way = 0; way < 4; ++way) ++counts[way * own + codes[r + way]];
        for (; r < rows; ++r) ++counts[codes[r]];
    }

    void add_to(int64_t *totals) const {
        for (size_t i = 0; i < counts_.size(); ++i)
            if (const int64_t code = static_cast<int64_t>(i % (size_ + 1)) - 1; code >= 0)
                add_wrapping(totals[code], counts_[i]);
    }

  private:
    static constexpr int64_t FOURFOLD_CODES = 1024;
    int64_t size_;
    std::vector<int64_t> counts_;
};

std::pair<int64_t, int64_t> code_integers(Array values, int64_t low, OutVector<int64_t> counts, OutVector<int32_t> out,
                                          int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.array("values", values, {ROWS});
    contract.array("out", out, {ROWS});
    const int64_t size = static_cast<int64_t>(counts.shape(0));
    contract.array("counts", counts, {size});
    if (size > std::numeric_limits<int32_t>::max()) refuse("at most 2**31 - 1 counts", size);
    nb::gil_scoped_release release;
    Range seen;
    CodeCounters counters(size);
    return dispatch<int64_t, int32_t, int16_t, int8_t, uint8_t>(values.dtype(), [&]<class T>(T) {
        const T *from = static_cast<const T *>(values.data());
        const auto number_rows = TB_BEST(number_rows<T>);
        for (int64_t row = start; row < stop; row += ROWS_AT_ONCE) {
            const int64_t rows = std::min(ROWS_AT_ONCE, stop - row), stride = values.stride(0);
            number_rows(from + row * stride, stride, rows, low, size, out.data() + row, seen);
            counters.add(out.data() + row, rows);
        }
        counters.add_to(counts.data());
        return std::pair(seen.least, seen.greatest);
    });
}

} // namespace

void register_code_integers(nb::module_ &m) { define_kernel(m, "code_integers", &code_integers); }

} // namespace tb

#else

namespace tb::TB_ISA {
namespace {

// The codes of some rows, -1 where a value is outside 0 .. size - 1 behind `low`.
template <class T>
TB_INLINE void number(const T *values, int64_t stride, int64_t rows, int64_t low, int64_t size, int32_t *codes,
                      Range &seen) {
    T least = std::numeric_limits<T>::max(), greatest = std::numeric_limits<T>::min();
    const auto place = [&](T value) {
        return static_cast<uint64_t>(static_cast<int64_t>(value)) - static_cast<uint64_t>(low);
    };
    for (int64_t r = 0; r < rows; ++r) {
        const T value = values[r * stride];
        least = std::min(least, value);
        greatest = std::max(greatest, value);
        codes[r] = static_cast<int32_t>(place(value));
    }
    seen.least = std::min<int64_t>(seen.least, least);
    seen.greatest = std::max<int64_t>(seen.greatest, greatest);
    if (least >= low && place(greatest) < static_cast<uint64_t>(size)) [[likely]]
        return;
    for (int64_t r = 0; r < rows; ++r)
        if (place(values[r * stride]) >= static_cast<uint64_t>(size)) codes[r] = -1;
}

template <class T>
void number_rows(const T *values, int64_t stride, int64_t rows, int64_t low, int64_t size, int32_t *codes,
                 Range &seen) {
    if (stride == 1) number(values, 1, rows, low, size, codes, seen);
    else number(values, stride, rows, low, size, codes, seen);
}

} // namespace
} // namespace tb::TB_ISA
#endif
