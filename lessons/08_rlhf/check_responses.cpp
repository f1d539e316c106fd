// Checks of the log-probabilities of whole responses. Expected values come from each response alone, without padding.
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

constexpr size_t kVocabulary = 7;

// Always the same network, without gradients so far.
Transformer network(DType dtype) {
  Generator random(85);
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
  r.chosen = chosen.empty() ? std::vector<uint8_t>(r.tokens.size(), 1) : std::move(chosen);
  return r;
}

// What a response gets, right or wrong.
struct Sums {
  double chosen = 0, all_tokens = 0, with_prompt = 0, no_end = 0, inputs = 0, mean = 0, places = 0, probability = 0;
};
// The sums of a single response. `width`: the padded length of its batch.
Sums sums_of(const Transformer& policy, const Response& r, int64_t width) {
  std::vector<int32_t> all = r.prompt;
  all.insert(all.end(), r.tokens.begin(), r.tokens.end());
  NoGrad no_grad;
  const Numbers logits = policy(Tensor::from(all, {1, static_cast<int64_t>(all.size())})).to_vector();
  const auto log_p = [&](size_t place, int32_t token) {
    double total = 0;
    for (size_t v = 0; v < kVocabulary; ++v) total += std::exp(logits[place * kVocabulary + v]);
    return logits[place * kVocabulary + static_cast<size_t>(token)] - std::log(total);
  };
  Sums s;
  double prompt = 0, count = 0;
  for (size_t t = 1; t < all.size(); ++t) {
    const double each = log_p(t - 1, all[t]);
    if (t < r.prompt.size()) {
      prompt += each;
      continue;
    }
    const bool chosen = r.chosen[t - r.prompt.size()] != 0;
    s.all_tokens += each;
    if (!chosen) continue;
    s.chosen += each;
    s.inputs += log_p(t - 1, all[t - 1]);
    s.probability += std::exp(each);
    ++count;
    if (t + 1 < all.size()) s.no_end += each;
  }
  s.with_prompt = s.all_tokens + prompt;
  s.mean = s.chosen / count;
  s.places = s.chosen / static_cast<double>(width);
  return s;
}

// The gradient at the token embeddings of Σ_b weight[b]·result[b]: of the log-probabilities, or with the normaliser of
// the softmax as a constant.
Value gradient(DType dtype, const std::vector<const Response*>& responses, const Numbers& weight, bool normaliser) {
  const Transformer policy = network(dtype);
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = *responses[b];
    std::vector<int32_t> all = r.prompt;
    all.insert(all.end(), r.tokens.begin(), r.tokens.end());
    const auto count = static_cast<int64_t>(all.size());
    const Tensor logits = policy(Tensor::from(all, {1, count}));
    Tensor total;
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.chosen[t] == 0) continue;
      const Tensor scores = select(select(logits, 1, static_cast<int64_t>(r.prompt.size() + t) - 1), 0, 0);
      const Tensor norm = logsumexp(scores);
      const Tensor log_p = select(scores, 0, r.tokens[t]) - (normaliser ? norm : norm.detach());
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
  int64_t width = 0;
  for (const Response& r : list) {
    responses.push_back(&r);
    width = std::max(width, static_cast<int64_t>(r.prompt.size() + r.tokens.size()) - 1);
  }
  std::vector<Sums> sums;
  for (const Response& r : list) sums.push_back(sums_of(policy, r, width));
  const auto of = [&](double Sums::*member) {
    Numbers out;
    for (const Sums& s : sums) out.push_back(s.*member);
    return Value(out);
  };
  const rl::TokenRows rows = rl::token_rows(responses);
  Value everywhere, flat = of(&Sums::chosen);
  {
    NoGrad no_grad;
    everywhere = sum(squeeze(gather(log_softmax(policy(rows.ids)), 2, unsqueeze(rows.targets, 2)), 2), {1});
  }
  double total = 0;
  for (double x : flat.v) total += x;
  const std::string mean =
      "the mean over tokens: the probability of a response is a product, so its logarithm is a sum";
  const Tensor got = impl.sequence_log_probs(policy, responses);
  g.equal(
      input, got.detach(), of(&Sums::chosen),
      {.rtol = rtol,
       .mistakes = {{mean, of(&Sums::mean)},
                    {mean, of(&Sums::places)},
                    {"tokens that the policy did not choose are in it: use the mask", of(&Sums::all_tokens)},
                    {"the prompt is in it, which nobody chose", of(&Sums::with_prompt)},
                    {"prompt and padding are in it: use the mask", everywhere},
                    {"the end of sequence is left out: to stop is a choice too", of(&Sums::no_end)},
                    {"this is the probability of the ids that were read; take that of the targets", of(&Sums::inputs)},
                    {"probabilities are added up; add up their logarithms", of(&Sums::probability)},
                    {"one number for each response: sum over dim 1 alone", Value({}, {total})}}});
  if (g.failed() || !on_the_tape(g, got, "no NoGrad and no detach() here")) return;
  Numbers weight;
  for (size_t b = 0; b < list.size(); ++b) weight.push_back(1 - 0.6 * static_cast<double>(b));
  backward(got, Tensor::from(weight, {static_cast<int64_t>(weight.size())}).to(got.dtype()));
  g.equal(input + ": the gradient at the token embeddings", policy.wte.weight.grad(),
          gradient(dtype, responses, weight, true),
          as_gradient(rtol * 10,
                      {{"only the targets' own scores have a gradient: the sum over all tokens needs one too, no "
                        "detach()",
                        gradient(dtype, responses, weight, false)}}));
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
