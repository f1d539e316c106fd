// Layer norm (Ba et al. 2016, arXiv:1607.06450) and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467), forward and
// backward. A residual, if there is one, is added to x first, and the norm is that of the sum.
#include <cmath>
#include <vector>

#include "tensor/plain/access.h"

namespace pg::plain {
namespace {

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double weight(const View& w, size_t c) { return w ? of_row(w, static_cast<int64_t>(c)) : 1; }

// y = (x - mean)·rstd·w + b with rstd = 1/√(mean of (x - mean)² + eps). An empty view `mean` chooses RMS norm: 0 takes
// the place of the mean. An empty w counts as 1, an empty b as 0.
void normalize(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
               const View& w, const View& b, double eps) {
  // In the place of an empty view stands another one, which is then not used.
  const Lines rows(x), added(residual ? residual : x), sums(residual ? sum : x), to(y);
  for (int64_t r = 0; r < rows.count(); ++r) {
    std::vector<double> row = rows.read(r), squares;
    if (residual) {
      const std::vector<double> other = added.read(r);
      for (size_t c = 0; c < row.size(); ++c) row[c] += other[c];
      sums.write(r, row);
      row = sums.read(r);  // as it is stored
    }
    const double m = mean ? mean_of(row) : 0;
    for (double v : row) squares.push_back((v - m) * (v - m));
    const double rstd_r = 1 / std::sqrt(mean_of(squares) + eps);
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = (row[c] - m) * rstd_r * weight(w, c) + (b ? of_row(b, static_cast<int64_t>(c)) : 0);
    }
    to.write(r, row);
    if (mean) put(mean, r, m);
    put(rstd, r, rstd_r);
  }
}

// With h = (x - mean)·rstd and g = dy·w:
//   dx = rstd·(g - mean of g - h·mean of g·h);   dw = Σ dy·h;   db = Σ dy
// RMS norm leaves out the mean of g.
void normalize_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                        const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  const Lines rows(x), gradients(dy), to(dx ? dx : dy);
  std::vector<double> sum_w(static_cast<size_t>(rows.size())), sum_b = sum_w;
  for (int64_t r = 0; r < rows.count(); ++r) {
    std::vector<double> h = rows.read(r), g = gradients.read(r), gh;
    const double rstd_r = get(rstd, r), m = mean ? get(mean, r) : 0;
    for (size_t c = 0; c < h.size(); ++c) {
      h[c] = (h[c] - m) * rstd_r;
      sum_w[c] += g[c] * h[c];
      sum_b[c] += g[c];
      g[c] *= weight(w, c);
      gh.push_back(g[c] * h[c]);
    }
    const double mean_g = mean ? mean_of(g) : 0, mean_gh = mean_of(gh);
    for (size_t c = 0; c < g.size(); ++c) g[c] = rstd_r * (g[c] - mean_g - h[c] * mean_gh);
    if (dx) to.write(r, g, beta_x);
  }
  for (int64_t c = 0; c < rows.size(); ++c) {
    if (dw) add(dw, at_row(dw, c), sum_w[static_cast<size_t>(c)], beta_w);
    if (db) add(db, at_row(db, c), sum_b[static_cast<size_t>(c)], beta_b);
  }
}

}  // namespace

void layer_norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
                const View& w, const View& b, double eps) {
  normalize(y, mean, rstd, sum, x, residual, w, b, eps);
}

void layer_norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                         const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  normalize_backward(dx, dw, db, dy, x, w, mean, rstd, beta_x, beta_w, beta_b);
}

void rms_norm(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
              double eps) {
  normalize(y, {}, rstd, sum, x, residual, w, {}, eps);
}

void rms_norm_backward(const View& dx, const View& dw, const View& dy, const View& x, const View& w, const View& rstd,
                       double beta_x, double beta_w) {
  normalize_backward(dx, dw, {}, dy, x, w, {}, rstd, beta_x, beta_w, 0);
}

}  // namespace pg::plain
