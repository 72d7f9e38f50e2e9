// Entries of tallies: those of a table that are not zero, and the order of entries by three keys.
//
// Entries mostly come as a few runs that are in order already: those of two tallies, one behind the other. Runs are
// found and merged, so that two of them take linear time.
#include "base/columns.h"

#include <algorithm>

namespace tb {

namespace {

struct EntryKeys {
    const int64_t *first, *second, *third;

    bool less(int64_t a, int64_t b) const {
        if (first[a] != first[b]) return first[a] < first[b];
        if (second[a] != second[b]) return second[a] < second[b];
        return third[a] < third[b];
    }
};

std::vector<int64_t> sorted_entries(const EntryKeys &keys, int64_t n) {
    std::vector<int64_t> order(n), merged(n), ends{0};
    for (int64_t i = 0; i < n; ++i) {
        order[i] = i;
        if (i && keys.less(i, i - 1)) ends.push_back(i);
    }
    ends.push_back(n);
    const auto less = [&](int64_t a, int64_t b) { return keys.less(a, b); };
    while (ends.size() > 2) {
        std::vector<int64_t> left{0};
        for (size_t run = 0; run + 1 < ends.size(); run += 2) {
            const int64_t start = ends[run], middle = ends[run + 1], stop = ends[std::min(run + 2, ends.size() - 1)];
            std::merge(&order[start], order.data() + middle, order.data() + middle, order.data() + stop, &merged[start],
                       less);
            left.push_back(stop);
        }
        order.swap(merged), ends.swap(left);
    }
    return order;
}

auto sort_entries(Vector<int64_t> first, Vector<int64_t> second, Vector<int64_t> third) {
    Contract contract;
    contract.array("first", first, {ENTRIES});
    contract.array("second", second, {ENTRIES});
    contract.array("third", third, {ENTRIES});
    const EntryKeys keys{first.data(), second.data(), third.data()};
    const size_t n = first.shape(0);
    std::vector<int64_t> order;
    {
        nb::gil_scoped_release release;
        order = sorted_entries(keys, static_cast<int64_t>(n));
    }
    return to_numpy(std::move(order), {n});
}

nb::tuple list_entries(Vector<int64_t> owner, Vector<int64_t> cell, Matrix<int64_t> table) {
    Contract contract;
    contract.array("owner", owner, {LINES});
    contract.array("cell", cell, {LINES});
    contract.array("table", table, {LINES, CLASSES});
    const size_t lines = table.shape(0), n_classes = table.shape(1);
    std::vector<int64_t> owners, cells, classes, amounts;
    {
        nb::gil_scoped_release release;
        const int64_t *own = owner.data(), *key = cell.data(), *amount = table.data();
        const size_t n = lines * n_classes - std::count(amount, amount + lines * n_classes, 0);
        for (auto *part : {&owners, &cells, &classes, &amounts}) part->resize(n);
        for (size_t line = 0, i = 0; line < lines; ++line)
            for (size_t c = 0; c < n_classes; ++c, ++amount)
                if (*amount)
                    owners[i] = own[line], cells[i] = key[line], classes[i] = int64_t(c), amounts[i++] = *amount;
    }
    const size_t n = owners.size();
    return nb::make_tuple(to_numpy(std::move(owners), {n}), to_numpy(std::move(cells), {n}),
                          to_numpy(std::move(classes), {n}), to_numpy(std::move(amounts), {n}));
}

} // namespace

void register_sort_entries(nb::module_ &m) {
    define_kernel(m, "list_entries", &list_entries);
    define_kernel(m, "sort_entries", &sort_entries);
}

} // namespace tb
