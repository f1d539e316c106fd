// Wrong answers to lesson 7. The checks must call each WRONG and say why; everything else must stay
// ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include "lessons/07_ppo/answers.h"
#include "lessons/07_ppo/checks.h"
#include "lessons/07_ppo/right.h"
#include "lessons/07_ppo/wrong_losses.h"

namespace pg::lesson07 {

const kit::Mutants<Impl> of_gae(&Impl::gae, gae_mistakes());
const kit::Mutants<Impl> of_clip(&Impl::clip_loss, clip_mistakes());
const kit::Mutants<Impl> mutants = {
    {"clip_no_tape", "07.5", "without a gradient nothing is learned", [](Impl& m) { m.clip_loss = clip_no_tape; }},
    {"gae_f64", "07.1", "the dtype is not", [](Impl& m) { m.gae = gae_f64; }, "07.2 07.4"},
    {"entropy_mean", "07.8", "a mean over the k numbers", wrong_gaussian<entropy_mean>},
    {"entropy_no_constant", "07.8", "log(2πe)/2 is missing", wrong_gaussian<entropy_no_constant>},
    {"entropy_no_e", "07.8", "half a nat", wrong_gaussian<entropy_no_e>},
    {"entropy_no_log_std", "07.8", "log_std is missing", wrong_gaussian<entropy_no_log_std>, "07.7"},
    {"entropy_once", "07.8", "is counted once", wrong_gaussian<entropy_once>},
    {"entropy_one_number", "07.8", "expand it to [N]", wrong_gaussian<entropy_one_number>},
    {"entropy_one_plus", "07.8", "this has 1 + log", wrong_gaussian<entropy_one_plus>},
    {"entropy_sampled", "07.8", "of the action taken", wrong_gaussian<entropy_sampled>},
    {"entropy_sign", "07.8", "the sign is flipped", wrong_gaussian<entropy_sign>},
    {"entropy_std", "07.8", "in place of log_std", wrong_gaussian<entropy_std>},
    {"entropy_twice", "07.8", "this has log(2πe)", wrong_gaussian<entropy_twice>},
    {"entropy_variance", "07.8", "log of the variance", wrong_gaussian<entropy_variance>},
    {"gauss_added", "07.7", "log_std is added", wrong_gaussian<gauss_added>},
    {"gauss_density", "07.7", "take its logarithm", wrong_gaussian<gauss_density>},
    {"gauss_log_variance", "07.7", "log of the variance", wrong_gaussian<gauss_log_variance>},
    {"gauss_mean", "07.7", "a mean over the k numbers", wrong_gaussian<gauss_mean>},
    {"gauss_no_exp", "07.7", "exp() is missing", wrong_gaussian<gauss_no_exp>},
    {"gauss_no_half", "07.7", "the 1/2 of the square", wrong_gaussian<gauss_no_half>},
    {"gauss_no_log_std", "07.7", "a wider density is lower", wrong_gaussian<gauss_no_log_std>},
    {"gauss_no_two_pi", "07.7", "does not integrate to 1", wrong_gaussian<gauss_no_two_pi>},
    {"gauss_not_summed", "07.7", "add them up", wrong_gaussian<gauss_not_summed>},
    {"gauss_one_two_pi", "07.7", "counted once", wrong_gaussian<gauss_one_two_pi>},
    {"gauss_over_actions", "07.7", "over the N actions", wrong_gaussian<gauss_over_actions>},
    {"gauss_sign", "07.7", "this is -log p", wrong_gaussian<gauss_sign>},
    {"gauss_square_sign", "07.7", "far from the mean is unlikely", wrong_gaussian<gauss_square_sign>},
    {"gauss_std_detached", "07.7", "do not detach it", wrong_gaussian<gauss_std_detached>},
    {"gauss_std_for_log", "07.7", "in place of log_std", wrong_gaussian<gauss_std_for_log>},
    {"gauss_total", "07.7", "one number for each action", wrong_gaussian<gauss_total>},
    {"gauss_twice_two_pi", "07.7", "this has log(2π)", wrong_gaussian<gauss_twice_two_pi>},
    {"gauss_variance", "07.7", "taken for the variance", wrong_gaussian<gauss_variance>},
    {"value_about_returns", "07.6", "held around R", wrong_value_loss<value_about_returns>},
    {"value_absolute", "07.6", "the error is not squared", wrong_value_loss<value_absolute>},
    {"value_bounded_alone", "07.6", "the clipped error alone", wrong_value_loss<value_bounded_alone>},
    {"value_clip_zero", "07.6", "with clip 0 there is no clip", wrong_value_loss<value_clip_zero>},
    {"value_clips_itself", "07.6", "clip its distance from old", wrong_value_loss<value_clips_itself>},
    {"value_mask_ignored", "07.6", "the mask is not used", wrong_value_loss<value_mask_ignored>},
    {"value_mask_product", "07.6", "0 times infinity", wrong_value_loss<value_mask_product>},
    {"value_masked_late", "07.6", "mask the errors before", wrong_value_loss<value_masked_late>},
    {"value_mean", "07.6", "one loss for each step", wrong_value_loss<value_mean>},
    {"value_minimum", "07.6", "the minimum in place of the maximum", wrong_value_loss<value_minimum>},
    {"value_no_clip", "07.6", "clip and old_values are not used", wrong_value_loss<value_no_clip>},
    {"value_no_half", "07.6", "the factor 1/2 is missing", wrong_value_loss<value_no_half>},
    {"value_old_not_added", "07.6", "old is not added back", wrong_value_loss<value_old_not_added>},
    {"value_old_not_detached", "07.6", "flows into what is a constant", wrong_value_loss<value_old_not_detached>},
    {"value_returns_not_detached", "07.6", "flows into what is a constant",
     wrong_value_loss<value_returns_not_detached>},
    {"right_by_definition", "07.1", "ok", [](Impl& m) { m.gae = right_by_definition; }},
    {"right_by_sign", "07.5", "ok", [](Impl& m) { m.clip_loss = right_by_sign; }},
    {"right_maximum_of_losses", "07.5", "ok", [](Impl& m) { m.clip_loss = right_maximum_of_losses; }},
    {"right_near_constant", "07.6", "ok", [](Impl& m) { m.value_loss = right_near_constant; }},
    {"right_by_variance", "07.7", "ok", [](Impl& m) { m.gaussian_log_prob = right_by_variance; }},
};

}  // namespace pg::lesson07
