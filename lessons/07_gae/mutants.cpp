// Wrong answers to lesson 7. The checks must call each WRONG and say why; everything else must stay ok. The last row is
// a right answer.
#include "lessons/kit/mutants.h"

#include "lessons/07_gae/answers.h"
#include "lessons/07_gae/checks.h"

namespace pg::lesson07 {
namespace {

// The definition: from each step a walk to the end of its episode.
Gae right_by_definition(const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                        const GaeOptions& options) {
  const int64_t count = rewards.numel();
  const auto steps = static_cast<size_t>(rewards.size(1));
  const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
  const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
  const auto terminated = numbers(options.terminated, count, 0), truncated = numbers(options.truncated, count, 0);
  std::vector<double> advantages, returns;
  for (size_t i = 0; i < r.size(); ++i) {
    const size_t end = (i / steps + 1) * steps;
    double total = 0, factor = 1;
    for (size_t j = i, later = i; mask[i] != 0 && j < end; j = later, factor *= options.gamma * options.lambda) {
      do ++later;
      while (later < end && mask[later] == 0);
      const double next = terminated[j] != 0  ? 0
                          : truncated[j] != 0 ? final_values[j]
                          : later < end       ? v[later]
                                              : last[i / steps];
      total += factor * (r[j] + options.gamma * next - v[j]);
      if (terminated[j] != 0 || truncated[j] != 0) break;
    }
    advantages.push_back(total);
    returns.push_back(mask[i] != 0 ? total + v[i] : 0);
  }
  return {Tensor::from(advantages, rewards.shape()).to(rewards.dtype()),
          Tensor::from(returns, rewards.shape()).to(rewards.dtype())};
}

}  // namespace

const kit::Mutants<Impl> of_gae(&Impl::gae, gae_mistakes(),
                                {{"right_by_definition", "07.1", "ok", right_by_definition}});

}  // namespace pg::lesson07
