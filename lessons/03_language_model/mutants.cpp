// Wrong answers to lesson 3. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include "lessons/03_language_model/checks.h"
#include "lessons/03_language_model/right.h"
#include "lessons/03_language_model/wrong.h"

namespace pg::lesson03 {

const kit::Mutants<Impl> of_softmax(&Impl::softmax, softmax_mistakes());
const kit::Mutants<Impl> of_gradient(&Impl::softmax, softmax_gradient_mistakes());
const kit::Mutants<Impl> of_backward(&Impl::cross_entropy_backward, cross_entropy_mistakes());
const kit::Mutants<Impl> of_adamw(&Impl::adamw, adamw_mistakes());
const kit::Mutants<Impl> of_filter(&Impl::filtered_probs, filter_mistakes());
const kit::Mutants<Impl> mutants = {
    {"adamw_in_float", "03.3", "computed in float", [](Impl& m) { m.adamw = adamw_in_float; }},
    {"adamw_keeps_m", "03.3", "between calls", [](Impl& m) { m.adamw = adamw_keeps_m; }},
    {"backward_in_f64", "03.2", "the dtype is not", [](Impl& m) { m.cross_entropy_backward = backward_in_f64; }},
    {"backward_half", "03.2", "half of expected", [](Impl& m) { m.cross_entropy_backward = backward_half; }},
    {"backward_changes_logits", "03.2", "work on a clone",
     [](Impl& m) { m.cross_entropy_backward = backward_changes_logits; }},
    {"filter_in_float", "03.4", "computed in float", [](Impl& m) { m.filtered_probs = filter_in_float; }},
    {"filter_one_token_nan", "03.4", "inf or nan", [](Impl& m) { m.filtered_probs = filter_one_token_nan; }},
    {"sample_at_most", "03.5", "compare with <", [](Impl& m) { m.sample_token = wrong_draw<Draw::at_most>; }},
    {"sample_returns_0", "03.5", "must catch the rest", [](Impl& m) { m.sample_token = wrong_draw<Draw::returns_0>; }},
    {"sample_zeros_count", "03.5", "probability 0", [](Impl& m) { m.sample_token = wrong_draw<Draw::zeros_count>; }},
    {"sample_last_id", "03.5", "a token of probability 0", [](Impl& m) { m.sample_token = wrong_draw<Draw::last_id>; }},
    {"sample_one_past", "03.5", "no such token", [](Impl& m) { m.sample_token = wrong_draw<Draw::one_past>; }},
    {"sample_in_float", "03.5", "added up in float", [](Impl& m) { m.sample_token = wrong_draw<Draw::in_float>; }},
    {"sample_most_probable", "03.5", "whatever u is",
     [](Impl& m) { m.sample_token = wrong_draw<Draw::most_probable>; }},
    {"sample_one_later", "03.5", "probability 0", [](Impl& m) { m.sample_token = wrong_draw<Draw::one_later>; }},
    {"sample_reversed", "03.5", "from token 0 on", [](Impl& m) { m.sample_token = wrong_draw<Draw::reversed>; }},
    {"sample_rounds", "03.5", "no such token", [](Impl& m) { m.sample_token = wrong_draw<Draw::rounds>; }},
    {"softmax_in_float", "03.1", "computed in float", [](Impl& m) { m.softmax = softmax_in_float; }},
    {"softmax_off_the_tape", "03.1", "no detach()", [](Impl& m) { m.softmax = softmax_off_the_tape; }},
    {"softmax_in_f64", "03.1", "the dtype is not", [](Impl& m) { m.softmax = softmax_in_f64; }},
    {"right_softmax", "03.1", "ok", [](Impl& m) { m.softmax = right_softmax; }},
    {"right_detached_maximum", "03.1", "ok", [](Impl& m) { m.softmax = right_detached_maximum; }},
    {"right_cross_entropy", "03.2", "ok", [](Impl& m) { m.cross_entropy_backward = right_cross_entropy; }},
    {"right_adamw", "03.3", "ok", [](Impl& m) { m.adamw = right_adamw; }},
    {"right_filter", "03.4", "ok", [](Impl& m) { m.filtered_probs = right_filter; }},
    {"right_draw", "03.5", "ok", [](Impl& m) { m.sample_token = right_draw; }},
};

}  // namespace pg::lesson03
