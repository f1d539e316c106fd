// Softmax, and sampling from it. A row of -inf alone has no softmax: NaN.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/plain/access.h"
#include "tensor/sample.h"

namespace pg::plain {

// p[c] = e^(x[c] - max) / Σ e^(x - max); log p[c] = x[c] - max - ln Σ e^(x - max)
void softmax(const View& y, const View& x, bool log) {
  const Lines from(x), to(y);
  for (int64_t r = 0; r < from.count(); ++r) {
    std::vector<double> row = from.read(r);
    const double max = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double z : row) sum += std::exp(z - max);
    for (double& z : row) z = log ? z - max - std::log(sum) : std::exp(z - max) / sum;
    to.write(r, row);
  }
}

// softmax: dx = p·(dy - Σ dy·p). log softmax: dx = dy - p·Σ dy.
void softmax_backward(const View& dx, const View& dy, const View& y, bool log, double beta) {
  const Lines gradients(dy), results(y), to(dx);
  for (int64_t r = 0; r < results.count(); ++r) {
    std::vector<double> g = gradients.read(r);
    const std::vector<double> p = results.read(r);
    double sum = 0;
    for (size_t c = 0; c < g.size(); ++c) sum += log ? g[c] : g[c] * p[c];
    for (size_t c = 0; c < g.size(); ++c) g[c] = log ? g[c] - std::exp(p[c]) * sum : p[c] * (g[c] - sum);
    to.write(r, g, beta);
  }
}

void sample(const View& ids, const View& logits, const View& u, const SampleOptions& options) {
  const Lines rows(logits);
  for (int64_t r = 0; r < rows.count(); ++r) {
    const std::vector<double> row = rows.read(r);
    const bool nan = std::any_of(row.begin(), row.end(), [](double z) { return std::isnan(z); });
    const bool some = !nan && std::isfinite(*std::max_element(row.begin(), row.end()));
    put(ids, r, some ? sample_token(filtered_probs(row, options), get(u, r)) : 0);
  }
}

}  // namespace pg::plain
