// How columns lie in memory. Those of a C-ordered matrix are neighbours in it, but come in the order of their names, in
// which x10 stands before x2. So they are read in the order of their addresses, whatever the order they are used in.
#pragma once
#include <array>
#include <functional>
#include <numeric>

#include "base/columns.h"

namespace tb {

// The numbers of the columns by address.
template <class T> std::vector<int> by_address(const Column<T> *columns, size_t n) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](int a, int b) { return std::less<>{}(columns[a].data, columns[b].data); };
    if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
    return order;
}

template <class T>
std::vector<Column<T>> in_order(const std::vector<Column<T>> &columns, const std::vector<int> &order) {
    std::vector<Column<T>> ordered;
    ordered.reserve(order.size());
    for (int j : order) ordered.push_back(columns[j]);
    return ordered;
}

// Columns in fours that are neighbours, and the others.
struct Layout {
    std::vector<std::array<int, 4>> fours; // their numbers: the values of a row lie side by side
    std::vector<int> others;
    int first = 0;    // the column with the lowest address
    int64_t span = 0; // elements from it to the last in a row of their matrix; 0 if they are in none, or few of it

    Layout() = default;
    template <class T> Layout(const Column<T> *columns, int n) {
        const std::vector<int> order = by_address(columns, n);
        const auto neighbours = [&](int i) {
            const Column<T> &a = columns[order[i]], &b = columns[order[i + 1]];
            return b.data == a.data + 1 && b.stride == a.stride;
        };
        bool one_stride = n > 0;
        for (int i = 0; i < n; ++i) one_stride &= columns[i].stride == columns[0].stride;
        for (int i = 0; i < n;) {
            if (i + 4 <= n && neighbours(i) && neighbours(i + 1) && neighbours(i + 2)) {
                fours.push_back({order[i], order[i + 1], order[i + 2], order[i + 3]});
                i += 4;
            } else {
                others.push_back(order[i++]);
            }
        }
        if (!one_stride || fours.empty()) return;
        first = order[0];
        span = columns[order[n - 1]].data - columns[first].data + 1;
        if (span > 2 * n) span = 0;
    }
};

} // namespace tb
