// Checks on pairs: Bradley-Terry, log-probabilities of whole responses, DPO. Expected values are computed here element
// by element, in plain double.
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader;
using kit::Value;

double minus_log_sigmoid(double x) { return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Tensor leaf(const std::vector<double>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())}).set_requires_grad();
}
Value gradient_of(const Tensor& x) { return has_grad(x) ? Value(x.grad()) : Value(zeros_like(x)); }

// Applies f to the elements of two or three lists, position by position.
template <class F, class... List>
Value map(F f, const std::vector<double>& first, const List&... rest) {
  std::vector<double> out;
  for (size_t i = 0; i < first.size(); ++i) out.push_back(f(first[i], rest[i]...));
  return Value(out);
}

const std::vector<double> kChosen = {1.2, -0.3, 2.5, 0.4, -1.1}, kRejected = {0.7, 0.9, -1.4, 0.1, -1.6};

}  // namespace

void check_bradley_terry_loss(Grader& g, const Impl& impl) {
  const auto& c = kChosen;
  const auto& r = kRejected;
  const std::vector<double> m = {0.5, 0.25, 1, 0.1, 2};
  const auto loss = [](double a, double b) { return minus_log_sigmoid(a - b); };
  g.equal("chosen, rejected [5], no margin, centring 0", impl.bradley_terry_loss(leaf(c), leaf(r), {}, 0).detach(),
          map(loss, c, r),
          {.mistakes = {{"the sign of the difference: this teaches to prefer the rejected one", map(loss, r, c)},
                        {"the difference itself; the loss is -log σ of it", map(std::minus<>(), r, c)},
                        {"this is σ(chosen - rejected), a probability: the loss is minus its logarithm",
                         map([](double a, double b) { return sigmoid(a - b); }, c, r)}}});
  if (g.failed()) return;
  const Tensor chosen = leaf(c), rejected = leaf(r), margin = leaf(m);
  const Tensor got = impl.bradley_terry_loss(chosen, rejected, margin, 0);
  const auto with_margin = [](double a, double b, double k) { return minus_log_sigmoid(a - b - k); };
  g.equal("the same with a margin [5]", got.detach(), map(with_margin, c, r, m),
          {.mistakes = {{"the margin is added; subtracted it asks for more distance, added for less",
                         map([](double a, double b, double k) { return minus_log_sigmoid(a - b + k); }, c, r, m)},
                        {"the margin is not used", map(loss, c, r)},
                        {"the margin is outside of the sigmoid",
                         map([](double a, double b, double k) { return minus_log_sigmoid(a - b) - k; }, c, r, m)}}});
  if (g.failed() || !g.expect(got.requires_grad(), "the result", "no tape", "a tensor on the tape",
                              "without a gradient nothing is learned: use ops all the way")) {
    return;
  }
  backward(sum(got));
  const Value slope = map([](double a, double b, double k) { return -sigmoid(-(a - b - k)); }, c, r, m);
  g.equal("the gradient at chosen: -σ(-(chosen - rejected - margin))", gradient_of(chosen), slope);
  g.equal("the gradient at rejected", gradient_of(rejected),
          map([](double a, double b, double k) { return sigmoid(-(a - b - k)); }, c, r, m));
  g.equal("the gradient at the margin, a constant", gradient_of(margin), Tensor::zeros({5}, f64));
  const auto with = [&](auto centre) {
    return map([=](double a, double b) { return loss(a, b) + centre(a, b); }, c, r);
  };
  g.equal("no margin, centring 0.01", impl.bradley_terry_loss(leaf(c), leaf(r), {}, 0.01).detach(),
          with([](double a, double b) { return 0.01 * (a + b) * (a + b); }),
          {.mistakes = {{"the centring term is missing: scores may drift anywhere together", map(loss, c, r)},
                        {"the difference is centred; that pulls the two together. Centre their sum",
                         with([](double a, double b) { return 0.01 * (a - b) * (a - b); })},
                        {"the sum is not squared: this only pushes scores down",
                         with([](double a, double b) { return 0.01 * (a + b); })}}});
  g.equal("scores {-800, 800} and {800, -800}",
          impl.bradley_terry_loss(leaf({-800, 800}), leaf({800, -800}), {}, 0).detach(), Value({2}, {1600, 0}),
          {.mistakes = {
               {"σ rounds to 0 and its logarithm is -infinity: -log σ(x) is softplus(-x)", Value({2}, {INFINITY, 0})},
               {"e to a large power overflows: -log σ(x) is softplus(-x)", Value({2}, {INFINITY, 0})}}});
  g.note("margin, centring, gradients, and scores 1600 apart");
}

void check_sequence_log_probs(Grader& g, const Impl& impl) {
  Generator random(85);
  Transformer policy(
      {.vocab_size = 7, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8, .in_proj_std = 0.4, .dtype = f64},
      random);
  policy.wte.weight.detach().copy_from(Tensor::normal({7, 8}, 0, 0.7, random, f64));  // else tokens are equally likely
  const auto response = [](std::vector<int32_t> prompt, std::vector<int32_t> tokens) {
    Response r;
    r.prompt = std::move(prompt);
    r.tokens = std::move(tokens);
    r.chosen.assign(r.tokens.size(), 1);
    return r;
  };
  const std::vector<Response> responses = {response({1, 2}, {3, 4, 0}), response({5}, {0}),
                                           response({2, 2, 6}, {1, 5, 3, 0})};
  const std::vector<const Response*> view = {&responses[0], &responses[1], &responses[2]};

  // Each response alone, without padding: log p of token t given all tokens before it.
  std::vector<double> want, mean, with_prompt, no_end, beside;
  {
    NoGrad no_grad;
    for (const Response& r : responses) {
      std::vector<int32_t> all = r.prompt;
      all.insert(all.end(), r.tokens.begin(), r.tokens.end());
      const auto n = static_cast<int64_t>(all.size());
      const std::vector<double> logits = policy(Tensor::from(all, {1, n})).to_vector();
      const auto log_p = [&](size_t place, int32_t token) {
        double total = 0;
        for (size_t v = 0; v < 7; ++v) total += std::exp(logits[place * 7 + v]);
        return logits[place * 7 + static_cast<size_t>(token)] - std::log(total);
      };
      double whole = 0, prompt = 0, shifted = 0;
      for (size_t t = 1; t < all.size(); ++t) (t < r.prompt.size() ? prompt : whole) += log_p(t - 1, all[t]);
      for (size_t t = r.prompt.size(); t < all.size(); ++t) shifted += log_p(t - 1, all[t - 1]);
      want.push_back(whole);
      mean.push_back(whole / static_cast<double>(r.tokens.size()));
      with_prompt.push_back(whole + prompt);
      no_end.push_back(whole - log_p(all.size() - 2, all.back()));
      beside.push_back(shifted);
    }
  }
  const rl::TokenRows rows = rl::token_rows(view);
  Value everywhere, mean_of_places;
  {
    NoGrad no_grad;
    const Tensor all = squeeze(gather(log_softmax(policy(rows.ids)), 2, unsqueeze(rows.targets, 2)), 2);
    everywhere = sum(all, {1});
    mean_of_places = pg::mean(where(rows.mask, all, Tensor::scalar(0, f64)), {1});
  }
  const std::string mean_words =
      "the mean over tokens: the probability of a response is a product, so its logarithm is a sum";
  const Tensor got = impl.sequence_log_probs(policy, view);
  g.equal(
      "prompt | response: 1 2 | 3 4 0,  5 | 0,  2 2 6 | 1 5 3 0", got.detach(), Value(want),
      {.mistakes = {{mean_words, Value(mean)},
                    {mean_words, mean_of_places},
                    {"the prompt is in it, which nobody chose", Value(with_prompt)},
                    {"prompt and padding are in it: use the mask", everywhere},
                    {"the end of sequence is left out: to stop is a choice too", Value(no_end)},
                    {"this is the probability of the ids that were read; take that of the targets", Value(beside)}}});
  if (g.failed() || !g.expect(got.requires_grad(), "the result", "no tape", "a tensor on the tape",
                              "without a gradient nothing is learned: no NoGrad and no detach() here")) {
    return;
  }
  const std::vector<const Response*> others = {&responses[2], &responses[0]};
  g.equal("the third response and the first", impl.sequence_log_probs(policy, others).detach(),
          Value(std::vector<double>{want[2], want[0]}));
  g.note("three responses in one batch, and two, each as if it were alone");
}

void check_dpo_loss(Grader& g, const Impl& impl) {
  const std::vector<double> c = {-4.1, -7.3, -2.2, -9.5}, r = {-5.6, -6.1, -4.9, -9.1}, rc = {-4.8, -6.9, -3.3, -8.0},
                            rr = {-5.0, -6.6, -3.7, -9.9};
  const DpoOptions options{.beta = 0.3};
  const double b = options.beta;
  const DpoLoss first = impl.dpo_loss(leaf(c), leaf(r), leaf(c), leaf(r), options);
  g.equal("the policy is the reference: loss", first.loss.detach(), Value(std::vector<double>(4, std::numbers::ln2)),
          {.mistakes = {
               {"the reference is not used: before the first step the loss is ln 2 for every pair",
                map([&](double x, double y) { return minus_log_sigmoid(b * (x - y)); }, c, r)},
               {"the reference's log-probabilities are added",
                map([&](double x, double y) { return minus_log_sigmoid(2 * b * (x - y)); }, c, r)},
               {"this is σ(0), a probability: the loss is minus its logarithm", Value(std::vector<double>(4, 0.5))}}});
  if (g.failed()) return;
  const auto delta = [&](size_t i) { return (c[i] - rc[i]) - (r[i] - rr[i]); };
  const auto of_delta = [&](auto f) {
    std::vector<double> out;
    for (size_t i = 0; i < 4; ++i) out.push_back(f(delta(i)));
    return Value(out);
  };
  const Tensor chosen = leaf(c), rejected = leaf(r), ref_chosen = leaf(rc), ref_rejected = leaf(rr);
  const DpoLoss got = impl.dpo_loss(chosen, rejected, ref_chosen, ref_rejected, options);
  g.equal("random log-probabilities [4], β 0.3: loss", got.loss.detach(),
          of_delta([&](double d) { return minus_log_sigmoid(b * d); }),
          {.mistakes = {
               {"the sign of Δ: this makes the rejected response likelier",
                of_delta([&](double d) { return minus_log_sigmoid(-b * d); })},
               {"β is forgotten", of_delta([](double d) { return minus_log_sigmoid(d); })},
               {"divided by β", of_delta([&](double d) { return minus_log_sigmoid(d / b); })},
               {"the reference's log-probabilities are added",
                map([&](double x, double y, double z, double w) { return minus_log_sigmoid(b * ((x + z) - (y + w))); },
                    c, r, rc, rr)}}});
  const auto reward = [&](double now, double ref) { return b * (now - ref); };
  const auto bare = [&](double now, double ref) { return now - ref; };
  const std::string no_beta = "β is forgotten in the implicit rewards";
  g.equal("chosen_reward", got.chosen_reward.detach(), map(reward, c, rc), {.mistakes = {{no_beta, map(bare, c, rc)}}});
  g.equal("rejected_reward", got.rejected_reward.detach(), map(reward, r, rr),
          {.mistakes = {{no_beta, map(bare, r, rr)}}});
  if (g.failed()) return;
  g.expect(!got.chosen_reward.requires_grad() && !got.rejected_reward.requires_grad(), "the implicit rewards",
           "on the tape", "without gradient", "they are to look at, not to learn from: detach() them");
  if (g.failed() || !g.expect(got.loss.requires_grad(), "the loss", "no tape", "a tensor on the tape",
                              "without a gradient nothing is learned: detach the reference, not the policy")) {
    return;
  }
  backward(sum(got.loss));
  const auto slope = [&](double sign) { return of_delta([&](double d) { return sign * b * sigmoid(-b * d); }); };
  g.equal("the gradient at chosen: -β·σ(-βΔ)", gradient_of(chosen), slope(-1));
  g.equal("the gradient at rejected: the same with a plus", gradient_of(rejected), slope(1));
  g.equal("the gradient at ref_chosen", gradient_of(ref_chosen), Tensor::zeros({4}, f64),
          {.mistakes = {{"a gradient flows into the reference, which must stay as it is: detach() it", slope(1)}}});
  g.equal("the gradient at ref_rejected", gradient_of(ref_rejected), Tensor::zeros({4}, f64),
          {.mistakes = {{"a gradient flows into the reference, which must stay as it is: detach() it", slope(-1)}}});
  g.equal("Δ = ±6000",
          impl.dpo_loss(leaf({-6000, 0}), leaf({0, -6000}), leaf({0, 0}), leaf({0, 0}), options).loss.detach(),
          Value({2}, {1800, 0}),
          {.mistakes = {{"σ rounds to 0 and its logarithm is -infinity: -log σ(x) is softplus(-x)",
                         Value({2}, {INFINITY, 0})}}});
  g.note("ln 2 at the start, values, rewards, gradients, and Δ = 6000");
}

}  // namespace pg::lesson08
