// Rollouts and the data computed from them: alignment, masks, log-probabilities, references.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "nn/param_slab.h"
#include "rl/text/references.h"
#include "rl/text/rollout.h"
#include "rl/text/update.h"
#include "tasks/text/text_task.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::problems_of;

namespace {

Transformer make_policy(const TextTask& task, DType dtype = f32) {
  Generator g(5);
  Transformer policy({.vocab_size = task.vocab_size(),
                      .block_size = block_size_for(task),
                      .n_layer = 2,
                      .n_head = 2,
                      .n_embd = 16,
                      .dtype = dtype},
                     g);
  for (const auto& [name, parameter] : named_parameters(policy)) {
    parameter.detach().copy_from((parameter.detach() + Tensor::normal(parameter.shape(), 0, 0.3, g, dtype)).detach());
  }
  policy.eval();
  return policy;
}

// Sets the values at the tokens of response b.
void set_row(const Tensor& x, const Batch& batch, size_t b, const std::vector<double>& values) {
  const auto first = static_cast<int64_t>(b) * x.size(1) + batch.prompts[b] - 1;
  std::copy(values.begin(), values.end(), x.data<double>().begin() + first);
}

// [B, T], as batches hold them.
std::vector<double> sampler_log_probs(std::span<const Response* const> rows) {
  Experience e;
  for (const Response* r : rows) e.responses.push_back(*r);
  return make_batch(e).sampler_log_prob.to_vector();
}

// Compares the gradients in the slab with central differences of f at 60 positions.
void check_gradient(ParamSlab& slab, const std::function<double()>& f) {
  Generator g(1);
  const auto values = slab.params().data<double>();
  const std::vector<double> grads = slab.grads().to_vector();
  double largest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const auto& segments = slab.segments();
    const auto& s = segments[static_cast<size_t>(g.integer(static_cast<int64_t>(segments.size())))];
    const auto i = static_cast<size_t>(s.begin + g.integer(numel(s.shape)));
    const double before = values[i], h = 1e-5;
    values[i] = before + h;
    slab.bump_version();
    const double up = f();
    values[i] = before - h;
    slab.bump_version();
    const double down = f();
    values[i] = before;
    slab.bump_version();
    INFO(s.name);
    CHECK(std::abs((up - down) / (2 * h) - grads[i]) < 1e-8);
    largest = std::max(largest, std::abs(grads[i]));
  }
  CHECK(largest > 1e-3);
}

}  // namespace

TEST_CASE("rollout: the trainer gives the sampler's log-probabilities bit for bit", "[rl][rollout]") {
  for (const char* name : {"reverse", "guess"}) {  // tasks with one turn and with many turns
    for (const double temperature : {1.0, 0.6, 1.7}) {
      const auto task = make_text_task(name);
      Transformer policy = make_policy(*task);
      const Experience e = rollout(policy, *task, problems_of(*task, 6),
                                   {.samples = 4, .temperature = temperature, .max_rows = 7, .seed = 3});
      REQUIRE(e.responses.size() == 24);
      auto batch = pointers(e.responses);
      const auto check_rows = [&](std::span<const Response* const> rows) {
        const TokenRows tokens = token_rows(rows);
        const std::vector<double> got = score_tokens(policy, tokens, temperature).log_prob.to_vector();
        CHECK(got == sampler_log_probs(rows));
      };
      check_rows(batch);
      std::reverse(batch.begin(), batch.end());  // batch order does not matter
      check_rows(batch);
      for (const Response* r : batch) check_rows({&r, 1});  // other rows and padding do not matter either
    }
  }
}

TEST_CASE("rollout: the end of sequence is learned, nothing after it exists, and it gets the reward", "[rl][rollout]") {
  const auto task = make_text_task("sort");
  Transformer policy = make_policy(*task);
  const Experience e = rollout(policy, *task, problems_of(*task, 20), {.samples = 4, .seed = 1});
  int finished = 0;
  for (const Response& r : e.responses) {
    for (size_t t = 0; t < r.tokens.size(); ++t)
      CHECK((r.tokens[t] == task->end_id()) == (r.finished && t + 1 == r.tokens.size()));
    CHECK(r.action_mask == std::vector<uint8_t>(r.tokens.size(), 1));
    finished += r.finished;
  }
  CHECK(finished > 0);
  CHECK(finished < 80);

  Response r;
  r.prompt = {7, 8};
  r.tokens = {1, 2, 10, 14, 3};
  r.action_mask = {1, 1, 1, 0, 0};
  r.score.reward = 0.5;
  const Batch batch = make_batch({.responses = {r}});
  // On the policy's last token, not on the environment's.
  CHECK(of_response(batch.reward, batch, 0) == std::vector<double>{0, 0, 0.5, 0, 0});
  CHECK(batch.reward.to_vector() == std::vector<double>{0, 0, 0, 0.5, 0, 0});
  r.action_mask = {0, 0, 0, 0, 0};
  CHECK_THROWS_AS(make_batch({.responses = {r}}), Error);
}

TEST_CASE("rollout: the environment's tokens are read but not learned", "[rl][rollout]") {
  const auto task = make_text_task("guess");
  Transformer policy = make_policy(*task);
  policy.wpe.weight.detach().fill(0);  // no positions: any order of digits, so many guesses
  const Experience e = rollout(policy, *task, problems_of(*task, 40), {.samples = 8, .seed = 1});
  size_t answers = 0;
  for (const Response& r : e.responses) {
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.action_mask[t]) continue;
      ++answers;
      CHECK((r.tokens[t] == 14 || r.tokens[t] == 15));
      CHECK(r.tokens[t - 1] == 10);
      CHECK(r.sampler_log_probs[t] == 0);
    }
    CHECK(r.length() <= task->max_response());
  }
  CHECK(answers > 0);
  const auto all = pointers(e.responses);
  const TokenRows rows = token_rows(all);
  double masked = 0;
  for (const double m : rows.mask.to_vector()) masked += m;
  double length = 0;
  for (const Response& r : e.responses) length += static_cast<double>(r.length());
  CHECK(masked == length);
}

TEST_CASE("rollout: a stop string ends its own row, once its text is there", "[rl][rollout]") {
  const auto task = imitate_task({.length = 12, .context = 4});
  Transformer policy = make_policy(*task);
  const auto problems = problems_of(*task, 30);
  const Experience free = rollout(policy, *task, problems, {.samples = 2, .seed = 1});
  const Experience stopped = rollout(policy, *task, problems, {.samples = 2, .seed = 1, .stop_strings = {"e", "th"}});
  size_t ended = 0;
  for (size_t i = 0; i < free.responses.size(); ++i) {
    const std::string whole = task->text(free.responses[i].tokens);
    const size_t at =
        std::min(whole.find("e") + 1, whole.find("th") == std::string::npos ? whole.size() : whole.find("th") + 2);
    const std::string want = at == 0 ? whole : whole.substr(0, at);
    CHECK(task->text(stopped.responses[i].tokens) ==
          (whole.find("e") == std::string::npos && whole.find("th") == std::string::npos ? whole : want));
    ended += task->text(stopped.responses[i].tokens) != whole;
  }
  CHECK(ended > 0);
}

TEST_CASE("rollout: exhaustive tries every first token, with the policy's own log-probability", "[rl][rollout]") {
  const auto task = make_text_task("copy", {{"length", "3"}});
  Transformer policy = make_policy(*task);
  const RolloutOptions options{.samples = task->vocab_size(), .temperature = 0.8, .seed = 2, .exhaustive = true};
  const Experience e = rollout(policy, *task, problems_of(*task, 3), options);
  REQUIRE(e.responses.size() == 3 * 16);
  for (size_t p = 0; p < 3; ++p) {
    double total = 0;
    for (size_t v = 0; v < 16; ++v) {
      const Response& r = e.responses[p * 16 + v];
      CHECK(r.tokens[0] == static_cast<int32_t>(v));
      CHECK(static_cast<int64_t>(r.tokens.size()) <= task->max_response());
      CHECK(r.finished == (r.tokens.back() == task->end_id()));
      if (r.tokens[0] == task->end_id()) CHECK(r.tokens.size() == 1);
      total += std::exp(r.sampler_log_probs[0]);
    }
    CHECK(std::abs(total - 1) < 1e-5);
  }
  const auto all = pointers(e.responses);
  CHECK(score_tokens(policy, token_rows(all), 0.8).log_prob.to_vector() == sampler_log_probs(all));
  CHECK_THROWS_AS(rollout(policy, *task, problems_of(*task, 1), {.samples = 4, .exhaustive = true}), Error);
}

TEST_CASE("packed rows: every position once, with the bits of the padded grid", "[rl][rollout]") {
  const auto task = make_text_task("sort", {{"length", "4"}});
  Transformer policy = make_policy(*task);
  const std::vector<Problem> problems = problems_of(*task, 3);
  const Experience e = rollout(policy, *task, problems, {.samples = 4, .seed = 3});
  const std::vector<const Response*> all = pointers(e.responses);
  const TokenRows rows = token_rows(all);
  // The positions that must be computed: each distinct beginning of prompt and response, without the last token, once.
  std::set<std::vector<int32_t>> beginnings;
  for (const Response* r : all) {
    std::vector<int32_t> text = r->prompt;
    text.insert(text.end(), r->tokens.begin(), r->tokens.end());
    for (size_t n = 1; n < text.size(); ++n) beginnings.emplace(text.begin(), text.begin() + static_cast<int64_t>(n));
  }
  CHECK(rows.packed.ids.numel() == static_cast<int64_t>(beginnings.size()));
  CHECK(rows.packed.ids.numel() < rows.ids.numel());

  ParamSlab slab(policy);
  const auto gradient = [&](bool checkpoint_blocks) {
    policy.checkpoint_blocks = checkpoint_blocks;
    slab.zero_grad();
    backward(sum(score_tokens(policy, rows).log_prob));
    slab.fill_missing_grads();
    return slab.grads().to_vector();
  };
  CHECK(gradient(true) == gradient(false));

  NoGrad no_grad;
  const auto packed = policy.hidden(rows.packed).to_vector(), padded = policy.hidden(rows.ids).to_vector();
  const auto c = static_cast<size_t>(policy.config.n_embd), t = static_cast<size_t>(rows.ids.size(1));
  for (size_t b = 0; b < all.size(); ++b) {
    const size_t end = all[b]->prompt.size() + all[b]->tokens.size() - 1;
    for (size_t i = b * t * c; i < (b * t + end) * c; ++i) CHECK(packed[i] == padded[i]);
  }
}

TEST_CASE("update: the gradient over all responses is that of the expected reward", "[rl][rollout]") {
  // All responses of two tokens, weighted by their probability, compared with central differences of E[reward]. A
  // policy that sees its own token, or a mask that is off by one, would fail.
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = make_policy(*task, f64);
  const auto v = static_cast<int32_t>(task->vocab_size());
  std::vector<Response> all;
  for (int32_t a = 0; a < v; ++a) {
    for (int32_t b = 0; b < v; ++b) {
      Response r;
      r.prompt = {3, 11};
      r.tokens = {a, b};
      r.action_mask = {1, 1};
      r.score.reward = std::sin(3 * a + 7 * b);
      all.push_back(r);
    }
  }
  std::vector<const Response*> view;
  for (const Response& r : all) view.push_back(&r);
  const auto probabilities = [&] {
    NoGrad no_grad;
    return exp(sum(score_tokens(policy, token_rows(view)).log_prob, {1})).to_vector();
  };
  const std::vector<double> p = probabilities();
  double total = 0;
  for (const double x : p) total += x;
  CHECK(std::abs(total - 1) < 1e-12);
  const auto n = static_cast<double>(all.size());
  Batch batch = make_batch({.responses = all});
  batch.old_log_prob = batch.sampler_log_prob;
  batch.advantage = Tensor::zeros(batch.mask.shape(), f64);
  for (size_t i = 0; i < all.size(); ++i) {
    // The loss divides by n, and the expectation weights by p. The baseline 0.3 must not change the result.
    set_row(batch.advantage, batch, i, std::vector<double>(2, n * p[i] * (all[i].score.reward - 0.3)));
  }
  Algorithm a = algorithm("reinforce_baseline");
  a.weight = "none";
  ParamSlab slab(policy);
  slab.zero_grad();
  LossTerms terms;
  backward(micro_batch_loss({.algorithm = a, .policy = policy, .total = {.sequences = n}}, batch, terms));
  slab.fill_missing_grads();
  const auto expected_reward = [&] {
    const std::vector<double> now = probabilities();
    double j = 0;
    for (size_t i = 0; i < all.size(); ++i) j += now[i] * all[i].score.reward;
    return j;
  };
  check_gradient(slab, [&] { return -expected_reward(); });
}

// Both losses share one graph, so the gradient includes the effect of the value head on the trunk.
TEST_CASE("update: a value head on the policy has the gradients of finite differences", "[rl][rollout]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = make_policy(*task, f64);
  Generator g(4);
  Linear head(policy.config.n_embd, 1, true, Init(g, f64));
  std::vector<Response> all;
  for (int32_t a = 0; a < 3; ++a) {
    Response r;
    r.prompt = {3, 11};
    r.tokens = {a, 4, 10};
    r.action_mask = {1, 1, 1};
    r.sampler_log_probs = {-2.6, -2.9, -2.7};
    all.push_back(r);
  }
  Batch batch = make_batch({.responses = all});
  batch.old_log_prob = batch.sampler_log_prob;
  for (Tensor Batch::*member : {&Batch::advantage, &Batch::returns, &Batch::value}) {
    batch.*member = Tensor::zeros(batch.mask.shape(), f64);
  }
  for (size_t i = 0; i < 3; ++i) {
    const auto a = static_cast<double>(i);
    set_row(batch.advantage, batch, i, {0.5, -a, 0.2});
    set_row(batch.returns, batch, i, {a, 0.3, 0.7});
    set_row(batch.value, batch, i, {0.1, 0.2, -0.4});
  }
  Algorithm a = algorithm("ppo");
  a.value_coef = 0.7;
  LossTerms terms;
  const Update update{.algorithm = a, .policy = policy, .value_head = &head, .total = {.tokens = 9, .sequences = 3}};
  ParamSlab trunk(policy), top(head);
  trunk.zero_grad();
  top.zero_grad();
  backward(micro_batch_loss(update, batch, terms));
  trunk.fill_missing_grads();
  const auto loss = [&] {
    NoGrad no_grad;
    LossTerms unused;
    return micro_batch_loss(update, batch, unused).item();
  };
  check_gradient(trunk, loss);
  check_gradient(top, loss);
  const LossSums sums = read_sums(a, {terms})[0];
  CHECK(sums.value_loss > 0.01);
  CHECK(sums.loss + a.value_coef * sums.value_loss == Approx(loss()).epsilon(1e-12));

  // A separate value model that is a copy gives the same loss and does not change the policy's trunk.
  ScalarModel model(policy, 0, g);
  load_state_dict(model.head, state_dict(head));
  const Update apart{.algorithm = a, .policy = policy, .critic = &model, .total = {.tokens = 9, .sequences = 3}};
  const std::vector<double> shared = trunk.grads().to_vector();
  trunk.zero_grad();
  LossTerms again;
  const Tensor separate = micro_batch_loss(apart, batch, again);
  CHECK(separate.item() == Approx(loss()).epsilon(1e-12));
  backward(separate);
  trunk.fill_missing_grads();
  CHECK(trunk.grads().to_vector() != shared);
}

TEST_CASE("credit: responses, positions and groups by hand", "[rl][rollout]") {
  // Two prompts with two responses each; rewards per token.
  Experience e;
  e.samples = 2;
  const std::vector<std::vector<double>> rewards = {{1, 2}, {3}, {0, 0, 4}, {1, 1}};
  for (const auto& r : rewards) {
    Response x;
    x.prompt.assign(1 + e.responses.size() % 2, 0);  // prompts of different lengths: positions count from the response
    x.tokens.assign(r.size(), 1);
    x.action_mask.assign(r.size(), 1);
    x.score.per_token = r;
    e.responses.push_back(x);
  }
  MovingBaseline moving;
  const auto advantages = [&](const char* credit, const char* baseline) {
    Algorithm a;
    a.credit = credit;
    a.baseline = baseline;
    Batch batch = make_batch(e);
    const Tensor all = rl::advantages(a, batch, moving);
    std::vector<std::vector<double>> result;
    for (size_t b = 0; b < e.responses.size(); ++b) result.push_back(of_response(all, batch, b));
    return result;
  };
  using V = std::vector<std::vector<double>>;
  CHECK(advantages("response", "none") == V{{3, 3}, {3}, {4, 4, 4}, {2, 2}});
  CHECK(advantages("to_go", "none") == V{{3, 2}, {3}, {4, 4, 4}, {2, 1}});
  CHECK(advantages("token", "none") == V{{1, 2}, {3}, {0, 0, 4}, {1, 1}});
  CHECK(advantages("response", "group_mean") == V{{0, 0}, {0}, {1, 1, 1}, {-1, -1}});
  CHECK(advantages("response", "leave_one_out") == V{{0, 0}, {0}, {2, 2, 2}, {-2, -2}});
  CHECK(advantages("response", "batch_mean") == V{{0, 0}, {0}, {1, 1, 1}, {-1, -1}});
  // Compared at the same position of the same prompt. Responses that have ended do not take part.
  CHECK(advantages("to_go", "group_mean") == V{{0, 0}, {0}, {1, 1.5, 0}, {-1, -1.5}});
  CHECK(advantages("token", "group_mean") == V{{-1, 0}, {1}, {-0.5, -0.5, 0}, {0.5, 0.5}});
  CHECK(advantages("response", "moving") == V{{3, 3}, {3}, {4, 4, 4}, {2, 2}});
  CHECK(advantages("response", "moving") == V{{0, 0}, {0}, {1, 1, 1}, {-1, -1}});
  // lengths 3 and 2: (3·4 + 2·2)/5 = 3.2
  const auto opo = advantages("response", "opo");
  CHECK(std::abs(opo[2][0] - 0.8) < 1e-12);
  CHECK(std::abs(opo[3][0] + 1.2) < 1e-12);
  e.greedy = {1, 5};
  CHECK(advantages("response", "remax") == V{{2, 2}, {2}, {-1, -1, -1}, {-3, -3}});
}

TEST_CASE("references: bigram counts with one added, and a copy that stands still until told", "[rl][rollout]") {
  const std::vector<int32_t> text = {0, 1, 0, 1, 0, 2};
  const BigramReference bigram(text, 3);
  Response r;
  r.prompt = {0};
  r.tokens = {1, 2};
  r.action_mask = {1, 1};
  const Response* view = &r;
  const std::vector<double> got = bigram.log_prob(token_rows({&view, 1}), 1).to_vector();
  CHECK(std::abs(got[0] - std::log(3.0 / 6)) < 1e-6);  // 0 is followed by 1 twice and by 2 once
  CHECK(std::abs(got[1] - std::log(1.0 / 5)) < 1e-6);  // 1 is followed by 0 twice and never by 2

  const auto task = make_text_task("copy");
  Transformer policy = make_policy(*task);
  ModelReference copy(policy);
  Response s;
  s.prompt = {1, 11};
  s.tokens = {1, 10};
  s.action_mask = {1, 1};
  const Response* one = &s;
  const TokenRows rows = token_rows({&one, 1});
  const auto before = copy.log_prob(rows, 1).to_vector();
  CHECK(before == score_tokens(policy, rows).log_prob.to_vector());
  policy.wte.weight.detach().fill(0.1);
  CHECK(copy.log_prob(rows, 1).to_vector() == before);
  copy.follow(policy);
  CHECK(copy.log_prob(rows, 1).to_vector() == score_tokens(policy, rows).log_prob.to_vector());
}
