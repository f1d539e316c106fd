// The demonstration of lesson 10, last part: a pretrained chat model that has never seen the form of the answers.
#include "nn/files/pretrained.h"

#include <memory>

#include "lessons/10_rlvr/checks.h"
#include "rl/text/evaluation.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/fetch.h"
#include "tasks/puzzles/chat_task.h"
#include "tensor/base/error.h"

namespace pg::lesson10 {

void show_pretrained(kit::Demo& demo, const Impl& impl) {
  demo.heading("A pretrained model");
  std::string path;
  try {
    path = smollm2_path();
  } catch (const Error&) {
    demo.line("skipped: no file smollm2 (./pg fetch smollm2)");
    return;
  }
  demo.status("SmolLM2 is read");
  Transformer model = load_pretrained(path);
  const std::shared_ptr<const Tokenizer> loaded = load_tokenizer(path);
  const auto tokenizer = std::dynamic_pointer_cast<const BpeTokenizer>(loaded);
  check(tokenizer != nullptr, "lesson 10: {} has no tokenizer of byte pairs", path);
  constexpr int64_t kProblems = 12, kSamples = 8;
  const auto task = chat_task(arithmetic_puzzles({.digits = 1}), tokenizer, ChatTemplate("smollm2"),
                              {.prompt = {.system = "You print one number."}, .response = 16});
  const std::vector<Problem> problems = task->held_out(kProblems);
  demo.status("SmolLM2 answers");
  const auto responses = rl::evaluate(model, *task, problems, 0, std::ssize(problems), {.samples = kSamples});
  double once = 0, any = 0;
  for (size_t p = 0; p < problems.size(); ++p) {
    int64_t right = 0;
    for (size_t s = 0; s < kSamples; ++s) right += responses[p * kSamples + s].solved;
    once += 100 * impl.pass_at_k(kSamples, right, 1) / static_cast<double>(problems.size());
    any += 100 * impl.pass_at_k(kSamples, right, kSamples) / static_cast<double>(problems.size());
  }
  demo.say(
      "SmolLM2 (135 million parameters) is asked for sums of two digits, 3+9, and is to print the number alone. Of "
      "its {} responses {:.1f} % are that; with {} tries {:.1f} % of the problems are solved. Some of what it writes:",
      responses.size(), once, kSamples, any);
  for (size_t i = 0; i < responses.size() && i < 5 * kSamples; i += kSamples) {
    demo.line("{:<8} {}", responses[i].question, quoted(std::string_view(responses[i].response).substr(0, 58)));
  }
  demo.gap();
  demo.say(
      "The bare right number is rare among them, so a group of GRPO seldom has one that is paid. ./pg expert-iteration "
      "--config configs/smollm2_arithmetic.yaml selects the few that are (docs/PG.md).");
}

}  // namespace pg::lesson10
