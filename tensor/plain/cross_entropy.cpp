// Cross-entropy, and the log-probability and entropy of given tokens, row by row.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tensor/plain/access.h"

namespace pg::plain {
namespace {

struct Probabilities {
  double max, sum;  // Σ e^(x - max)
  std::vector<double> log_p, p;
  explicit Probabilities(const std::vector<double>& x) : max(*std::max_element(x.begin(), x.end())), sum(0) {
    for (double z : x) sum += std::exp(z - max);
    for (double z : x) {
      log_p.push_back(z - max - std::log(sum));
      p.push_back(std::exp(log_p.back()));
    }
  }
  void keep(const View& stats, int64_t r) const {
    put(stats, 2 * r, max);
    put(stats, 2 * r + 1, sum);
  }
  // Σ -p·ln p, in nats
  double entropy() const {
    double h = 0;
    for (size_t c = 0; c < p.size(); ++c) h -= p[c] == 0 ? 0 : p[c] * log_p[c];
    return h;
  }
};

// What the loss multiplies -ln p[c] by, with smoothing s, V classes and class weights w:
//   (1 - s)·w[target]·[c = target] + s/V·w[c]
std::vector<double> factors(const CrossEntropyArgs& args, int64_t classes, int64_t target) {
  std::vector<double> f;
  for (int64_t c = 0; c < classes; ++c) {
    const double w = args.weight ? of_row(args.weight, c) : 1, s = args.label_smoothing;
    f.push_back((c == target ? (1 - s) * w : 0) + s / static_cast<double>(classes) * w);
  }
  return f;
}

}  // namespace

// loss = Σ factors·(-ln p)
void cross_entropy(const View& loss, const View& stats, const View& logits, const View& targets,
                   const CrossEntropyArgs& args) {
  const Lines rows(logits);
  for (int64_t r = 0; r < rows.count(); ++r) {
    const auto target = static_cast<int64_t>(of_row(targets, r));
    double sum = 0;
    if (target == args.ignore_index) {
      put(stats, 2 * r, 0);
      put(stats, 2 * r + 1, 0);
    } else {
      const Probabilities row(rows.read(r));
      const std::vector<double> f = factors(args, rows.size(), target);
      for (size_t c = 0; c < f.size(); ++c) sum -= f[c] == 0 ? 0 : f[c] * row.log_p[c];
      row.keep(stats, r);
    }
    put(loss, at_row(loss, r), sum);
  }
}

// dx[c] = dloss·(p[c]·Σ factors - factors[c])
void cross_entropy_backward(const View& dlogits, const View& dloss, const View& logits, const View&,
                            const View& targets, const CrossEntropyArgs& args, double beta) {
  const Lines rows(logits), to(dlogits);
  for (int64_t r = 0; r < rows.count(); ++r) {
    const auto target = static_cast<int64_t>(of_row(targets, r));
    std::vector<double> g(static_cast<size_t>(rows.size()));
    if (target != args.ignore_index) {
      const Probabilities row(rows.read(r));
      const std::vector<double> f = factors(args, rows.size(), target);
      const double all = std::accumulate(f.begin(), f.end(), 0.0), d = of_row(dloss, r);
      for (size_t c = 0; c < g.size(); ++c) g[c] = d * (row.p[c] * all - f[c]);
    }
    to.write(r, g, beta);
  }
}

void cross_entropy_with_gradient(const View& loss, const View& logits, const View& dloss, const View& targets,
                                 const CrossEntropyArgs& args) {
  std::vector<double> unused(static_cast<size_t>(2 * loss.numel()));
  const View stats{unused.data(), f64, {loss.numel(), 2}, {2, 1}};
  cross_entropy(loss, stats, logits, targets, args);
  cross_entropy_backward(logits, dloss, logits, stats, targets, args, 0);
}

void rescale_rows(const View& x, const View& now, const View& before) {
  const Lines rows(x);
  for (int64_t r = 0; r < rows.count(); ++r) {
    if (of_row(now, r) == of_row(before, r)) continue;
    std::vector<double> row = rows.read(r);
    for (double& z : row) z *= of_row(now, r) / of_row(before, r);
    rows.write(r, row);
  }
}

void token_log_prob(const View& log_prob, const View& entropy, const View& stats, const View& logits, const View& ids) {
  const Lines rows(logits);
  for (int64_t r = 0; r < rows.count(); ++r) {
    const Probabilities row(rows.read(r));
    put(log_prob, at_row(log_prob, r), row.log_p[static_cast<size_t>(of_row(ids, r))]);
    put(entropy, at_row(entropy, r), row.entropy());
    row.keep(stats, r);
  }
}

// dx[c] = dlog_prob·([c = id] - p[c]) - dentropy·p[c]·(ln p[c] + H)
void token_log_prob_backward(const View& dlogits, const View& dlog_prob, const View& dentropy, const View& logits,
                             const View&, const View&, const View& ids, double beta) {
  const Lines rows(logits), to(dlogits);
  for (int64_t r = 0; r < rows.count(); ++r) {
    const Probabilities row(rows.read(r));
    const double d = dlog_prob ? of_row(dlog_prob, r) : 0, dh = dentropy ? of_row(dentropy, r) : 0;
    const auto id = static_cast<size_t>(of_row(ids, r));
    const double entropy = row.entropy();
    std::vector<double> g(row.p.size());
    for (size_t c = 0; c < g.size(); ++c) {
      const double p = row.p[c];
      g[c] = d * ((c == id ? 1 : 0) - p) - (p == 0 ? 0 : dh * p * (row.log_p[c] + entropy));
    }
    to.write(r, g, beta);
  }
}

}  // namespace pg::plain
