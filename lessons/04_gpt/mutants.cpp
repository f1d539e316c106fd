// Wrong answers to lesson 4. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/04_gpt/answers.h"
#include "lessons/04_gpt/wrong.h"

namespace pg::lesson04 {
namespace {

template <Name mistake>
void wrong_init(Transformer& model, Generator& generator) {
  Generator own(7);
  for (auto& [name, parameter] : named_parameters(model)) {
    const double layers = mistake == "fixed_layers" ? 8 : static_cast<double>(model.config.n_layer);
    const double free = mistake == "fixed_std" ? 0.1 : model.config.in_proj_std;
    const bool writer = name.ends_with(mistake == "attention_only" ? "attn.c_proj.weight" : "c_proj.weight");
    double std = mistake == "narrow" ? 0.02 : name.starts_with("h.") || mistake == "wide_embeddings" ? free : 0.02;
    if (writer) std = (mistake == "writers_from_free" ? free : 0.02) / std::sqrt(2.0 * layers);
    if (writer && mistake == "flat") std = 0.02;
    if (writer && mistake == "one_write") std = 0.02 / std::sqrt(layers);
    if (writer && mistake == "no_root") std = 0.02 / (2 * layers);
    if (mistake == "variance") std = std::sqrt(std);
    if (mistake == "squared") std *= std;
    const Shape shape = parameter.shape();
    if (parameter.rank() != 2) {
      const bool weight = name.ends_with(".weight");
      if (mistake == "norm_kept" && weight) continue;
      parameter.fill(weight && mistake != "norm_zero" ? 1 : 0);
      if (mistake == "random_biases" && !weight) parameter.copy_from(Tensor::normal(shape, 0, 0.02, generator));
      continue;
    }
    Generator fresh(3);
    Generator& source = mistake == "own_generator" ? own : mistake == "fresh_each" ? fresh : generator;
    Tensor values = Tensor::normal(shape, mistake == "mean_is_std" ? std : 0, std, source);
    if (mistake == "uniform") values = Tensor::uniform(shape, -std * std::sqrt(3.0), std * std::sqrt(3.0), source);
    if (mistake == "constant") values = Tensor::full(shape, std);
    if (mistake == "cut_off") values = clamp(values, -2 * std, 2 * std) * 1.04;
    if (mistake == "assigned")
      parameter = values;
    else
      parameter.copy_from(values);
  }
}

// ---- right but unusual answers: the checks must accept them

// The scale on the queries, and a number far below any score as a mask.
Tensor right_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2);
  const Tensor scores = matmul(q / std::sqrt(static_cast<double>(q.size(3))), transpose(k));
  const Tensor at = Tensor::arange(t, q.dtype());
  const Tensor masked = where(gt(at, unsqueeze(at, 1)), Tensor::scalar(-1e30, q.dtype()), scores);
  const Tensor e = exp(masked - amax(masked, {-1}, true));
  return matmul(e / sum(e, {-1}, true), v);
}

// By the tape.
AttentionGrads right_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  EnableGrad on;
  const Tensor lq = q.clone().set_requires_grad(), lk = k.clone().set_requires_grad(),
               lv = v.clone().set_requires_grad();
  backward(lesson04::attention(lq, lk, lv), dout);
  return {lq.grad(), lk.grad(), lv.grad()};
}

// In sums over the row, with dx multiplied out.
LayerNormGrads right_layer_norm(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  const double c = static_cast<double>(x.size(1));
  const Tensor far = x - sum(x, {1}, true) / c, variance = sum(far * far, {1}, true) / c + eps;
  const Tensor d = dy * w, root = sqrt(variance);
  const Tensor dx = d / root - sum(d, {1}, true) / (root * c) - far * sum(d * far, {1}, true) / (variance * root * c);
  return {dx, sum(dy * far / root, {0}), sum(dy, {0})};
}

// Standard normal numbers times the deviation, vectors first.
void right_init(Transformer& model, Generator& generator) {
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 1) parameter.fill(name.ends_with("bias") ? 0 : 1);
  }
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 1) continue;
    double std = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
    if (name.ends_with("c_proj.weight")) std = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
    parameter.copy_from(Tensor::normal(parameter.shape(), 0, 1, generator) * std);
  }
}

// Through KvSlot::store.
Tensor right_decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  slot.store(k, v);
  AttentionOptions options;
  options.kv_len = slot.after.clone();
  return pg::attention(q, slot.k, slot.v, options);
}

}  // namespace

const kit::Mutants<Impl> cache_table(&Impl::decode, cache_mistakes());
const kit::Mutants<Impl> of_attention(&Impl::attention, attention_mistakes(),
                                      {{"attention_after_softmax_divided", "04.1",
                                        "right up to rounding, but the maximum",
                                        wrong_attention<"after_softmax_divided">},
                                       {"right_attention", "04.1", "ok", right_attention}});
const kit::Mutants<Impl> of_attention_backward(
    &Impl::attention_backward, attention_backward_mistakes(),
    {{"backward_minus", "04.2", "the sign is flipped", wrong_attention_backward<"minus">},
     {"backward_no_dq", "04.2", "no gradient arrives", wrong_attention_backward<"no_dq">},
     {"right_attention_backward", "04.2", "ok", right_attention_backward}});
const kit::Mutants<Impl> of_decode(&Impl::decode, decode_mistakes(),
                                   {{"decode_counts_up", "04.5", "work on a clone", wrong_decode<"counts_up">},
                                    {"right_decode", "04.5", "ok", right_decode}});
const kit::Mutants<Impl> of_init_weights(
    &Impl::init_weights,
    {{"init_assigned", "04.4", "parameter.copy_from", wrong_init<"assigned">},
     {"init_constant", "04.4", "all numbers are equal", wrong_init<"constant">},
     {"init_flat", "04.4", "what writes into the stream needs", wrong_init<"flat">},
     {"init_narrow", "04.4", "what reads the stream starts at", wrong_init<"narrow">},
     {"init_wide_embeddings", "04.4", "embeddings start at 0.02", wrong_init<"wide_embeddings">},
     {"init_norm_zero", "04.4", "weights are 1", wrong_init<"norm_zero">},
     {"init_norm_kept", "04.4", "nothing was written", wrong_init<"norm_kept">},
     {"init_one_write", "04.4", "every layer writes twice", wrong_init<"one_write">},
     {"init_no_root", "04.4", "divide by the root of", wrong_init<"no_root">},
     {"init_uniform", "04.4", "uniform", wrong_init<"uniform">},
     {"init_variance", "04.4", "not the variance", wrong_init<"variance">},
     {"init_squared", "04.4", "not the variance", wrong_init<"squared">},
     {"init_writers_from_free", "04.4", "whatever in_proj_std is", wrong_init<"writers_from_free">},
     {"init_random_biases", "04.4", "none is random", wrong_init<"random_biases">},
     {"init_fixed_layers", "04.4", "what writes into the stream needs", wrong_init<"fixed_layers">},
     {"init_fixed_std", "04.4", "what reads the stream starts at", wrong_init<"fixed_std">},
     {"init_own_generator", "04.4", "is not used", wrong_init<"own_generator">},
     {"init_fresh_each", "04.4", "from a fresh generator", wrong_init<"fresh_each">},
     {"init_mean_is_std", "04.4", "the mean is 0", wrong_init<"mean_is_std">},
     {"init_attention_only", "04.4", "what writes into the stream needs", wrong_init<"attention_only">},
     {"init_cut_off", "04.4", "without limits", wrong_init<"cut_off">},
     {"right_init", "04.4", "ok", right_init}});
const kit::Mutants<Impl> of_layer_norm_backward(&Impl::layer_norm_backward, layer_norm_mistakes(),
                                                {{"norm_squares_difference", "04.3", "loses its digits",
                                                  wrong_layer_norm<"squares_difference">},
                                                 {"right_layer_norm", "04.3", "ok", right_layer_norm}});

}  // namespace pg::lesson04
