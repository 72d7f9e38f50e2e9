// An array of plain values that grows without being filled first.
//
// Large blocks grow by moving pages, not bytes (realloc), so that growing does not need the memory twice.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tb {

// Says of a block not yet used that it will be used all over: in large pages, its addresses are found faster.
inline void use_huge_pages([[maybe_unused]] void *block, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr size_t PAGE = 1 << 21;
    auto address = reinterpret_cast<uintptr_t>(block);
    uintptr_t from = (address + PAGE - 1) / PAGE * PAGE, end = (address + bytes) / PAGE * PAGE;
    if (from < end) madvise(reinterpret_cast<void *>(from), end - from, MADV_HUGEPAGE);
#endif
}

template <class T> class Growing {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Growing() = default;
    Growing(const Growing &other) {
        reserve(other.size_);
        if (other.size_) std::memcpy(data_, other.data_, other.size_ * sizeof(T));
        size_ = other.size_;
    }
    Growing(Growing &&other) noexcept { swap(other); }
    Growing &operator=(Growing other) noexcept {
        swap(other);
        return *this;
    }
    ~Growing() { std::free(data_); }

    void swap(Growing &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    // Room for `wanted` values in all.
    void reserve(size_t wanted) {
        if (wanted <= capacity_) return;
        size_t larger = capacity_ < 16 ? 16 : capacity_ + capacity_ / 2;
        resize_block(wanted > larger ? wanted : larger);
    }

    void push(T value) {
        if (size_ == capacity_) reserve(size_ + 8);
        data_[size_++] = value;
    }

    // Values for which there is room already were written behind the end, or are to be forgotten.
    void set_size(size_t size) { size_ = size; }

    T *data() { return data_; }
    const T *data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    T &operator[](size_t i) { return data_[i]; }
    const T &operator[](size_t i) const { return data_[i]; }

    // Gives the block away, cut to its size; to be given to free.
    T *release() {
        if (size_ < capacity_) resize_block(size_ ? size_ : 1);
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }

  private:
    void resize_block(size_t capacity) {
        if (capacity > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
        void *block = std::realloc(data_, capacity * sizeof(T));
        if (!block) throw std::bad_alloc();
        data_ = static_cast<T *>(block);
        capacity_ = capacity;
    }

    T *data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

} // namespace tb
