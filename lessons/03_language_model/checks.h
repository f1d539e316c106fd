#pragma once
// What the files of lesson 3's checks share: checks, known mistakes (mistakes.cpp).
#include "lessons/03_language_model/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson03 {

// checks_sampling.cpp
void check_filtered_probs(kit::Grader& g, const Impl& impl);
void check_sample_token(kit::Grader& g, const Impl& impl);

// AdamW with a switch for each common mistake.
struct Adam {
  bool corrected = true, decoupled = true, eps_outside = true, scaled = true, squared = true;
  bool decay_first = true, decay_lr = true, eps_late = true, v_scaled = true, corrections = true, betas = true;
  bool shares_in_place = true, shares = true, new_means = true, root = true, downhill = true, all_decay = true;
  bool step_scaled = false, stored = false;
  void operator()(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                  const AdamWArgs& a) const;
};

using SoftmaxMistakes = kit::Mistakes<&Impl::softmax>;
const SoftmaxMistakes& softmax_mistakes();
const SoftmaxMistakes& softmax_gradient_mistakes();  // whose values are right
using CrossEntropyMistakes = kit::Mistakes<&Impl::cross_entropy_backward>;
const CrossEntropyMistakes& cross_entropy_mistakes();
using AdamWMistakes = kit::Mistakes<&Impl::adamw>;
const AdamWMistakes& adamw_mistakes();
using FilterMistakes = kit::Mistakes<&Impl::filtered_probs>;
const FilterMistakes& filter_mistakes();

}  // namespace pg::lesson03
