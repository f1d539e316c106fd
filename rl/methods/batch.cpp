// Batches of responses: the token tensors of a rollout, and parts of a batch.
#include "rl/methods/batch.h"

#include <algorithm>
#include <map>

#include "autograd/ops.h"
#include "tensor/base/error.h"

namespace pg::rl {

namespace {

size_t whole(int64_t x) { return static_cast<size_t>(x); }

Tensor vector_tensor(const std::vector<int32_t>& x) { return Tensor::from(x, {std::ssize(x)}); }

// What follows from ids, targets, mask, prompts and lengths: indices, tokens and the packed ids.
void index_tokens(TokenRows& rows) {
  const size_t columns = whole(rows.ids.size(1));
  const auto ids = rows.ids.data<const int32_t>(), targets = rows.targets.data<const int32_t>();
  const auto mask = rows.mask.data<const uint8_t>();
  std::vector<int32_t> indices, tokens;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) continue;
    indices.push_back(static_cast<int32_t>(i));
    tokens.push_back(targets[i]);
  }
  rows.indices = vector_tensor(indices);
  rows.tokens = vector_tensor(tokens);

  // A trie of the rows, so that a shared prefix is kept once: next[{node, id}] is the child of that id.
  std::vector<int32_t> kept, positions, grid, from;
  std::map<std::pair<int32_t, int32_t>, int32_t> next;
  for (size_t b = 0; b < rows.prompts.size(); ++b) {
    const size_t begin = b * columns, length = whole(rows.lengths[b]);
    int32_t last = -1;  // the kept token before
    for (size_t i = 0; i < length; ++i) {
      const auto [known, is_new] = next.try_emplace({last, ids[begin + i]}, static_cast<int32_t>(kept.size()));
      if (is_new) {
        kept.push_back(ids[begin + i]);
        positions.push_back(static_cast<int32_t>(i));
        grid.push_back(static_cast<int32_t>(begin + i));
      }
      last = known->second;
      from.push_back(last);
    }
    from.resize(begin + columns, from[begin]);  // the padding, which nobody reads
  }
  rows.packed = {std::ssize(rows.prompts), static_cast<int64_t>(columns), vector_tensor(kept),
                 vector_tensor(positions), vector_tensor(grid),           vector_tensor(from)};
}

// The tensors of numbers per token.
constexpr Tensor Batch::*kNumbers[] = {&Batch::sampler_log_prob, &Batch::old_log_prob, &Batch::ref_log_prob,
                                       &Batch::entropy,          &Batch::reward,       &Batch::value,
                                       &Batch::advantage,        &Batch::returns};

}  // namespace

std::span<const int32_t> TokenRows::prompt(size_t row) const {
  return std::as_const(ids).data<const int32_t>().subspan(row * whole(ids.size(1)), whole(prompts[row]));
}

TokenRows token_rows(std::span<const Sequence> sequences) {
  TokenRows rows;
  int64_t longest = 0;
  for (size_t b = 0; b < sequences.size(); ++b) {
    const Sequence& s = sequences[b];
    check(!s.prompt.empty() && !s.tokens.empty() && s.action_mask.size() == s.tokens.size(),
          "token_rows: response {} has {} tokens after a prompt of {}, and an action mask of {}", b, s.tokens.size(),
          s.prompt.size(), s.action_mask.size());
    rows.prompts.push_back(std::ssize(s.prompt));
    rows.lengths.push_back(std::ssize(s.prompt) + std::ssize(s.tokens) - 1);  // the last token is only a target
    longest = std::max(longest, rows.lengths.back());
  }
  check(longest >= 1, "token_rows: no response has a token");
  const Shape shape = {std::ssize(sequences), longest};
  rows.ids = Tensor::zeros(shape, i32);
  rows.targets = Tensor::zeros(shape, i32);
  rows.mask = Tensor::zeros(shape, u8);
  for (size_t b = 0; b < sequences.size(); ++b) {
    const Sequence& s = sequences[b];
    const auto row = [&]<class T>(const Tensor& x) { return x.data<T>().subspan(b * whole(longest), whole(longest)); };
    const auto ids = row.operator()<int32_t>(rows.ids), targets = row.operator()<int32_t>(rows.targets);
    std::copy(s.prompt.begin(), s.prompt.end(), ids.begin());
    std::copy(s.tokens.begin(), s.tokens.end() - 1, ids.begin() + std::ssize(s.prompt));
    std::copy(s.prompt.begin() + 1, s.prompt.end(), targets.begin());
    std::copy(s.tokens.begin(), s.tokens.end(), targets.begin() + std::ssize(s.prompt) - 1);
    std::copy(s.action_mask.begin(), s.action_mask.end(),
              row.operator()<uint8_t>(rows.mask).begin() + std::ssize(s.prompt) - 1);
  }
  index_tokens(rows);
  return rows;
}

Batch rows_of(const Batch& batch, std::span<const size_t> indices) {
  Batch part;
  int64_t longest = 0;
  for (const size_t i : indices) {
    part.prompts.push_back(batch.prompts[i]);
    part.lengths.push_back(batch.lengths[i]);
    longest = std::max(longest, batch.lengths[i]);
  }
  const auto picked = [&](const Tensor& x) {
    const Tensor y = Tensor::empty({std::ssize(indices), longest}, x.dtype());
    for (int64_t row = 0; row < std::ssize(indices); ++row) {
      const auto from = static_cast<int64_t>(indices[whole(row)]);
      y.view_slice(0, row, row + 1).copy_from(x.view_slice(0, from, from + 1).view_slice(1, 0, longest));
    }
    return y;
  };
  for (Tensor Batch::*member : kNumbers) {
    if ((batch.*member).defined()) part.*member = picked(batch.*member);
  }
  for (Tensor TokenRows::*member : {&TokenRows::ids, &TokenRows::targets, &TokenRows::mask}) {
    part.*member = picked(batch.*member);
  }
  if (batch.selected.defined()) part.selected = picked(batch.selected);
  index_tokens(part);
  return part;
}

Batch moved_to(const Batch& batch, DType dtype, const Device& device) {
  Batch moved = batch;
  for (Tensor Batch::*member : kNumbers) {
    if ((batch.*member).defined()) moved.*member = (batch.*member).to(dtype).to(device);
  }
  moved.mask = batch.mask.to(device);
  if (batch.selected.defined()) moved.selected = batch.selected.to(device);
  return moved;
}

void put_rows(const Tensor& to, std::span<const size_t> indices, const Tensor& values) {
  check(values.rank() == 2 && values.size(0) == std::ssize(indices) && values.size(1) <= to.size(1),
        "put_rows: expected values [{}, at most {}], got {}", indices.size(), to.size(1), values.shape());
  const std::vector<double> from = values.detach().to_vector();
  const size_t columns = whole(values.size(1)), width = whole(to.size(1));
  const auto out = to.data<double>();
  for (size_t i = 0; i < indices.size(); ++i) {
    std::copy_n(from.begin() + static_cast<int64_t>(i * columns), columns,
                out.begin() + static_cast<int64_t>(indices[i] * width));
  }
}

Tensor reward_at_end(const Tensor& score, const Tensor& mask) {
  check(mask.rank() == 2 && mask.dtype() == u8 && score.shape() == Shape({mask.size(0), 1}),
        "reward_at_end: expected score [B, 1] and mask u8 [B, T], got {} and {} {}", score.shape(), mask.dtype(),
        mask.shape());
  const std::vector<double> scores = score.to_vector(), kept = mask.to_vector();
  const size_t columns = whole(mask.size(1));
  std::vector<double> reward(kept.size());
  for (size_t b = 0; b < scores.size(); ++b) {
    size_t t = columns;
    while (t > 0 && kept[b * columns + t - 1] == 0) --t;
    check(t > 0, "reward_at_end: the policy sampled no token of response {}", b);
    reward[b * columns + t - 1] = scores[b];
  }
  return Tensor::from(reward, mask.shape());
}

Tensor carried_rewards(const Tensor& reward, const TokenRows& rows) {
  check(reward.shape() == rows.mask.shape(), "carried_rewards: the reward must be {}, got {}", rows.mask.shape(),
        reward.shape());
  std::vector<double> value = reward.to_vector();
  const std::vector<double> kept = rows.mask.to_vector();
  const size_t columns = whole(rows.mask.size(1));
  bool moved = false;
  for (size_t b = 0; b < rows.prompts.size(); ++b) {
    const size_t begin = b * columns;
    size_t action = columns;  // the policy's last token so far
    for (size_t t = 0; t < columns; ++t) {
      if (kept[begin + t] != 0) action = t;
      if (kept[begin + t] != 0 || value[begin + t] == 0) continue;
      check(action < columns && t < whole(rows.lengths[b]),
            "carried_rewards: response {} has a reward of {} at position {}, which is {}", b, value[begin + t], t,
            action < columns ? "padding" : "before the first token that the policy sampled: no action earned it");
      value[begin + action] += value[begin + t];
      value[begin + t] = 0;
      moved = true;
    }
  }
  return moved ? Tensor::from(value, reward.shape()).to(reward.dtype()).to(reward.device()) : reward;
}

Tensor response_lengths(const Tensor& mask) { return sum(mask.to(f64), {1}, true); }

std::vector<Tensor> read_back(const std::vector<Tensor>& xs) {
  NoGrad no_grad;
  std::vector<Tensor> copies(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].defined() || copies[i].defined()) continue;
    if (xs[i].device().on_host()) {
      copies[i] = xs[i].detach();
      continue;
    }
    std::vector<size_t> alike;
    std::vector<Tensor> flat;
    for (size_t k = i; k < xs.size(); ++k) {
      if (!xs[k].defined() || xs[k].device() != xs[i].device() || xs[k].dtype() != xs[i].dtype()) continue;
      alike.push_back(k);
      flat.push_back(reshape(xs[k].detach(), {xs[k].numel()}));
    }
    const Tensor all = cat(flat).to(Device{});
    int64_t begin = 0;
    for (const size_t k : alike) {
      copies[k] = all.view_slice(0, begin, begin + xs[k].numel()).view_reshape(xs[k].shape());
      begin += xs[k].numel();
    }
  }
  return copies;
}

}  // namespace pg::rl
