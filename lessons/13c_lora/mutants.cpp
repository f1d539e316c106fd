// Wrong answers to lesson 13c. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13c_lora/answers.h"
#include "lessons/13c_lora/checks.h"

namespace pg::lesson13c {
namespace {

// The right adapter, and then `change`.
template <void (*change)(Linear& layer, LoraAdapter& adapter)>
void add_lora_and(Linear& layer, const LoraConfig& config, Generator& generator) {
  lesson13c::add_lora(layer, config, generator);
  change(layer, layer.lora[0]);
}
void a_zero(Linear&, LoraAdapter& one) { one.a.detach().fill(0); }
void b_random(Linear&, LoraAdapter& one) { one.b.detach().copy_from(random_tensor(one.b.shape(), 1, one.b.dtype())); }
void exchange(Linear& layer, LoraAdapter& one) { a_zero(layer, one), b_random(layer, one); }
void train_weight(Linear& layer, LoraAdapter&) { layer.weight.set_requires_grad(true); }
void train_bias(Linear& layer, LoraAdapter&) {
  if (layer.bias.defined()) layer.bias.set_requires_grad(true);
}
void cut(Linear&, LoraAdapter& one) { one.a = one.a.detach(), one.b = one.b.detach(); }
void narrow(Linear&, LoraAdapter& one) {
  for (Tensor* x : {&one.a, &one.b}) *x = x->detach().to(f32).set_requires_grad();
}
void swap_shapes(Linear&, LoraAdapter& one) { std::swap(one.a, one.b); }
void mark_merged(Linear& layer, LoraAdapter&) { layer.lora_merged = true; }
void end_at_in(Linear& layer, LoraAdapter& one) { one.end = layer.weight.size(1); }
void drop(Linear& layer, LoraAdapter&) { layer.lora.clear(); }
void lora_bias_needed(Linear& layer, const LoraConfig& config, Generator& generator) {
  layer.bias.set_requires_grad(false);
  lesson13c::add_lora(layer, config, generator);
}
void lora_rank_3(Linear& layer, const LoraConfig& config, Generator& generator) {
  lesson13c::add_lora(layer, {.rank = 3, .alpha = config.alpha}, generator);
}

void merge_twice(Linear& layer) {
  layer.lora_merged = false;
  lesson13c::merge_lora(layer);
}
void merge_no_flag(Linear& layer) {
  lesson13c::merge_lora(layer);
  layer.lora_merged = false;
}
void merge_replaces(Linear& layer) {
  layer.weight = layer.weight.detach().clone();
  lesson13c::merge_lora(layer);
}
void merge_without(Linear& layer) {
  if (layer.lora.empty()) return;
  lesson13c::merge_lora(layer);
}
void merge_clears(Linear& layer) {
  lesson13c::merge_lora(layer);
  layer.lora.clear();
}
void merge_late_check(Linear& layer) {
  const bool merged = layer.lora_merged;
  merge_twice(layer);
  check(!merged, "merge_lora: merged already");
}

}  // namespace

const kit::Mutants<Impl> of_add(&Impl::add_lora, add_mistakes(),
                                {{"lora_both_zero", "13.5", "A and B are both zero", add_lora_and<a_zero>},
                                 {"lora_both_random", "13.5", "A and B are both random", add_lora_and<b_random>},
                                 {"lora_exchanged", "13.5", "A and B are exchanged", add_lora_and<exchange>},
                                 {"lora_trains_weight", "13.5", "set_requires_grad(false)", add_lora_and<train_weight>},
                                 {"lora_trains_bias", "13.5", "set_requires_grad(false)", add_lora_and<train_bias>},
                                 {"lora_no_gradient", "13.5", "without a gradient", add_lora_and<cut>},
                                 {"lora_float", "13.5", "weight's dtype", add_lora_and<narrow>},
                                 {"lora_shapes", "13.5", "A [rank, in] reads x", add_lora_and<swap_shapes>},
                                 {"lora_marked_merged", "13.5", "does not contain the term yet",
                                  add_lora_and<mark_merged>},
                                 {"lora_nothing", "13.5", "nothing was appended", add_lora_and<drop>},
                                 {"lora_end_in", "13.5", ".end = out", add_lora_and<end_at_in>},
                                 {"lora_bias_needed", "13.5", "it may be undefined", lora_bias_needed},
                                 {"lora_rank_3", "13.5", "config.rank", lora_rank_3}});
const kit::Mutants<Impl> of_merge(&Impl::merge_lora, merge_mistakes(),
                                  {{"merge_twice", "13.6", "refuse what cannot be right", merge_twice},
                                   {"merge_no_flag", "13.6", "does not know that it is merged", merge_no_flag},
                                   {"merge_replaces", "13.6", "point elsewhere", merge_replaces},
                                   {"merge_without", "13.6", "refuse what cannot be right", merge_without},
                                   {"merge_clears", "13.6", "the adapters stay", merge_clears},
                                   {"merge_late_check", "13.6", "check before you add", merge_late_check}});

}  // namespace pg::lesson13c
