// Cells as lines of text: join_cells, and probability_texts with the digits that printf gives. Cells that were read:
// mark_cells.
#include "base/columns.h"

#include <charconv>
#include <cstring>

namespace tb {

namespace {

constexpr int DIGITS = 10;        // of a probability
constexpr size_t SHORT_CELL = 16; // bytes of a cell that are copied at once
constexpr int64_t WIDEST = 24;    // characters of one: -1.234567891e-308 has fewer
constexpr uint64_t TEN_DIGITS = 1'000'000'000, ELEVEN_DIGITS = 10 * TEN_DIGITS; // the least whole numbers with so many

// p times a power of ten, to the nearest whole number and half to even, for 1e-4 <= p < 1. The product is exact: 53 bits
// times 44.
uint64_t scaled(double p, uint64_t power) {
    uint64_t bits;
    std::memcpy(&bits, &p, sizeof bits);
    const int shift = 1075 - static_cast<int>(bits >> 52);
    const unsigned __int128 product =
        static_cast<unsigned __int128>((bits & ((1ull << 52) - 1)) | (1ull << 52)) * power;
    const uint64_t whole = static_cast<uint64_t>(product >> shift);
    const unsigned __int128 rest = product - (static_cast<unsigned __int128>(whole) << shift),
                            half = static_cast<unsigned __int128>(1) << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

// The text of one probability; returns its end.
char *write_probability(char *at, double p) {
    if (p >= 1e-4 && p < 1) {
        int zeros = 0; // between the point and the first digit
        uint64_t power = ELEVEN_DIGITS;
        for (double decade = 0.1; p < decade; decade = zeros == 1 ? 0.01 : zeros == 2 ? 1e-3 : 1e-4)
            ++zeros, power *= 10;
        uint64_t digits = scaled(p, power);
        if (digits == ELEVEN_DIGITS && zeros) digits = TEN_DIGITS, --zeros; // 0.09999999999... is 0.1
        if (digits < ELEVEN_DIGITS) {
            *at++ = '0', *at++ = '.';
            for (; zeros; --zeros) *at++ = '0';
            char *end = at + DIGITS;
            for (char *place = end; place > at; digits /= 10) *--place = static_cast<char>('0' + digits % 10);
            while (end[-1] == '0') --end;
            return end;
        }
        p = 1;
    }
    char *end = std::to_chars(at, at + WIDEST, p, std::chars_format::general, DIGITS).ptr;
    if (end == at + 1) *end++ = '.', *end++ = '0';
    return end;
}

auto probability_texts(Vector<double> values) {
    Contract contract;
    contract.array("values", values, {ROWS});
    const size_t n = values.shape(0);
    for (size_t i = 0; i < n; ++i)
        if (!std::isfinite(values.data()[i])) refuse_real("finite values", values.data()[i]);
    std::vector<int64_t> offsets(n + 1, 0);
    std::vector<uint8_t> data(n * WIDEST);
    {
        nb::gil_scoped_release release;
        char *start = reinterpret_cast<char *>(data.data()), *at = start;
        for (size_t i = 0; i < n; ++i) at = write_probability(at, values.data()[i]), offsets[i + 1] = at - start;
    }
    data.resize(size_t(offsets[n]));
    const size_t size = data.size();
    return nb::make_tuple(to_numpy(std::move(offsets), {n + 1}), to_numpy(std::move(data), {size}));
}

auto join_cells(Vector<int64_t> offsets, Vector<uint8_t> data, int64_t n_columns, Vector<uint8_t> between) {
    Contract contract;
    contract.array("offsets", offsets, {plus_one(ENTRIES)});
    Contract::ends("offsets", offsets.data(), int64_t(offsets.shape(0)), int64_t(data.shape(0)));
    const int64_t n_cells = contract[ENTRIES];
    if (n_columns < 1) refuse("n_columns from 1 on", n_columns);
    if (n_cells % n_columns) refuse("as many cells in every column", n_cells);
    const int64_t rows = n_cells / n_columns, *ends = offsets.data();
    const size_t gap = between.shape(0),
                 n_bytes = size_t(ends[n_cells] - ends[0]) + size_t(rows) * (size_t(n_columns - 1) * gap + 1);
    std::vector<uint8_t> lines(n_bytes);
    {
        nb::gil_scoped_release release;
        uint8_t *at = lines.data();
        const uint8_t *last = at + n_bytes - std::min(n_bytes, SHORT_CELL), *text = data.data();
        const int64_t last_text = int64_t(data.shape(0)) - int64_t(SHORT_CELL);
        for (int64_t row = 0; row < rows; ++row) {
            for (int64_t cell = row; cell < n_cells; cell += rows) {
                const size_t length = size_t(ends[cell + 1] - ends[cell]);
                if (cell != row) {
                    for (size_t i = 0; i < gap; ++i) *at++ = between.data()[i];
                }
                // most cells are short: a copy of fixed length is one instruction, and what is too much is overwritten
                if (length <= SHORT_CELL && at < last && ends[cell] <= last_text)
                    std::memcpy(at, text + ends[cell], SHORT_CELL);
                else std::memcpy(at, text + ends[cell], length);
                at += length;
            }
            *at++ = '\n';
        }
    }
    return to_numpy(std::move(lines), {n_bytes});
}

// What the first and the last byte of each cell, and its length, say about it.
auto mark_cells(Contiguous offsets, Vector<uint8_t> data, Vector<uint8_t> first, Vector<uint8_t> last,
                int64_t longest) {
    Contract contract;
    contract.array("data", data, {ENTRIES});
    contract.array("first", first, {256});
    contract.array("last", last, {256});
    contract.array("offsets", offsets, {plus_one(ROWS)});
    const size_t n = size_t(contract[ROWS]);
    std::vector<uint8_t> marks(n);
    dispatch<int32_t, int64_t>(offsets.dtype(), [&]<class I>(I) {
        const auto *ends = static_cast<const I *>(offsets.data());
        Contract::ends("offsets", ends, contract[ROWS] + 1, contract[ENTRIES]);
        const uint8_t *bytes = data.data(), *by_first = first.data(), *by_last = last.data();
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; ++i) {
            if (ends[i] == ends[i + 1]) {
                marks[i] = 2;
                continue;
            }
            const uint8_t start = by_first[bytes[ends[i]]], end = by_last[bytes[ends[i + 1] - 1]];
            const bool is_short = int64_t(ends[i + 1]) - int64_t(ends[i]) <= longest;
            marks[i] = uint8_t(((start | end) & 1) | (start & end & (is_short ? 2 : 0)));
        }
        return true;
    });
    return to_numpy(std::move(marks), {n});
}

} // namespace

void register_csv_cells(nb::module_ &m) {
    define_kernel(m, "probability_texts", &probability_texts);
    define_kernel(m, "join_cells", &join_cells);
    define_kernel(m, "mark_cells", &mark_cells);
}

} // namespace tb
