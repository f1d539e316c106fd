// Advantages of tokens from rewards, according to the algorithm.
#include "rl/text/credit.h"

#include "autograd/ops.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// credit, mask and lengths are [N, G], one group per row.
Tensor compare(const Algorithm& a, const Tensor& credit, const Tensor& mask, const Tensor& lengths,
               const Tensor& greedy) {
  switch (a.baseline) {
    case Baseline::group_mean:
      return group_mean_advantage(credit, mask);
    case Baseline::leave_one_out:
      return leave_one_out_advantage(credit, mask);
    case Baseline::group_std:
      return group_std_advantage(credit, a.eps, a.ddof, mask);
    case Baseline::batch_std:
      return batch_std_advantage(credit, a.eps, a.ddof, mask);
    case Baseline::opo:
      return opo_advantage(credit, lengths, mask);
    case Baseline::remax:
      return remax_advantage(credit, greedy, mask);
    case Baseline::maxrl:
      return maxrl_advantage(credit, mask);
    case Baseline::gpg:
      return gpg_advantage(credit, mask);
    default:
      return group_mean_advantage(credit, mask);  // batch_mean: the batch is one group
  }
}

void give(Experience& experience, std::vector<double> Response::*member, const Tensor& values) {
  const std::vector<double> all = values.to_vector();
  const auto columns = static_cast<size_t>(values.size(1));
  for (size_t b = 0; b < experience.responses.size(); ++b) {
    Response& r = experience.responses[b];
    (r.*member).assign(r.tokens.size(), 0);
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.chosen[t]) (r.*member)[t] = all[b * columns + t];
    }
  }
}

}  // namespace

void subtract_kl(Response& r, double beta) {
  const size_t n = r.tokens.size();
  check(r.rewards.size() == n && r.old_log_probs.size() == n && r.ref_log_probs.size() == n,
        "subtract_kl: {} tokens have {} rewards, {} log-probabilities and {} of the reference", n, r.rewards.size(),
        r.old_log_probs.size(), r.ref_log_probs.size());
  for (size_t t = 0; t < n; ++t) {
    if (r.chosen[t]) r.rewards[t] -= beta * (r.old_log_probs[t] - r.ref_log_probs[t]);
  }
}

void assign_advantages(const Algorithm& a, Experience& experience, MovingBaseline& moving) {
  const auto& responses = experience.responses;
  const auto rows = static_cast<int64_t>(responses.size());
  const Tensor rewards = response_values(responses, &Response::rewards), mask = response_mask(responses);
  const int64_t longest = mask.size(1);
  Tensor advantages;  // [B, R]
  if (a.baseline == Baseline::critic) {
    const Tensor values = response_values(responses, &Response::values);
    const Gae g =
        gae(rewards, values, Tensor::zeros({rows}, f64), {.gamma = a.gamma, .lambda = a.lambda, .mask = mask});
    give(experience, &Response::returns, g.returns);
    advantages = g.advantages;
  } else if (a.credit == Credit::response) {
    // Sum over all tokens: the final reward may be on an environment token.
    const Tensor total = sum(rewards, {1}, true);
    Tensor each = total;
    if (a.baseline == Baseline::moving) {
      each = moving.advantage(total);
    } else if (a.baseline != Baseline::none) {
      const int64_t g = a.baseline == Baseline::batch_mean ? rows : experience.samples;
      Tensor lengths = Tensor::zeros({rows}, f64);
      for (size_t b = 0; b < responses.size(); ++b)
        lengths.data<double>()[b] = static_cast<double>(responses[b].length());
      const auto prompts = static_cast<int64_t>(experience.greedy.size());
      const Tensor greedy = prompts > 0 ? Tensor::from(experience.greedy, {prompts, 1}) : Tensor{};
      check(a.baseline != Baseline::remax || prompts > 0, "assign_advantages: remax needs the greedy rewards");
      each = compare(a, total.view_reshape({-1, g}), {}, lengths.view_reshape({-1, g}), greedy).view_reshape({rows, 1});
    }
    advantages = contiguous(expand(each, {rows, longest}));
  } else {
    const Tensor credit = a.credit == Credit::token ? rewards : return_to_go(rewards, a.gamma, mask);
    if (a.baseline == Baseline::none) {
      advantages = credit;
    } else if (a.baseline == Baseline::moving) {
      advantages = moving.advantage(credit, mask);
    } else {
      // Compared at equal positions of the responses: [P, G, R] → [P·R, G].
      const int64_t g = a.baseline == Baseline::batch_mean ? rows : experience.samples;
      const auto by_place = [&](const Tensor& x) {
        return x.view_reshape({-1, g, longest}).view_transpose(1, 2).clone().view_reshape({-1, g});
      };
      const Tensor compared = compare(a, by_place(credit), by_place(mask), {}, {});
      advantages = compared.view_reshape({-1, longest, g}).view_transpose(1, 2).clone().view_reshape({rows, longest});
    }
  }
  if (a.whiten) advantages = whiten(advantages, mask, a.ddof);
  give(experience, &Response::advantages, advantages);
}

}  // namespace pg::rl
