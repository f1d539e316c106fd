// Wrong answers to lesson 14. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/14_denoiser/answers.h"
#include "lessons/14_denoiser/checks.h"

namespace pg::lesson14 {
namespace {

using T = const Tensor&;

MaskedTokens mask_in_place(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson14::mask_tokens(ids, mask_id, random);
  ids.copy_from(result.ids);
  return result;
}
MaskedTokens mask_float_weights(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson14::mask_tokens(ids, mask_id, random);
  return {result.ids, result.targets, result.weights.to(f32)};
}
MaskedTokens mask_one_more(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson14::mask_tokens(ids, mask_id, random);
  random.uniform();
  return result;
}
Tensor loss_none_masked(T logits, const MaskedTokens& tokens) {
  const bool none = amax(tokens.targets.to(f64)).item() < 0;
  return lesson14::denoising_loss(logits, tokens) / (none ? 0 : 1);
}
Tensor loss_not_summed(T logits, const MaskedTokens& tokens) {
  return lesson14::denoising_loss(logits, tokens) * tokens.weights.to(logits.dtype());
}

}  // namespace

const kit::Mutants<Impl> of_masks(&Impl::mask_tokens, mask_mistakes(),
                                  {{"mask_in_place", "14.1", "an input was written to", mask_in_place},
                                   {"mask_float_weights", "14.1", "weights f64", mask_float_weights},
                                   {"mask_one_more", "14.1", "one number for u", mask_one_more}});
const kit::Mutants<Impl> of_loss(&Impl::denoising_loss, loss_mistakes(),
                                 {{"loss_detached", "14.2", "the tape is cut",
                                   [](T x, const MaskedTokens& t) { return lesson14::denoising_loss(x.detach(), t); }},
                                  {"loss_none_masked", "14.2", "inf or nan", loss_none_masked},
                                  {"loss_not_summed", "14.2", "sum it up", loss_not_summed}});

}  // namespace pg::lesson14
