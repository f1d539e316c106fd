// The model of make my_gpt.
#include "lessons/milestones/my_gpt.h"

#include <cmath>
#include <numbers>

#include "lessons/kit/plot.h"
#include "nn/module.h"
#include "tasks/data/text_data.h"

namespace pg::milestones {

MyGpt::MyGpt(const GptPieces& pieces, int64_t v, Generator& generator) : pieces_(pieces), v_(v) {
  const TransformerConfig config{.vocab_size = v,
                                 .block_size = kContext,
                                 .n_layer = 1,
                                 .n_head = kHeads,
                                 .n_embd = kWidth,
                                 .in_proj_std = 1 / std::sqrt(static_cast<double>(kWidth))};
  Transformer names = Transformer::zeros(config);  // only its names and shapes are used
  pieces.gpt.init_weights(names, generator);
  for (auto& [name, parameter] : named_parameters(names)) {
    weights_.emplace(name, parameter.to(f64).clone().set_requires_grad());
    m_[name] = v_of_[name] = std::vector<double>(static_cast<size_t>(parameter.numel()), 0);
  }
}

Tensor MyGpt::norm(const Tensor& x, const std::string& name) const {
  return lesson04::layer_norm(pieces_.gpt, x, weight(name + ".weight"), weight(name + ".bias"));
}

Tensor MyGpt::linear(const Tensor& x, const std::string& name) const {
  const Tensor product = pieces_.tape.matmul(x, transpose(weight(name + ".weight")));
  return lesson02::add(pieces_.tape, product, weight(name + ".bias"));
}

// GELU as GPT-2 has it: x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
Tensor MyGpt::gelu(const Tensor& x) const {
  const auto& [mul, tanh, matmul, pass_summed, gradcheck] = pieces_.tape;
  const Tensor inner = lesson02::add(pieces_.tape, x, mul(x, mul(x, x)) * 0.044715);
  return mul(x * 0.5, tanh(inner * std::sqrt(2 / std::numbers::pi)) + 1.0);
}

Tensor MyGpt::block_with(const Attend& attend, const Tensor& x) const {
  const int64_t b = x.size(0), t = x.size(1);
  const Tensor qkv = linear(reshape(norm(x, "h.0.ln_1"), {b * t, kWidth}), "h.0.attn.c_attn");
  const auto part = [&](int64_t i) {  // [B, H, T, D]
    return transpose(reshape(slice(qkv, 1, i * kWidth, (i + 1) * kWidth), {b, t, kHeads, kHeadSize}), 1, 2);
  };
  const Tensor heads = reshape(transpose(attend(part(0), part(1), part(2)), 1, 2), {b * t, kWidth});
  const Tensor a = lesson02::add(pieces_.tape, reshape(x, {b * t, kWidth}), linear(heads, "h.0.attn.c_proj"));
  const Tensor hidden = gelu(linear(norm(a, "h.0.ln_2"), "h.0.mlp.c_fc"));
  return reshape(lesson02::add(pieces_.tape, a, linear(hidden, "h.0.mlp.c_proj")), {b, t, kWidth});
}

Tensor MyGpt::block(const Tensor& x) const {
  return block_with(
      [&](const Tensor& q, const Tensor& k, const Tensor& v) { return lesson04::attention(pieces_.gpt, q, k, v); }, x);
}

Tensor MyGpt::logits(const Tensor& ids) const {
  const int64_t b = ids.size(0), t = ids.size(1);
  // A row of an embedding is a product with a row of one 1.
  const Tensor tokens = pieces_.tape.matmul(one_hot(reshape(ids, {b * t}), v_, f64), weight("wte.weight"));
  const Tensor x = lesson02::add(pieces_.tape, reshape(tokens, {b, t, kWidth}), slice(weight("wpe.weight"), 0, 0, t));
  const Tensor last = reshape(norm(block(x), "ln_f"), {b * t, kWidth});
  return pieces_.tape.matmul(last, transpose(weight("wte.weight")));
}

Tensor MyGpt::chosen(const Tensor& logits, const Tensor& targets) const {
  return gather(pieces_.language.softmax(logits.detach()), 1, unsqueeze(targets, 1));
}

Tensor MyGpt::loss(const Tensor& logits, const Tensor& targets) const {
  return record(Op::cross_entropy, mean(neg(log(chosen(logits, targets)))), {&logits},
                [this, logits = logits.detach(), targets](const Tensor& dy, Grads& g) {
                  g.pass(0, pieces_.language.cross_entropy_backward(logits, targets) * dy.item());
                });
}

double MyGpt::train(const Tensor& ids, const Tensor& targets, double lr) {
  const Tensor result = loss(logits(ids), targets);
  backward(result);
  ++steps_;
  for (auto& [name, w] : weights_) {
    pieces_.language.adamw(w.data<double>(), w.grad().data<double>(), m_[name], v_of_[name],
                           {.lr = lr,
                            .beta1 = 0.9,
                            .beta2 = 0.99,
                            .eps = 1e-8,
                            .weight_decay = 0,
                            .bias_correction1 = 1 - std::pow(0.9, steps_),
                            .bias_correction2 = 1 - std::pow(0.99, steps_),
                            .grad_scale = 1});
    w.zero_grad();
  }
  return result.item();
}

std::vector<double> MyGpt::next_logits(const KvCache& cache, int32_t id, int64_t position) const {
  const lesson01::Impl& tensors = pieces_.tensors;
  const Tensor &wte = weight("wte.weight"), &wpe = weight("wpe.weight");
  const auto element = [&](const Tensor& of, int64_t row, int64_t c) {
    return of.data<double>()[static_cast<size_t>(tensors.offset_of(row * kWidth + c, of.shape(), of.strides()))];
  };
  const Tensor x = Tensor::zeros(tensors.broadcast_shapes({1, 1, kWidth}, {kWidth}, "add"), f64);
  for (int64_t c = 0; c < kWidth; ++c) {
    x.data<double>()[static_cast<size_t>(c)] = element(wte, id, c) + element(wpe, position, c);
  }
  const KvSlot slot = cache.slots(1)[0];
  const Tensor y = block_with(
      [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return pieces_.gpt.decode(slot, q.contiguous_copy(), k.contiguous_copy(), v.contiguous_copy());
      },
      x);
  cache.advance(1);
  const Tensor last = reshape(norm(y, "ln_f"), {1, kWidth}).to(f32).contiguous_copy(), logits = Tensor::zeros({1, v_});
  tensors.matmul(logits, last, tensors.view_transpose(wte.detach().to(f32), 0, 1).contiguous_copy());
  return logits.to_vector();
}

std::vector<int32_t> MyGpt::write(std::vector<int32_t> ids, int64_t count, const SampleOptions& options, Generator& g,
                                  std::vector<double>* last) const {
  NoGrad guard;
  const KvCache cache(1, 1, kHeads, kContext, kHeadSize, f64);
  std::vector<double> logits;
  for (size_t t = 0; t < ids.size(); ++t) logits = next_logits(cache, ids[t], static_cast<int64_t>(t));
  if (last) *last = logits;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(pieces_.language.sample_token(pieces_.language.filtered_probs(logits, options), g.uniform()));
    if (i + 1 < count) logits = next_logits(cache, ids.back(), std::ssize(ids) - 1);
  }
  return ids;
}

namespace {

Tensor flat(const std::vector<int32_t>& ids) { return Tensor::from(ids, {std::ssize(ids)}); }
Tensor rows(const std::vector<int32_t>& ids) {
  return Tensor::from(ids, {std::ssize(ids) / MyGpt::kContext, MyGpt::kContext});
}

}  // namespace

void train(kit::Demo& demo, MyGpt& model, std::span<const int32_t> text, Generator& g) {
  constexpr int64_t kBatch = 8, kSteps = 1600;
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const Windows w = random_batch(text, kBatch, MyGpt::kContext, g);
    losses.push_back(model.train(rows(w.x), flat(w.y), 0.01 * std::min(1.0, 2.0 * (kSteps - step) / kSteps)));
    if (step % 10 == 0) demo.status(fmt::format("step {} of {}  loss {:.3f}", step, kSteps, losses.back()));
  }
  kit::Series curve{.name = fmt::format("training loss, {} windows of {} a step", kBatch, MyGpt::kContext),
                    .y = kit::thinned(losses, 80)};
  for (size_t i = 0; i < curve.y.size(); ++i) curve.x.push_back(static_cast<double>(i * kSteps / curve.y.size()));
  demo.show(kit::line_plot({curve}, {.x_label = "step", .y_label = "nats", .height = 10}));
  demo.gap();
}

Surprises surprises(const MyGpt& model, std::span<const int32_t> text) {
  NoGrad guard;
  const Windows w = window_batch(text, 0, 64, MyGpt::kContext);
  return {neg(log(model.chosen(model.logits(rows(w.x)), flat(w.y)))).to_vector(), w.y};
}

double Surprises::mean() const {
  double sum = 0;
  for (const double x : nats) sum += x;
  return sum / static_cast<double>(nats.size());
}

}  // namespace pg::milestones
