// Regression tests, each named after a defect of the programs that this one succeeds: rollouts, expert iteration and
// metrics of post-training on mathematics.
#include <set>

#include "autograd/ops.h"
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "rl/text/rollout.h"
#include "tasks/text/text_task.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using testing::contains;
using testing::problems_of;

namespace {

// Prompts of 1 to 6 digits that are copied; a response ends at "7" too.
class WithStop : public TextTask {
 public:
  std::string name() const override { return task_->name(); }
  std::string about() const override { return task_->about(); }
  const Tokenizer& tokenizer() const override { return task_->tokenizer(); }
  std::vector<std::string> stop_texts() const override { return {"7"}; }
  int64_t max_prompt() const override { return task_->max_prompt(); }
  int64_t max_response() const override { return task_->max_response(); }
  Problem sample(Generator& generator) const override { return task_->sample(generator); }
  std::vector<Problem> held_out(int64_t count) const override { return task_->held_out(count); }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    Score score = task_->score(problem, response);
    score.solved = score.reward > 0.1;
    score.formatted = text(response).ends_with("7");
    return score;
  }

 private:
  std::unique_ptr<TextTask> task_ = copy_task();
};

Transformer policy_for(const TextTask& task) {
  Transformer policy = testing::small_policy(task, {.n_layer = 2, .in_proj_std = 0.02});
  policy.eval();
  return policy;
}

}  // namespace

TEST_CASE("defect: shorter prompts leak their tail into the response", "[rl][cs336]") {
  const WithStop task;
  Transformer policy = policy_for(task);
  const std::vector<Problem> problems = problems_of(task, 12);
  std::set<size_t> lengths;
  for (const Problem& p : problems) lengths.insert(p.prompt.size());
  REQUIRE(lengths.size() > 2);
  const Experience together = rollout(policy, task, problems, {.samples = 2, .seed = 4});
  for (size_t i = 0; i < problems.size(); ++i) {
    const Experience alone =
        rollout(policy, task, {problems[i]}, {.samples = 2, .seed = 4, .first_row = static_cast<uint64_t>(2 * i)});
    for (size_t s = 0; s < 2; ++s) {
      const Response &a = together.responses[2 * i + s], &b = alone.responses[s];
      CHECK(a.prompt == problems[i].prompt);
      CHECK(a.tokens == b.tokens);
      CHECK(a.sampler_log_probs == b.sampler_log_probs);
      CHECK(std::ssize(a.tokens) <= task.max_response());
    }
  }
}

TEST_CASE("defect: a stop text of one row stops the batch", "[rl][cs336]") {
  const WithStop task;
  Transformer policy = policy_for(task);
  const auto without = copy_task();
  const std::vector<Problem> problems = problems_of(task, 16);
  const RolloutOptions options{.samples = 4, .seed = 4};
  const Experience stopped = rollout(policy, task, problems, options),
                   whole = rollout(policy, *without, problems, options);
  size_t by_text = 0, others = 0;
  for (size_t i = 0; i < whole.responses.size(); ++i) {
    const std::string all = task.text(whole.responses[i].tokens), text = task.text(stopped.responses[i].tokens);
    const size_t at = all.find('7');
    // The row goes on to the end that it has by itself, or ends with the text, which it keeps.
    CHECK(text == (at == std::string::npos ? all : all.substr(0, at + 1)));
    CHECK(stopped.responses[i].finished == (at != std::string::npos || whole.responses[i].finished));
    (at == std::string::npos ? others : by_text) += 1;
  }
  CHECK(by_text > 5);
  CHECK(others > 5);
}

TEST_CASE("defect: gradients of one expert iteration leak into the next", "[rl][cs336]") {
  const WithStop task;
  ExpertIterationConfig config;
  config.problems = 32;
  config.samples = 8;
  config.lr = 1e-2;
  // `kept` has what the first iteration leaves behind; `fresh` has its weights only.
  Transformer kept = policy_for(task), fresh = policy_for(task);
  const Metrics first = expert_iteration(kept, task, config, 1);
  REQUIRE(first.at("kept") > 0);
  auto to = named_parameters(fresh);
  const auto from = named_parameters(kept);
  for (size_t i = 0; i < to.size(); ++i) to[i].second.detach().copy_from(from[i].second.detach());
  const Metrics a = expert_iteration(kept, task, config, 2), b = expert_iteration(fresh, task, config, 2);
  REQUIRE(a.at("kept") > 0);
  CHECK(a.at("sft_loss") == b.at("sft_loss"));
  for (size_t i = 0; i < to.size(); ++i) {
    INFO(to[i].first);
    CHECK(named_parameters(fresh)[i].second.to_vector() == named_parameters(kept)[i].second.to_vector());
  }
}

TEST_CASE("defect: the clip fraction counts prompts and padding", "[rl][cs336]") {
  // Responses of 1 and 3 tokens to prompts of 4 and 1: a grid of 8 places, 4 of them tokens of the policy.
  const std::vector<int32_t> prompt = {1, 2, 3, 4}, one = {5}, three = {5, 6, 1};
  const std::vector<uint8_t> chosen(3, 1);
  const std::vector<Sequence> sequences = {{prompt, one, std::span(chosen).first(1)},
                                           {std::span(prompt).first(1), three, chosen}};
  const TokenRows rows = token_rows(sequences);
  REQUIRE(rows.mask.shape() == Shape{2, 4});
  // The ratio of the token of the first row is 1.5, of the second 1, 1, 0.5; elsewhere it would be clipped too.
  const std::vector<double> mask = rows.mask.to_vector();
  std::vector<double> ratios = {1.5, 1, 1, 0.5}, now, advantage;
  for (size_t i = 0, next = 0; i < mask.size(); ++i) {
    now.push_back(mask[i] != 0 ? std::log(ratios.at(next++)) : 5);
    advantage.push_back(now.size() <= 4 ? 1 : -1);
  }
  PolicyStats stats;
  const Tensor zero = Tensor::zeros({2, 4}, f64);
  stats.add(algorithm("grpo"), Tensor::from(now, {2, 4}), zero, zero, Tensor::from(advantage, {2, 4}), rows);
  Metrics m;
  stats.report(algorithm("grpo"), m);
  CHECK(m.at("clip/high") == Approx(0.25));  // 1.5 with A > 0, of 4 tokens
  CHECK(m.at("clip/low") == Approx(0.25));   // 0.5 with A < 0
}

TEST_CASE("an evaluation has the entropy of the policy and the share in the form asked for", "[rl][cs336]") {
  const WithStop task;
  Transformer policy = policy_for(task);
  const std::vector<Problem> problems = problems_of(task, 20);
  const auto one = single_rank(policy.device());
  const Metrics m = evaluate_on_ranks(*one, policy, task, problems);
  const Experience e = rollout(policy, task, problems, {.samples = 1, .greedy = true});
  // The entropy of each next token, from the logits of the prompt and the tokens before it.
  NoGrad no_grad;
  double entropy = 0, tokens = 0, formatted = 0, length = 0;
  for (const Response& r : e.responses) {
    std::vector<int32_t> ids = r.prompt;
    for (const int32_t token : r.tokens) {
      const std::vector<double> logits = policy(Tensor::from(ids, {1, std::ssize(ids)})).to_vector();
      const auto v = static_cast<size_t>(policy.config.vocab_size);
      double total = 0, mean = 0;
      for (size_t i = logits.size() - v; i < logits.size(); ++i) total += std::exp(logits[i]);
      for (size_t i = logits.size() - v; i < logits.size(); ++i) mean += std::exp(logits[i]) / total * logits[i];
      entropy += std::log(total) - mean;
      ids.push_back(token);
    }
    tokens += static_cast<double>(r.tokens.size());
    formatted += task.text(r.tokens).ends_with("7");
    length += static_cast<double>(r.tokens.size()) / 20;
  }
  CHECK(std::abs(m.at("eval/entropy") - entropy / tokens) < 1e-5);
  CHECK(m.at("eval/format") == Approx(formatted / 20));
  CHECK(m.at("eval/length") == Approx(length));
  CHECK_FALSE(evaluate_on_ranks(*one, policy, *copy_task(), problems).has("eval/format"));
}
