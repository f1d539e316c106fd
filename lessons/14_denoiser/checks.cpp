// The checks of lesson 14: the table and the reference.
#include "lessons/14_denoiser/checks.h"

namespace pg::lesson14 {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "14.1",
       .title = "masks at time t",
       .piece = kit::piece<&Impl::mask_tokens>("mask_tokens"),
       .section = "Not from left to right",
       .why = "The model must have seen every share of masks, from one to all, or it cannot begin with an empty page. "
              "One time for the whole batch makes the loss jump from step to step.",
       .hints = {"How many random numbers does a batch of B rows of L tokens need, and what is each one for?",
                 "t_b = 1 - frac(u + b/B) in (0, 1]; token (b, i) is masked where r < t_b; ids = mask_id, target = the "
                 "token; else target = -100; weight = 1/t_b.",
                 "ids.contiguous_copy().data<const int32_t>() reads the ids. u first; for each row t; for each token "
                 "one uniform(), and three push_backs; three Tensor::from(…, {B, L})."},
       .solution = {"nn/variants/denoiser.cpp", "MaskedTokens mask_tokens("},
       .run = check_mask_tokens,
       .harmless = {{"detached", "ids, targets and weights are data, without a tape"},
                    {"always f64", "the weights are f64, and ids no floating numbers"},
                    {{"large", "infinite", "zero row"}, "ids are no floating numbers"},
                    {"only positive", "ids and weights are never negative"},
                    {{"rank 0", "rank 1", "rank 4"}, "ids have the shape [B, L]"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "14.2",
       .title = "the bound",
       .piece = kit::piece<&Impl::denoising_loss>("denoising_loss"),
       .section = "Easy questions count more",
       .why = "Without 1/t, or with a mean over the masked tokens, the model trains, but its loss is no bound on "
              "anything and cannot be compared with another model's.",
       .hints = {"At t = 0.1 a tenth of the tokens is asked for. What must each of them count, so that all t weigh the "
                 "same?",
                 "loss = 1/(B·L)·Σ weight·(-log softmax(logits[:V])[target]) over targets that are not -100.",
                 "v = logits.size(2) - 1; rows = reshape(slice(logits, 2, 0, v), {B·L, v}); cross_entropy(rows, "
                 "targets reshaped to {B·L}, options with Reduction::none), times the weights in the logits' dtype; "
                 "sum, divided by B·L."},
       .solution = {"nn/variants/denoiser.cpp", "Tensor summed_denoising_loss("},
       .run = check_denoising_loss,
       .harmless = {{"only positive", "-log p is never negative, and neither are the weights"},
                    {{"rank 0", "rank 1", "rank 4"}, "logits have rank 3, ids, targets and weights rank 2"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
  };
}

Impl reference() {
  return {.mask_tokens = pg::mask_tokens, .denoising_loss = [](const Tensor& logits, const MaskedTokens& tokens) {
            const int64_t v = logits.size(2) - 1;
            const MaskedDenoiser given{v, [&](const Tensor&, const Tensor&) {
                                         return reshape(slice(logits, 2, 0, v), {-1, v});
                                       }};
            return summed_denoising_loss(given, tokens) / static_cast<double>(tokens.ids.numel());
          }};
}

}  // namespace pg::lesson14
