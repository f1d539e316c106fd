// Wrong answers to lesson 13b. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13b_latent_attention/answers.h"
#include "lessons/13b_latent_attention/checks.h"

namespace pg::lesson13b {

const kit::Mutants<Impl> of_latents(&Impl::absorbed_attention, latent_mistakes());

}  // namespace pg::lesson13b
