// Hashes of the content of rows, by which samples are drawn (hash_columns).
//
// Rows are taken in tiles, so that a C-ordered matrix is read from memory once.
#include "columns.h"

#include <bit>

namespace tb {

namespace {

constexpr int64_t TILE = 256; // rows whose hashes stay in registers and the first cache

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
void add_hashes(const std::vector<Column<T>> &columns, const uint64_t *salts, uint64_t *out, int64_t start, int64_t stop) {
    for (int64_t from = start; from < stop; from += TILE) {
        const int64_t to = std::min(from + TILE, stop);
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

} // namespace

void register_hash_rows(nb::module_ &m) { define_kernel(m, "hash_columns", hash_columns); }

} // namespace tb
