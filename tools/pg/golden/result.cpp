// Relative errors and the line of a case.
#include "tools/pg/golden/result.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pg::tools {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

double relative_error(const std::string& name, const Tensor& got, const Tensor& want) {
  check(got.shape() == want.shape(), "golden: {}: expected shape {}, got {}", name, want.shape(), got.shape());
  const std::vector<double> g = got.to_vector(), w = want.to_vector();
  if (!is_floating(want.dtype())) return g == w ? 0 : kInfinite;
  double largest = 0;  // scale of the squared values, so that neither huge nor denormal values overflow or underflow
  for (double x : w)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (largest == 0) largest = 1;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::isfinite(w[i]) && std::isfinite(g[i])) {
      difference += std::pow((g[i] - w[i]) / largest, 2);
      norm += std::pow(w[i] / largest, 2);
    } else if (g[i] != w[i] && !(std::isnan(g[i]) && std::isnan(w[i]))) {
      return kInfinite;
    }
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

double default_tolerance(DType dtype) { return dtype == f64 ? 1e-10 : dtype == f32 ? 1e-5 : 0; }

bool GoldenResult::ok() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const GoldenError& t) { return t.ok(); });
}

std::string GoldenResult::to_string() const {
  std::string line = fmt::format("{:<6} {:<40}", ok() ? "ok" : "FAILED", name);
  for (const GoldenError& t : tensors)
    line += t.ok() ? fmt::format("  {} {:.1e}", t.name, t.error)
                   : fmt::format("  {} {:.1e} > {:.0e}", t.name, t.error, t.tolerance);
  return line;
}

}  // namespace pg::tools
