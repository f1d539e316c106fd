// Reductions and indexing.
#include <cmath>
#include <limits>

#include "tensor/plain/access.h"

namespace pg::plain {

// NaN counts as the largest.
void reduce(Reduce op, const View& y, const View& x, double divisor, double beta) {
  const bool sum = op == Reduce::sum;
  Sums totals(y, sum ? 0 : -std::numeric_limits<double>::infinity());
  each(x.shape, [&](const Dims& i) {
    Dims to = i;
    for (int d = 0; d < i.rank(); ++d) to[d] = y.shape[d] == 1 ? 0 : i[d];
    const double value = of(x, i);
    double& total = totals(to);
    if (sum) {
      total += value;
    } else if (std::isnan(value) || value > total) {
      total = value;
    }
  });
  sum ? totals.write(beta, divisor) : totals.write(0);
}

void cumsum(const View& y, const View& x, int dim, bool reverse, double beta) {
  Shape lines = x.shape;
  lines[dim] = std::min<int64_t>(lines[dim], 1);
  each(lines, [&](Dims i) {
    double sum = 0;
    for (int64_t n = 0; n < x.shape[dim]; ++n) {
      i[dim] = reverse ? x.shape[dim] - 1 - n : n;
      sum += of(x, i);
      add(y, at(y, i), sum, beta);
    }
  });
}

// The first of equal maxima; NaN counts as the largest.
void argmax(const View& index, const View& x) {
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    int64_t best = 0;
    for (int64_t c = 1; c < x.shape[1] && !std::isnan(of(x, r, best)); ++c) {
      if (std::isnan(of(x, r, c)) || of(x, r, c) > of(x, r, best)) best = c;
    }
    put(index, r, static_cast<double>(best));
  }
}

void sum_of_squares(const View& y, const View& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += get(x, i) * get(x, i);
  put(y, 0, sum);
}

void gather(const View& y, const View& x, const View& index, int dim) {
  each(y.shape, [&](const Dims& i) {
    Dims from = i;
    from[dim] = static_cast<int64_t>(of(index, i));
    put(y, at(y, i), of(x, from));
  });
}

void scatter_add(const View& y, const View& index, const View& x, int dim) {
  Sums sums(y);
  each(x.shape, [&](const Dims& i) {
    Dims to = i;
    to[dim] = static_cast<int64_t>(of(index, i));
    sums(to) += of(x, i);
  });
  sums.write(1);
}

void embedding(const View& y, const View& w, const View& ids) {
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    const auto id = static_cast<int64_t>(of_row(ids, r));
    for (int64_t c = 0; c < y.shape[1]; ++c) put(y, at(y, r, c), of(w, id, c));
  }
}

void embedding_backward(const View& dw, const View& dy, const View& ids, double beta) {
  Sums sums(dw);
  for (int64_t r = 0; r < dy.shape[0]; ++r) {
    const auto id = static_cast<int64_t>(of_row(ids, r));
    for (int64_t c = 0; c < dy.shape[1]; ++c) sums(id, c) += of(dy, r, c);
  }
  sums.write(beta);
}

}  // namespace pg::plain
