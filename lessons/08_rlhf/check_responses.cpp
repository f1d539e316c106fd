// Checks of the log-probabilities of whole responses. Expected values come from each response alone, without padding.
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

constexpr size_t kVocabulary = 7;

// Always the same network, without gradients so far.
Transformer network(DType dtype) {
  Generator random = kit::draws(85);
  Transformer policy(
      {.vocab_size = 7, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8, .in_proj_std = 0.4, .dtype = dtype},
      random);
  const Tensor weights = Tensor::normal({7, 8}, 0, 0.7, random, f64).to(dtype);
  policy.wte.weight.detach().copy_from(weights);  // otherwise all tokens are nearly equally likely
  return policy;
}

Response response(std::vector<int32_t> prompt, std::vector<int32_t> tokens, std::vector<uint8_t> chosen = {}) {
  Response r;
  r.prompt = std::move(prompt);
  r.tokens = std::move(tokens);
  r.action_mask = chosen.empty() ? std::vector<uint8_t>(r.tokens.size(), 1) : std::move(chosen);
  return r;
}

// The tokens of prompt and response.
std::vector<int32_t> tokens_of(const Response& r) {
  std::vector<int32_t> all = r.prompt;
  all.insert(all.end(), r.tokens.begin(), r.tokens.end());
  return all;
}

// The sum of a single response.
double sum_of(const Transformer& policy, const Response& r) {
  const std::vector<int32_t> all = tokens_of(r);
  NoGrad no_grad;
  const Numbers logits = policy(Tensor::from(all, {1, std::ssize(all)})).to_vector();
  double sum = 0;
  for (size_t t = 0; t < r.tokens.size(); ++t) {
    if (r.action_mask[t] == 0) continue;
    const double* scores = logits.data() + (r.prompt.size() + t - 1) * kVocabulary;
    double total = 0;
    for (size_t v = 0; v < kVocabulary; ++v) total += std::exp(scores[v]);
    sum += scores[r.tokens[t]] - std::log(total);
  }
  return sum;
}

// The gradient at the token embeddings of Σ_b weight[b]·result[b], from one response after another.
Value gradient(DType dtype, const std::vector<const Response*>& responses, const Numbers& weight) {
  const Transformer policy = network(dtype);
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = *responses[b];
    const std::vector<int32_t> all = tokens_of(r);
    const Tensor logits = policy(Tensor::from(all, {1, std::ssize(all)}));
    Tensor total;
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.action_mask[t] == 0) continue;
      const Tensor scores = select(select(logits, 1, static_cast<int64_t>(r.prompt.size() + t) - 1), 0, 0);
      const Tensor log_p = select(scores, 0, r.tokens[t]) - logsumexp(scores);
      total = total.defined() ? total + log_p : log_p;
    }
    if (total.defined()) backward(total * weight[b]);
  }
  return policy.wte.weight.grad();
}

void compare(Grader& g, const Impl& impl, const std::string& input, const std::vector<Response>& list,
             DType dtype = f64) {
  if (g.failed()) return;
  const double rtol = dtype == f32 ? kSingle : kDouble;
  const Transformer policy = network(dtype);
  std::vector<const Response*> responses;
  Numbers want, weight;
  for (const Response& r : list) {
    responses.push_back(&r);
    want.push_back(sum_of(policy, r));
    weight.push_back(1 - 0.6 * static_cast<double>(weight.size()));
  }
  const Tensor arrives = Tensor::from(weight, {std::ssize(weight)}).to(dtype);
  std::vector<kit::Mistake> sums, gradients;
  for (const auto& row : log_prob_mistakes()) {
    const Transformer fresh = network(dtype);
    const Tensor wrong = row.wrong(fresh, responses);
    sums.push_back({row.says, wrong.detach()});
    if (wrong.shape() != arrives.shape()) continue;
    backward(wrong, arrives);
    gradients.push_back({row.says, fresh.wte.weight.grad()});
  }
  const Tensor got = impl.sequence_log_probs(policy, responses);
  g.equal(input, got.detach(), want, {.rtol = rtol, .mistakes = sums});
  if (g.failed() || !on_the_tape(g, got, "no NoGrad and no detach() here")) return;
  backward(got, arrives.to(got.dtype()));
  g.equal(input + ": the gradient at the token embeddings", policy.wte.weight.grad(),
          gradient(dtype, responses, weight), as_gradient(rtol * 10, gradients));
}

}  // namespace

void check_sequence_log_probs(Grader& g, const Impl& impl) {
  const Response first = response({1, 2}, {3, 4, 0}), second = response({5}, {0}),
                 third = response({2, 2, 6}, {1, 5, 3, 0}), played = response({4, 1}, {3, 6, 6, 2, 0}, {1, 0, 0, 1, 1});
  compare(g, impl, "prompt | response: 1 2 | 3 4 0,  5 | 0,  2 2 6 | 1 5 3 0", {first, second, third});
  compare(g, impl, "the third response and the first", {third, first});
  compare(g, impl, "one response: 5 | 0", {second});
  compare(g, impl, "4 1 | 3 6 6 2 0, the sixes from the world, and 5 | 0", {played, second});
  compare(g, impl, "1 2 | 3 4 0 and 5 | 0 in f32", {first, second}, f32);
  g.note("one to three responses, each as if it were alone, gradients, f32");
}

}  // namespace pg::lesson08
