// What saboteurs ask of the arguments of a call.
#include "lessons/kit/arguments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pg::kit {

namespace {

bool has_row_of_zeros(const std::vector<double>& values, int64_t columns) {
  const auto zero = [](double v) { return v == 0; };
  for (auto row = values.begin(); row != values.end(); row += columns) {
    if (std::all_of(row, row + columns, zero)) return true;
  }
  return false;
}

}  // namespace

void Arguments::add(const Tensor& x) {
  if (!x.defined()) return;
  shapes.push_back(x.shape());
  strided |= !x.contiguous();
  if (x.rank() >= 2 && (x.dtype() == u8 || is_floating(x.dtype()))) {
    masks |= x.dtype() == u8;
    (x.dtype() == u8 ? masked_row : zero_row) |= has_row_of_zeros(x.detach().to_vector(), x.shape().back());
  }
  if (!is_floating(x.dtype())) return;
  for (const double v : x.detach().to_vector()) add(v);
}
void Arguments::add(std::string_view text) {
  lengths.push_back(static_cast<int64_t>(text.size()));
  white_space |= text.find_first_of("\n\t") != std::string_view::npos;
}
void Arguments::add(const View& x) {
  shapes.push_back(x.shape);
  strided |= !x.contiguous();
  if (!x.contiguous() || !is_floating(x.dtype)) return;
  std::vector<double> values;
  for (int64_t i = 0; i < x.numel(); ++i)
    values.push_back(x.dtype == f32 ? static_cast<double>(x.as<float>()[i]) : x.as<double>()[i]);
  for (const double v : values) add(v);
  if (x.rank() >= 2) zero_row |= has_row_of_zeros(values, x.shape.back());
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
bool is_extreme(const Arguments& all) { return all.largest > 50; }
bool has_zero_row(const Arguments& all) { return all.masks ? all.masked_row : all.zero_row; }
bool has_white_space(const Arguments& all) { return all.white_space; }
bool has_count_over_24_bits(const Arguments& all) { return all.largest_count > int64_t{1} << 24; }
bool has_count_over_32_bits(const Arguments& all) { return all.largest_count > int64_t{1} << 32; }

}  // namespace pg::kit
