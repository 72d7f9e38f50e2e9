// Hashes of the content of rows, by which samples are drawn: of numbers (hash_columns), of categories whose hashes are
// in a table (hash_codes), of bags (hash_bags) and of texts (hash_texts); numbers that bags with nearly the same tokens
// share (sign_bags).
//
// Rows are taken in tiles, so that a C-ordered matrix is read from memory once.
#include "base/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tb {

namespace {

constexpr int64_t HASHED_ROWS = 256; // rows whose hashes stay in registers and the first cache
constexpr uint64_t AMOUNT =
    0x9E3779B97F4A7C15u;     // 2**64 over the golden ratio: amounts differ in their highest bits only
constexpr size_t GROUPS = 4; // of tokens, each with its smallest hash
constexpr int64_t LONG = 8;  // tokens that a bag has at least, so that it can be nearly equal to another

// The finalizer of splitmix64.
inline uint64_t mixed(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

// What a value adds: nothing where it is missing. Unsigned numbers of 64 bits are hashes already, 0 where missing.
template <class T> inline uint64_t hash_of(T value, uint64_t salt) {
    if constexpr (std::is_same_v<T, uint64_t>) return value ? mixed(value ^ salt) : 0;
    const bool missing = std::is_floating_point_v<T> ? value != value : std::is_signed_v<T> && int64_t(value) == -1;
    return missing ? 0 : mixed(std::bit_cast<uint64_t>(double(value) + 0.0) ^ salt); // no negative zero
}

template <class T>
void add_hashes(const std::vector<Column<T>> &columns, const uint64_t *salts, uint64_t *out, int64_t start,
                int64_t stop) {
    for (int64_t from = start; from < stop; from += HASHED_ROWS) {
        const int64_t to = std::min(from + HASHED_ROWS, stop);
        for (size_t j = 0; j < columns.size(); ++j)
            for (int64_t row = from; row < to; ++row) out[row - start] += hash_of(columns[j][row], salts[j]);
    }
}

nb::ndarray<nb::numpy, uint64_t> hash_columns(nb::object list, Vector<uint64_t> salts, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("salts", salts, {COLUMNS});
    std::vector<uint64_t> out(size_t(stop - start));
    block.visit<double, float, bool, int8_t, uint8_t, int16_t, int32_t, int64_t, uint64_t>(
        [&]<class T>(std::vector<Column<T>> &columns) {
            const uint64_t *salt = salts.data();
            nb::gil_scoped_release release;
            add_hashes(columns, salt, out.data(), start, stop);
            return true;
        });
    const size_t size = out.size();
    return to_numpy(std::move(out), {size});
}

auto hash_codes(nb::object list, Vector<uint64_t> table, Vector<int64_t> offsets, Vector<int64_t> origins,
                int64_t start, int64_t stop) {
    Contract contract(start, stop);
    const Block block(list, contract);
    contract.array("offsets", offsets, {plus_one(COLUMNS)});
    contract.array("origins", origins, {COLUMNS});
    contract.array("table", table, {int64_t(table.shape(0))});
    Contract::ends("offsets", offsets.data(), contract[COLUMNS] + 1, int64_t(table.shape(0)));
    std::vector<uint64_t> out(size_t(stop - start));
    block.visit<int8_t, uint8_t, int16_t, int32_t, int64_t>([&]<class T>(std::vector<Column<T>> &columns) {
        const uint64_t *hashes = table.data();
        const int64_t *first = offsets.data(), *origin = origins.data();
        nb::gil_scoped_release release;
        for (int64_t from = start; from < stop; from += HASHED_ROWS) {
            const int64_t to = std::min(from + HASHED_ROWS, stop);
            for (size_t j = 0; j < columns.size(); ++j) {
                const uint64_t *own = hashes + first[j], size = uint64_t(first[j + 1] - first[j]);
                const auto zero = uint64_t(origin[j]); // differences of 64 bits wrap around: what is below is too large
                for (int64_t row = from; row < to; ++row) {
                    const uint64_t place = uint64_t(int64_t(columns[j][row])) - zero;
                    out[row - start] += place < size ? own[place] : 0;
                }
            }
        }
        return true;
    });
    const size_t size = out.size();
    return to_numpy(std::move(out), {size});
}

// Whole numbers spread over all bits: 2**64 over the golden ratio.
inline uint64_t spread(uint64_t number) {
    const uint64_t bits = (number + 1) * 0x9E3779B97F4A7C15u;
    return bits ^ (bits >> 29);
}

auto hash_bags(Array indptr, Contiguous indices, std::optional<Contiguous> amounts,
               std::optional<Vector<uint64_t>> tokens, int64_t n_tokens, int64_t start, int64_t stop) {
    Contract contract(start, stop);
    contract.size("n_tokens", n_tokens, TOKENS);
    if (tokens) contract.array("tokens", *tokens, {TOKENS});
    const uint64_t *known = tokens ? tokens->data() : nullptr;
    std::vector<uint64_t> out;
    {
        nb::gil_scoped_release release;
        const auto add = [&]<class I, class A>(const Ends &ends, const I *token, const A *amount) {
            out.resize(size_t(stop - start));
            for (int64_t row = start; row < stop; ++row) {
                uint64_t sum = 0;
                for (int64_t i = ends[row]; i < ends[row + 1]; ++i) {
                    const uint64_t hash = known ? known[token[i]] : spread(uint64_t(token[i]));
                    const double own = amount ? double(amount[i]) : 1.0;
                    sum += mixed(hash ^ (std::bit_cast<uint64_t>(own) * AMOUNT));
                }
                out[row - start] = sum;
            }
            return true;
        };
        BagArrays(indptr, indices, amounts).visit(contract, n_tokens, add);
    }
    const size_t size = out.size();
    return to_numpy(std::move(out), {size});
}

// For every row the smallest hash of each group of tokens, scrambled together; 0 for short rows.
auto sign_bags(Array indptr, Contiguous indices, Vector<uint64_t> tokens, int64_t n_tokens, int64_t start,
               int64_t stop) {
    Contract contract(start, stop);
    contract.size("n_tokens", n_tokens, TOKENS);
    contract.array("tokens", tokens, {TOKENS});
    const uint64_t *known = tokens.data();
    std::vector<uint64_t> out;
    {
        nb::gil_scoped_release release;
        const auto sign = [&]<class I, class A>(const Ends &ends, const I *token, const A *) {
            out.resize(size_t(stop - start));
            for (int64_t row = start; row < stop; ++row) {
                if (ends[row + 1] - ends[row] < LONG) continue;
                std::array<uint64_t, GROUPS> least;
                least.fill(UINT64_MAX);
                for (int64_t i = ends[row]; i < ends[row + 1]; ++i) {
                    const uint64_t hash = known[token[i]];
                    uint64_t &own = least[hash % GROUPS];
                    own = std::min(own, hash);
                }
                uint64_t state = 0;
                for (const uint64_t own : least) state = mixed(state ^ own);
                out[row - start] = std::max<uint64_t>(state, 1);
            }
            return true;
        };
        BagArrays(indptr, indices, std::nullopt).visit(contract, n_tokens, sign);
    }
    const size_t size = out.size();
    return to_numpy(std::move(out), {size});
}

auto hash_texts(Vector<uint8_t> data, Vector<int64_t> offsets) {
    Contract contract;
    contract.array("offsets", offsets, {plus_one(LINES)});
    const size_t n = size_t(contract[LINES]);
    const int64_t *at = offsets.data();
    const uint8_t *bytes = data.data();
    Contract::ends("offsets", at, int64_t(n) + 1, int64_t(data.shape(0)));
    std::vector<uint64_t> out(n);
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; ++i) {
            uint64_t hash = uint64_t(at[i + 1] - at[i]);
            for (int64_t from = at[i]; from < at[i + 1]; from += 8) {
                uint64_t word = 0;
                std::memcpy(&word, bytes + from, size_t(std::min<int64_t>(8, at[i + 1] - from)));
                hash = mixed(hash ^ word) + 1; // so that no two words in a row can cancel
            }
            out[i] = mixed(hash);
        }
    }
    return to_numpy(std::move(out), {n});
}

} // namespace

void register_hash_rows(nb::module_ &m) {
    define_kernel(m, "hash_columns", hash_columns);
    define_kernel(m, "hash_codes", hash_codes);
    define_kernel(m, "hash_bags", hash_bags);
    define_kernel(m, "sign_bags", sign_bags);
    define_kernel(m, "hash_texts", hash_texts);
}

} // namespace tb
