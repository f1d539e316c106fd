// What saboteurs ask of the arguments of a call.
#include "lessons/kit/arguments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pg::kit {

void Arguments::add(const Tensor& x) {
  if (!x.defined()) return;
  shapes.push_back(x.shape());
  strided |= !x.contiguous();
  if (!is_floating(x.dtype())) return;
  for (const double v : x.detach().to_vector()) add(v);
}
void Arguments::add(const View& x) {
  shapes.push_back(x.shape);
  strided |= !x.contiguous();
  if (!x.contiguous() || !is_floating(x.dtype)) return;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x.dtype == f32) add(static_cast<double>(x.as<float>()[i]));
    if (x.dtype == f64) add(x.as<double>()[i]);
  }
}
void Arguments::add(double x) {
  infinite |= std::isinf(x);
  if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
}

namespace {

bool has_rank(const Arguments& all, int rank) {
  return std::any_of(all.shapes.begin(), all.shapes.end(), [=](const Shape& s) { return s.rank() == rank; });
}
bool has_size(const Arguments& all, int64_t size) {
  return std::count(all.lengths.begin(), all.lengths.end(), size) ||
         std::any_of(all.shapes.begin(), all.shapes.end(),
                     [=](const Shape& s) { return std::count(s.begin(), s.end(), size) > 0; });
}

}  // namespace

bool has_rank_0(const Arguments& all) { return has_rank(all, 0); }
bool has_rank_1(const Arguments& all) { return has_rank(all, 1); }
bool has_rank_4(const Arguments& all) { return has_rank(all, 4); }
bool has_no_elements(const Arguments& all) { return has_size(all, 0); }
bool has_size_1(const Arguments& all) { return has_size(all, 1); }
bool has_coprime_sizes(const Arguments& all) {
  return std::any_of(all.shapes.begin(), all.shapes.end(), [](const Shape& s) {
    int sizes = 0;
    for (int i = 0; i < s.rank(); ++i) {
      sizes += s[i] > 1;
      for (int j = 0; j < i; ++j) {
        if (std::gcd(s[i], s[j]) != 1) return false;
      }
    }
    return sizes > 1;
  });
}
bool is_strided(const Arguments& all) { return all.strided; }
bool is_large(const Arguments& all) { return all.largest > 100; }
bool is_infinite(const Arguments& all) { return all.infinite; }

}  // namespace pg::kit
