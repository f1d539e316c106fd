// A program of another project, with the installed headers and library: an algorithm and a task of its own, and a GPT-2
// that learns the task.
#include <fmt/core.h>
#include <nn/transformer.h>
#include <rl/text/trainer.h>
#include <tasks/data/tokenizer.h>
#include <tasks/text/text_task.h>

#include <algorithm>

// Answer a letter with the letter after it, four times (c with a). The reward is the share of letters that are right.
struct NextLetter : pg::TextTask {
  std::string name() const override { return "next letter"; }
  std::string about() const override {
    return "the next letter, four times; reward: the share that is right, at most 1";
  }
  const pg::Tokenizer& tokenizer() const override {
    static const pg::TokenList letters({"a", "b", "c"}, /*words=*/false, /*end=*/-1);
    return letters;
  }
  int64_t max_prompt() const override { return 1; }
  int64_t max_response() const override { return 4; }
  pg::Problem sample(pg::Generator& g) const override { return problem(static_cast<int32_t>(g.integer(3))); }
  std::vector<pg::Problem> held_out(int64_t) const override { return {problem(0), problem(1), problem(2)}; }
  std::string held_out_note() const override { return "no letter is held out"; }
  pg::Score score(const pg::Problem& p, std::span<const int32_t> response) const override {
    const double share = static_cast<double>(std::count(response.begin(), response.end(), p.answer[0])) / 4;
    return {.reward = share, .parts = {{"right", share}}, .solved = share == 1};
  }
  static pg::Problem problem(int32_t letter) { return {{letter}, std::vector<int32_t>(4, (letter + 1) % 3)}; }
};

int main() {
  const NextLetter task;
  pg::Generator generator(1);
  pg::Transformer policy(
      {.vocab_size = 3, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16, .in_proj_std = 0.25}, generator);
  pg::rl::RlConfig config;
  config.algorithm = pg::rl::algorithm("grpo");
  int calls = 0;
  // A = R - 1/3: a random response gets a third of the letters right.
  config.algorithm.baseline.advantage = [&](pg::rl::Batch& batch, const pg::rl::Algorithm& a, pg::rl::MovingBaseline&) {
    ++calls;
    return a.credit.compute(batch.reward, batch.mask, a.gamma) - 1.0 / 3;
  };
  config.batch = {.prompts = 8, .samples = 8};
  config.schedule.lr = 1e-2;
  pg::rl::RlTrainer trainer(policy, task, config);
  const double before = trainer.evaluate().at("eval/reward");
  while (trainer.steps() < 60) trainer.step();
  const double after = trainer.evaluate().at("eval/reward");
  fmt::print("mean reward {:.2f} before and {:.2f} after {} steps with an advantage of one's own\n", before, after,
             calls);
  return calls == 60 && after > before + 0.5 ? 0 : 1;
}
