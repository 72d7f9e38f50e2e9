// sum_log_counts: the sums over tokens of the logarithms of their counts, by class, as whole numbers of 2**-28.
//
// Logarithms are the cost: they are taken of a block of values at a time.
#ifndef TB_ISA
#include "base/tile_sizes.h"

#define TB_FILE "text/log_counts.cpp"
#include "base/isa.h"

namespace tb {
namespace {

auto sum_log_counts(Vector<int64_t> tokens, Vector<int64_t> classes, Vector<double> counts, int64_t n_classes, double k,
                    bool complement) {
    Contract contract;
    contract.size("n_classes", n_classes, CLASSES);
    contract.array("tokens", tokens, {ENTRIES});
    contract.array("classes", classes, {ENTRIES});
    contract.array("counts", counts, {ENTRIES});
    Contract::below("classes", classes.data(), contract[ENTRIES], n_classes);
    Contract::counts("counts", counts.data(), contract[ENTRIES]);
    Contract::counts("k", &k, 1);
    std::vector<int64_t> sums(static_cast<size_t>(n_classes)), infinite(static_cast<size_t>(n_classes));
    {
        nb::gil_scoped_release release;
        TB_BEST(add_log_counts)(tokens.data(), classes.data(), counts.data(), contract[ENTRIES], k, complement, sums,
                                infinite);
    }
    const size_t n = size_t(n_classes);
    return nb::make_tuple(to_numpy(std::move(sums), {n}), to_numpy(std::move(infinite), {n}));
}

} // namespace

void register_log_counts(nb::module_ &m) { define_kernel(m, "sum_log_counts", &sum_log_counts); }

} // namespace tb

#else
#include "base/tile.h"
#include "base/logexp.h"

namespace tb::TB_ISA {
namespace {

// Values wait until there is a block of them, each with the class that its logarithm is added to.
class LogSums {
  public:
    static constexpr int64_t TOKEN = -1; // in place of a class: what all cells of a token are relative to

    LogSums(std::vector<int64_t> &sums, std::vector<int64_t> &infinite) : sums_(sums), infinite_(infinite) {}

    void push(double value, int64_t code) {
        if (n_ == VALUE_BLOCK) flush();
        values_[n_] = value, codes_[n_++] = code;
    }
    void flush() {
        alignas(64) double logs[VALUE_BLOCK];
        for (int64_t i = n_; i % LANES; ++i) values_[i] = 1.0;
        for (int64_t i = 0; i < n_; i += LANES) store(logs + i, lanes_log(load<Lanes>(values_ + i)));
        for (int64_t i = 0; i < n_; ++i) {
            const bool usual = values_[i] >= 0x1p-1022 && values_[i] <= 0x1.fffffffffffffp+1023;
            const double log = usual ? logs[i] : std::log(values_[i]);
            const int64_t units = std::isinf(log) ? 0 : std::llrint(log * 0x1p28);
            if (codes_[i] == TOKEN) every_ += token_ = units;
            else sums_[size_t(codes_[i])] += units - token_, infinite_[size_t(codes_[i])] += std::isinf(log);
        }
        n_ = 0;
    }
    void end() {
        flush();
        for (int64_t &sum : sums_) sum += every_;
    }

  private:
    static constexpr int64_t VALUE_BLOCK = 512;
    std::vector<int64_t> &sums_, &infinite_;
    alignas(64) double values_[VALUE_BLOCK];
    int64_t codes_[VALUE_BLOCK], n_ = 0, token_ = 0, every_ = 0;
};

inline void add_log_counts(const int64_t *tokens, const int64_t *classes, const double *counts, int64_t n, double k,
                           bool complement, std::vector<int64_t> &sums, std::vector<int64_t> &infinite) {
    LogSums logs(sums, infinite);
    for (int64_t i = 0, end = 0; complement && i < n; i = end) {
        double whole = 0;
        for (end = i; end < n && tokens[end] == tokens[i]; ++end) whole += counts[end];
        logs.push(whole + k, LogSums::TOKEN);
        for (int64_t j = i; j < end; ++j) logs.push(std::max(whole - counts[j], 0.0) + k, classes[j]);
    }
    for (int64_t i = 0; !complement && i < n; ++i) logs.push(counts[i] + k, classes[i]);
    logs.end();
}

} // namespace
} // namespace tb::TB_ISA
#endif
