#pragma once
// Rows of a batch for an update: mini-batches, micro-batches, and what their losses are divided by.
#include <vector>

#include "rl/methods/batch.h"
#include "rl/policy_loss.h"

namespace pg::rl {

// 0 … B - 1.
std::vector<size_t> all_rows(const Batch& batch);
// Splits rows of the batch into micro-batches of `size` (0: one). Responses to one prompt are sorted together, so that
// it is computed once for them.
std::vector<std::vector<size_t>> micro_batches(const Batch& batch, std::vector<size_t> rows, int64_t size);
// The rows that have an advantage; the first row if none has. batch.advantage is f64.
std::vector<size_t> rows_with_advantage(const Batch& batch, const std::vector<size_t>& rows);
// The divisors of the losses of these rows; a response has at most max_length tokens.
Denominators denominators_of(const Batch& batch, const std::vector<size_t>& rows, int64_t max_length);

}  // namespace pg::rl
