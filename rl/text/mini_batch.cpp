// Rows of a batch for an update.
#include <algorithm>
#include <numeric>

#include "rl/text/update.h"

namespace pg::rl {

std::vector<std::vector<size_t>> micro_batches(const Batch& batch, std::vector<size_t> rows, int64_t size) {
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    const auto x = batch.prompt(a), y = batch.prompt(b);
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  });
  const size_t n = size == 0 ? rows.size() : static_cast<size_t>(size);
  std::vector<std::vector<size_t>> pieces;
  for (size_t begin = 0; begin < rows.size(); begin += n) {
    pieces.emplace_back(rows.begin() + static_cast<int64_t>(begin),
                        rows.begin() + static_cast<int64_t>(std::min(rows.size(), begin + n)));
  }
  return pieces;
}

std::vector<size_t> all_rows(const Batch& batch) {
  std::vector<size_t> rows(batch.prompts.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  return rows;
}

Denominators denominators_of(const Batch& batch, const std::vector<size_t>& rows, int64_t max_length) {
  const auto mask = batch.mask.data<const uint8_t>();
  const auto columns = static_cast<size_t>(batch.mask.size(1));
  Denominators d{.max_length = static_cast<double>(max_length)};
  for (const size_t row : rows) {
    const auto of_row = mask.subspan(row * columns, columns);
    const auto length = static_cast<double>(std::count(of_row.begin(), of_row.end(), uint8_t{1}));
    d.tokens += length;
    d.sequences += length > 0;
  }
  return d;
}

std::vector<size_t> rows_with_advantage(const Batch& batch, const std::vector<size_t>& rows) {
  const auto advantage = batch.advantage.data<const double>();
  const auto columns = static_cast<size_t>(batch.advantage.size(1));
  std::vector<size_t> kept;
  for (const size_t row : rows) {
    const auto of_row = advantage.subspan(row * columns, columns);
    if (std::any_of(of_row.begin(), of_row.end(), [](double a) { return a != 0; })) kept.push_back(row);
  }
  if (kept.empty()) kept.assign(rows.begin(), rows.begin() + 1);
  return kept;
}

}  // namespace pg::rl
