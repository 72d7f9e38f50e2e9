// fit_temperature: the temperature of scores and the offsets of classes with the least log loss, by Newton's method.
//
// Rows are taken in tiles that stay in the cache. Sums over rows have four lanes whatever the instruction set, so that
// all give the same bits.
#ifndef TB_ISA
#include "base/tile_sizes.h"

#define TB_FILE "fitting/fit_temperature.cpp"
#include "base/isa.h"

namespace tb {
namespace {

// The loss with its shrinkage at a temperature and offsets, its slopes and the upper half of its curvature.
struct NewtonTerms {
    double loss = 0;
    std::vector<double> slopes, curvature;

    // The step of Newton's method, by Cholesky's decomposition; false if there is none, as where sums overflow.
    bool step(std::vector<double> &to) {
        const size_t n = slopes.size();
        double *upper = curvature.data(); // becomes R with R'R = curvature
        for (size_t i = 0; i < n; ++i) {
            for (size_t k = 0; k < i; ++k)
                for (size_t j = i; j < n; ++j) upper[i * n + j] -= upper[k * n + i] * upper[k * n + j];
            if (!(upper[i * n + i] > 0)) return false;
            const double root = std::sqrt(upper[i * n + i]);
            for (size_t j = i; j < n; ++j) upper[i * n + j] /= root;
        }
        for (size_t i = 0; i < n; ++i) {
            to[i] = -slopes[i];
            for (size_t k = 0; k < i; ++k) to[i] -= upper[k * n + i] * to[k];
            to[i] /= upper[i * n + i];
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t j = i + 1; j < n; ++j) to[i] -= upper[i * n + j] * to[j];
            to[i] /= upper[i * n + i];
        }
        return true;
    }
};

auto fit_temperature(Matrix<double> scores, Matrix<double> base, Vector<int32_t> codes, Vector<double> row_weights,
                     double weak, bool by_class, int64_t n_steps, int64_t n_halvings, double enough) {
    Contract contract;
    contract.array("scores", scores, {CLASSES, ROWS});
    contract.array("base", base, {CLASSES, ROWS});
    contract.array("codes", codes, {ROWS});
    contract.array("row_weights", row_weights, {ROWS});
    contract.codes(codes.data(), false);
    const int64_t n_classes = contract[CLASSES], n_rows = contract[ROWS];
    Contract::finite("scores", scores.data(), n_classes * n_rows);
    Contract::finite("base", base.data(), n_classes * n_rows);
    Contract::counts("row_weights", row_weights.data(), n_rows);
    Contract::counts("weak", &weak, 1);
    Contract::up_to("n_steps", n_steps, 1000);
    Contract::up_to("n_halvings", n_halvings, 1000);
    Contract::counts("enough", &enough, 1);
    const size_t n = 1 + (by_class ? size_t(n_classes) : 0);
    std::vector<double> at(1 + size_t(n_classes)), next = at, step(n);
    {
        nb::gil_scoped_release release;
        const auto add_terms = TB_BEST(add_terms);
        const auto evaluate = [&](const std::vector<double> &place, NewtonTerms &terms) {
            terms.slopes.assign(n, 0.0), terms.curvature.assign(n * n, 0.0);
            terms.loss =
                add_terms(scores.data(), base.data(), codes.data(), row_weights.data(), place[0], place.data() + 1,
                          n_classes, n_rows, by_class, terms.slopes.data(), terms.curvature.data());
            for (size_t i = 0; i < n; ++i) {
                const double strength = i ? 1.0 : weak;
                terms.loss += 0.5 * strength * place[i] * place[i];
                terms.slopes[i] += strength * place[i], terms.curvature[i * n + i] += strength;
            }
        };
        NewtonTerms now, then;
        at[0] = 1.0;
        evaluate(at, now);
        for (int64_t s = 0; s < n_steps && now.step(step); ++s) {
            bool is_better = false;
            double share = 1.0;
            for (int64_t h = 0; h < n_halvings && !is_better; ++h, share *= 0.5) {
                for (size_t i = 0; i < n; ++i) next[i] = at[i] + share * step[i];
                next[0] = std::max(next[0], 1e-6);
                evaluate(next, then);
                is_better = then.loss < now.loss;
            }
            if (!is_better) break;
            const double gain = now.loss - then.loss;
            std::swap(at, next), std::swap(now, then);
            if (gain < enough * double(n_rows)) break;
        }
    }
    const size_t size = at.size();
    return to_numpy(std::move(at), {size});
}

} // namespace

void register_fit_temperature(nb::module_ &m) { define_kernel(m, "fit_temperature", &fit_temperature); }

} // namespace tb

#else
#include "base/tile.h"
#include "base/logexp.h"

namespace tb::TB_ISA {
namespace {

constexpr int64_t TERM_TILE = 128; // rows whose probabilities stay in the first cache

TB_INLINE double tile_product(const double *a, const double *b) {
    f64x4 lanes{}, more{};
    for (int64_t i = 0; i < TERM_TILE; i += 8)
        lanes += load(a + i) * load(b + i), more += load(a + i + 4) * load(b + i + 4);
    lanes += more;
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

TB_INLINE double tile_sum(const double *a) {
    f64x4 lanes{};
    for (int64_t i = 0; i < TERM_TILE; i += 4) lanes += load(a + i);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Fills the upper half of the curvature. Rows behind the last have probabilities and weights of 0.
inline double add_terms(const double *scores, const double *base, const int32_t *codes, const double *row_weights,
                        double temperature, const double *offsets, int64_t n_classes, int64_t n_rows, bool by_class,
                        double *slopes, double *curvature) {
    // Probabilities, and the same times the weights of the rows.
    std::vector<double> tile(size_t(2 * n_classes * TERM_TILE));
    alignas(64) double top[TERM_TILE], whole[TERM_TILE], own[TERM_TILE], weight[TERM_TILE], mean[TERM_TILE];
    alignas(64) double square[TERM_TILE];
    const int64_t size = 1 + n_classes;
    double loss = 0;
    for (int64_t row = 0; row < n_rows; row += TERM_TILE) {
        const int64_t n = std::min(TERM_TILE, n_rows - row);
        std::fill(top, top + TERM_TILE, -std::numeric_limits<double>::infinity());
        std::fill(whole, whole + TERM_TILE, 0.0), std::fill(weight, weight + TERM_TILE, 0.0);
        std::fill(mean, mean + TERM_TILE, 0.0), std::fill(square, square + TERM_TILE, 0.0);
        std::copy_n(row_weights + row, n, weight);
        for (int64_t c = 0; c < n_classes; ++c) {
            double *joint = tile.data() + c * TERM_TILE;
            const double *prior = base + c * n_rows + row, *score = scores + c * n_rows + row;
            for (int64_t i = 0; i < n; ++i) joint[i] = (prior[i] + offsets[c]) + temperature * score[i];
            std::fill(joint + n, joint + TERM_TILE, 0.0);
            for (int64_t i = 0; i < TERM_TILE; ++i) top[i] = std::max(top[i], joint[i]);
        }
        for (int64_t i = 0; i < n; ++i) own[i] = tile[codes[row + i] * TERM_TILE + i] - top[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            double *p = tile.data() + c * TERM_TILE;
            for (int64_t i = 0; i < TERM_TILE; i += 4) {
                const f64x4 e = exp4(load(p + i) - load(top + i));
                store(p + i, e);
                store(whole + i, load(whole + i) + e);
            }
        }
        for (int64_t i = 0; i < TERM_TILE; i += 4) store(top + i, log4(load(whole + i)));
        for (int64_t i = 0; i < n; ++i) loss += weight[i] * (top[i] - own[i]);
        for (int64_t i = 0; i < TERM_TILE; ++i) whole[i] = 1.0 / whole[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            double *p = tile.data() + c * TERM_TILE, *weighted = tile.data() + (n_classes + c) * TERM_TILE;
            const double *score = scores + c * n_rows + row;
            for (int64_t i = 0; i < TERM_TILE; ++i) p[i] *= whole[i], weighted[i] = p[i] * weight[i];
            for (int64_t i = 0; i < n; ++i) mean[i] += p[i] * score[i], square[i] += p[i] * score[i] * score[i];
        }
        for (int64_t i = 0; i < n; ++i) {
            slopes[0] += weight[i] * (mean[i] - scores[codes[row + i] * n_rows + row + i]);
            curvature[0] += weight[i] * (square[i] - mean[i] * mean[i]);
        }
        if (!by_class) continue;
        for (int64_t i = 0; i < n; ++i) slopes[1 + codes[row + i]] -= weight[i];
        for (int64_t c = 0; c < n_classes; ++c) {
            const double *weighted = tile.data() + (n_classes + c) * TERM_TILE, *score = scores + c * n_rows + row;
            const double sum = tile_sum(weighted);
            slopes[1 + c] += sum;
            double *line = curvature + (1 + c) * size;
            line[1 + c] += sum;
            for (int64_t d = c; d < n_classes; ++d) line[1 + d] -= tile_product(weighted, tile.data() + d * TERM_TILE);
            for (int64_t i = 0; i < TERM_TILE; ++i) own[i] = i < n ? weighted[i] * (score[i] - mean[i]) : 0.0;
            curvature[1 + c] += tile_sum(own);
        }
    }
    return loss;
}

} // namespace
} // namespace tb::TB_ISA
#endif
