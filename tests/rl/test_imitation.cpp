// The batches of supervised fine-tuning on a task's answers: what is learned of them.
#include <algorithm>
#include <vector>

#include "rl/text/imitation.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::rl;

TEST_CASE("sft: answers are learned with their end, prompts and padding are not", "[rl]") {
  const std::vector<Problem> problems = {{{7, 8}, {1, 2, 10}}, {{9}, {10}}};
  const TokenBatch batch = sft_batch(problems);
  CHECK(batch.ids.to_vector() == std::vector<double>{7, 8, 1, 2, 9, 0, 0, 0});
  CHECK(batch.targets.to_vector() == std::vector<double>{-100, 1, 2, 10, 10, -100, -100, -100});
}

TEST_CASE("sft: of an answer in turns only the policy's tokens are learned", "[rl]") {
  const Problem one = {.prompt = {7, 8}, .answer = {1, 10, 5, 6, 2, 10}, .action_mask = {1, 1, 0, 0, 1, 1}};
  const TokenBatch batch = sft_batch(std::vector<Problem>{one});
  CHECK(batch.ids.to_vector() == std::vector<double>{7, 8, 1, 10, 5, 6, 2});
  CHECK(batch.targets.to_vector() == std::vector<double>{-100, 1, 10, -100, -100, 2, 10});
  // In an adventure these are all commands and the ends of turns.
  const auto task = make_text_task("adventure");
  Generator g(1);
  for (int i = 0; i < 50; ++i) {
    const Problem p = task->sample(g);
    const std::vector<double> targets = sft_batch(std::vector<Problem>{p}).targets.to_vector();
    const auto learned = std::count_if(targets.begin(), targets.end(), [](double id) { return id >= 0; });
    CHECK(learned == 2 * std::count(p.answer.begin(), p.answer.end(), task->end_id()));
    for (size_t t = 0; t < p.answer.size(); ++t) {
      const bool of_policy =
          p.answer[t] == task->end_id() || (t + 1 < p.answer.size() && p.answer[t + 1] == task->end_id());
      CHECK(targets[p.prompt.size() - 1 + t] == (of_policy ? p.answer[t] : -100));
    }
  }
  CHECK_THROWS_AS(sft_batch(std::vector<Problem>{{.prompt = {7}, .answer = {1, 2}, .action_mask = {1}}}), Error);
}
