// Matrix products: c[m, n] = Σ over k of a[m, k]·b[k, n].
#include <vector>

#include "tensor/functors.h"
#include "tensor/plain/access.h"
#include "tensor/plain/real.h"

namespace pg::plain {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// The matrices [..., K, N] with their last two dimensions exchanged.
View transposed(View x) {
  std::swap(x.shape[x.rank() - 1], x.shape[x.rank() - 2]);
  std::swap(x.strides[x.rank() - 1], x.strides[x.rank() - 2]);
  return x;
}

}  // namespace

void matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  const int64_t m = c.shape[c.rank() - 2], n = c.shape.back();
  const Lines rows(a), columns(transposed(b)), results(c), kept(args.pre_activation ? args.pre_activation : c);
  std::vector<std::vector<double>> column;
  for (int64_t r = 0; r < results.count(); ++r) {
    if (r % m == 0) {  // the first row of a matrix
      column.clear();
      for (int64_t j = 0; j < n; ++j) column.push_back(columns.read(r / m * n + j));
    }
    const std::vector<double> row = rows.read(r);
    for (int64_t j = 0; j < n; ++j) {
      double sum = dot(row, column[static_cast<size_t>(j)]);
      if (args.bias) sum += of_row(args.bias, j);
      if (args.activation == Activation::gelu_tanh) {
        if (args.pre_activation) put(args.pre_activation, kept.at(r, j), sum);
        sum = gelu_tanh(sum).v;
      } else if (args.activation == Activation::gelu_tanh_backward) {
        sum = elementwise::gelu_tanh_gradient(Real(sum), Real(get(args.pre_activation, kept.at(r, j)))).v;
      }
      add(c, results.at(r, j), sum, args.beta);
    }
  }
  for (int64_t r = 0; args.row_sums && r < a.shape[0]; ++r) {
    double sum = 0;
    for (double x : rows.read(r)) sum += x;
    add(args.row_sums, at_row(args.row_sums, r), sum, args.row_sums_beta);
  }
}

void norm_matmul(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                 const NormMatmulArgs& args) {
  if (args.rms) {
    rms_norm(args.normed, args.rstd, sum, x, residual, args.norm_weight, args.eps);
  } else {
    layer_norm(args.normed, args.mean, args.rstd, sum, x, residual, args.norm_weight, args.norm_bias, args.eps);
  }
  matmul(c, args.normed, b, {.bias = args.bias, .activation = args.activation});
}

// Byte (p, k, j) of w is the int8 of output 16p + j and input k.
void int8_matmul(const View& c, const View& x, const View& w, const View& scale, const View& bias) {
  const int64_t inputs = x.shape[1];
  const auto* bytes = w.as<const int8_t>();
  each(c.shape, [&](const Dims& i) {
    const int64_t row = i[0], n = i[1];
    double sum = 0;
    for (int64_t k = 0; k < inputs; ++k) sum += of(x, row, k) * bytes[(n / 16 * inputs + k) * 16 + n % 16];
    put(c, at(c, i), sum * of(scale, n) + (bias ? of(bias, n) : 0));
  });
}

}  // namespace pg::plain
