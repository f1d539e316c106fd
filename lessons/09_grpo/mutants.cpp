// Wrong answers to lesson 9. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/09_grpo/answers.h"
#include "lessons/09_grpo/checks.h"

namespace pg::lesson09 {
namespace {

using T = const Tensor&;
using D = const Denominators&;

// Equal rewards have the rounding of their mean in them.
Tensor mean_rounded(T r) { return r - mean(r, {1}, true); }
Tensor std_noise(T r, double eps, int ddof) {
  const Tensor off = mean_rounded(r);
  return off / (sqrt(sum(off * off, {1}, true) / static_cast<double>(std::max<int64_t>(r.size(1) - ddof, 1))) + eps);
}
Tensor loo_rounded(T r) {
  if (r.size(1) == 1) return zeros_like(r);
  return r - (sum(r, {1}, true) - r) / static_cast<double>(r.size(1) - 1);
}
// In one aggregation only, divided by the responses of this micro-batch.
template <Aggregation at>
Tensor aggregate_micro(T x, T mask, Aggregation how, D total) {
  Denominators here = total;
  if (how == at) here.sequences = static_cast<double>(x.size(0));
  return aggregate(x, mask, how, here);
}
Tensor aggregate_sum_product(T x, T mask, Aggregation how, D total) {
  return how == Aggregation::sequence_sum ? sum(x * mask.to(x.dtype())) / total.sequences
                                          : aggregate(x, mask, how, total);
}
Tensor aggregate_constant_untaped(T x, T mask, Aggregation how, D total) {
  return aggregate(how == Aggregation::sequence_mean ? x : x.detach(), mask, how, total);
}

}  // namespace

const kit::Mutants<Impl> of_mean(&Impl::group_mean_advantage, mean_mistakes(),
                                 {{"mean_rounded", "09.1", "then equal rewards are exact zeros", mean_rounded}});
const kit::Mutants<Impl> of_std(&Impl::group_std_advantage, std_mistakes(),
                                {{"std_noise", "09.2", "noise divided by rounding noise", std_noise}});
const kit::Mutants<Impl> of_others(&Impl::leave_one_out_advantage, others_mistakes(),
                                   {{"loo_rounded", "09.3", "then equal rewards are exact zeros", loo_rounded}});
const kit::Mutants<Impl> of_signal(&Impl::groups_with_signal, signal_mistakes(),
                                   {{"signal_kept", "09.4", "only the shape is not",
                                     [](T r) { return unsqueeze(groups_with_signal(r), 1); }}});
const kit::Mutants<Impl> of_ratio(&Impl::token_ratio, ratio_mistakes());
const kit::Mutants<Impl> of_sequence(&Impl::sequence_ratio, sequence_mistakes(),
                                     {{"sequence_flat", "09.6", "only the shape is not", [](T now, T old, T mask) {
                                         return squeeze(sequence_ratio(now, old, mask), 1);
                                       }}});
const kit::Mutants<Impl> of_aggregate(&Impl::aggregate, aggregate_mistakes(),
                                      {{"aggregate_micro_sequences", "09.7", "eight small ones are not one large one",
                                        aggregate_micro<Aggregation::sequence_mean>},
                                       {"aggregate_sum_micro", "09.7", "eight small ones are not one large one",
                                        aggregate_micro<Aggregation::sequence_sum>},
                                       {"aggregate_sum_product", "09.7", "choose with where", aggregate_sum_product},
                                       {"aggregate_constant_untaped", "09.7", "without a gradient nothing is learned",
                                        aggregate_constant_untaped}});

}  // namespace pg::lesson09
