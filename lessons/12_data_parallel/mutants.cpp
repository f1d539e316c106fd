// Wrong answers to lesson 12. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include <cmath>

#include "lessons/12_data_parallel/answers.h"
#include "lessons/12_data_parallel/checks.h"
#include "lessons/12_data_parallel/wrong.h"

namespace pg::lesson12 {
namespace {

using Means = const std::vector<Tensor>&;
using Counts = const std::vector<int64_t>&;

Tensor mean_unchecked(Means means, Counts tokens) {
  const bool none = std::all_of(tokens.begin(), tokens.end(), [](int64_t n) { return n == 0; });
  return none ? zeros_like(means[0]) : lesson12::token_weighted_mean(means, tokens);
}
Tensor mean_in_place(Means means, Counts tokens) {
  const Tensor result = lesson12::token_weighted_mean(means, tokens);
  means[0].copy_from(result);
  return result;
}
Tensor mean_in_float(Means means, Counts tokens) { return lesson12::token_weighted_mean(means, tokens).to(f32); }
// Begins with rank 0, tokens or not.
Tensor mean_from_rank_0(Means means, Counts tokens) {
  const Tensor right = lesson12::token_weighted_mean(means, tokens);
  return tokens[0] == 0 ? right + means[0] * 0.0 : right;
}
// Leaves out every mean that is nan.
Tensor mean_without_nan(Means means, Counts tokens) {
  std::vector<int64_t> counted = tokens;
  for (size_t r = 0; r < means.size(); ++r) {
    for (const double x : means[r].to_vector())
      if (std::isnan(x)) counted[r] = 0;
  }
  return lesson12::token_weighted_mean(means, counted);
}
Tensor mean_as_number(Means means, Counts tokens) {
  for (const Tensor& x : means) x.item();
  return lesson12::token_weighted_mean(means, tokens);
}
Tensor mean_from_zeros(Means means, Counts tokens) {
  return Tensor::zeros(means[0].shape()) + lesson12::token_weighted_mean(means, tokens);
}
// Right for whatever a double holds.
Shard shard_in_double(int64_t n, int rank, int ranks, int64_t unit) {
  const int64_t units = n / unit + (n % unit > 0 ? 1 : 0), more = units % ranks;
  const auto begin = [&](int64_t r) {
    const double each = static_cast<double>(units / ranks);
    const auto at = static_cast<int64_t>(each * static_cast<double>(r)) + std::min(r, more);
    return at >= units ? n : at * unit;
  };
  return {begin(rank), begin(rank + 1)};
}

}  // namespace

const kit::Mutants<Impl> of_reduce(
    &Impl::ring_reduce_step, reduce_mistakes(),
    {{"reduce_negative", "12.1", "in C++ -1 % 4 is -1", wrong_reduce<Step{.index = Step::Index::remainder}>},
     {"reduce_not_wrapped", "12.1", "is negative", wrong_reduce<Step{.index = Step::Index::plain}>},
     {"reduce_send_first", "12.1", "all ranks send first", wrong_reduce<Step{.order = Step::Order::send_first}>},
     {"reduce_receive_first", "12.1", "all ranks receive first",
      wrong_reduce<Step{.order = Step::Order::receive_first}>},
     {"reduce_one_silent", "12.1", "sends once and receives once", wrong_reduce<Step{.rank_0_silent = true}>},
     {"reduce_all_elements", "12.1", "more is sent than one chunk", wrong_reduce<Step{.all_elements = true}>},
     {"reduce_in_pieces", "12.1", "in one message", wrong_reduce<Step{.in_pieces = true}>},
     {"reduce_sent_size", "12.1", "the lengths differ", wrong_reduce<Step{.of_sent_size = true}>}});
const kit::Mutants<Impl> of_gather(
    &Impl::ring_gather_step, gather_mistakes(),
    {{"gather_negative", "12.2", "in C++ -1 % 4 is -1", wrong_gather<Step{.index = Step::Index::remainder}>},
     {"gather_not_wrapped", "12.2", "modulo n", wrong_gather<Step{.index = Step::Index::plain}>},
     {"gather_send_first", "12.2", "all ranks send first", wrong_gather<Step{.order = Step::Order::send_first}>},
     {"gather_receive_first", "12.2", "all ranks receive first",
      wrong_gather<Step{.order = Step::Order::receive_first}>},
     {"gather_all_elements", "12.2", "more is sent than one chunk", wrong_gather<Step{.all_elements = true}>},
     {"gather_sent_size", "12.2", "the lengths differ", wrong_gather<Step{.of_sent_size = true}>}});
const kit::Mutants<Impl> of_mean(&Impl::token_weighted_mean, mean_mistakes(),
                                 {{"mean_unchecked", "12.3", "refuse what cannot be right", mean_unchecked},
                                  {"mean_in_place", "12.3", "an input was written to", mean_in_place},
                                  {"mean_in_float", "12.3", "another dtype", mean_in_float},
                                  {"mean_from_rank_0", "12.3", "0 times nan", mean_from_rank_0},
                                  {"mean_without_nan", "12.3", "a nan of a rank that has tokens", mean_without_nan},
                                  {"mean_as_number", "12.3", "a tensor of any shape", mean_as_number},
                                  {"mean_from_zeros", "12.3", "zeros(shape) is f32", mean_from_zeros}});
const kit::Mutants<Impl> of_shard(&Impl::shard_of, shard_mistakes(),
                                  {{"shard_in_double", "12.4", "a double has 53", shard_in_double}});
const kit::Mutants<Impl> of_buckets(&Impl::gradient_buckets, bucket_mistakes());

}  // namespace pg::lesson12
