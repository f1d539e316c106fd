// Prints responses and tables of the demonstration.
#include "lessons/08_rlhf/show.h"

#include "tasks/data/tiny_language.h"

namespace pg::lesson08 {
namespace {

// The word of an id, e.g. "moon"; "-" for -100.
std::string word(int32_t id) { return id < 0 ? "-" : tiny_words()[static_cast<size_t>(id)]; }

void print_words(kit::Demo& demo, const char* name, std::span<const int32_t> ids) {
  std::string line;
  for (const int32_t id : ids) line += fmt::format("{:<8}", word(id));
  demo.line("  {:<9}{}", name, line);
}

}  // namespace

void show_imitation(kit::Demo& demo, const Impl& impl, Transformer& model, const TextTask& task) {
  demo.heading("Stage 1: imitate, but only the answers");
  const auto id = tiny_word;
  const std::vector<Problem> problems = {{{id("the"), id("old")}, {id("moon"), id("sings"), 0}},
                                         {{id("a")}, {id("cat"), id("sleeps"), id("today"), 0}}};
  const TokenBatch batch = impl.sft_batch(problems);
  demo.say(
      "\"the old\" is to be answered with \"moon sings.\", \"a\" with \"cat sleeps today.\" What the model reads, and "
      "its target at each position; - means no target. \".\" is id 0, and so is padding:");
  for (int64_t b = 0; b < batch.ids.size(0); ++b) {
    const auto columns = static_cast<size_t>(batch.ids.size(1)), at = static_cast<size_t>(b) * columns;
    print_words(demo, "reads", batch.ids.data<int32_t>().subspan(at, columns));
    print_words(demo, "targets", batch.targets.data<int32_t>().subspan(at, columns));
  }
  demo.gap();
  demo.status("imitating ...");
  const auto [first, last] = imitate(impl, model, task, 150);
  const rl::Experience experience = write(model, task, 256, 1, 77);
  double sentences = 0;
  for (const Response& r : experience.responses) sentences += r.score.parts[0].second / 2.56;
  demo.say("150 batches of 64 problems like these: loss {:.2f} to {:.2f} nats per token of an answer.", first, last);
  demo.claim("sentences among 256 responses after SFT", sentences, "%", kit::at_least(80));
}

void show_models(kit::Demo& demo, Transformer& policy, rl::ScalarModel& reward_model) {
  demo.heading("Four models");
  const auto p = count_parameters(policy), s = count_parameters(reward_model);
  demo.say(
      "All four begin as the model of stage 1. B responses, T positions, {} tokens in the language. A model that "
      "learns "
      "holds weights, gradients and AdamW's two moments: 16 bytes a parameter; a frozen one 4.",
      policy.config.vocab_size);
  const auto row = [&](const char* name, const char* reads, const char* gives, const char* learns, int64_t bytes) {
    demo.line("{:<11}{:<19}{:<26}{:<16}{:>3.0f} kB", name, reads, gives, learns, static_cast<double>(bytes) / 1000);
  };
  demo.line("{:<11}{:<19}{:<26}{:<16}{:>6}", "", "reads", "gives", "learns", "memory");
  row("policy", "ids [B, T]", "logits [B, T, 21]", "now", 16 * p);
  row("reference", "ids [B, T]", "log-probabilities [B, T]", "never", 4 * p);
  row("reward", "prompt + response", "a score at the end [B]", "stage 2, frozen", 4 * s);
  row("value", "ids [B, T]", "reward to come [B, T]", "now", 16 * s);
  demo.gap();
}

void show_tokens(kit::Demo& demo, const Impl& impl, Transformer& policy, Transformer& reference, const TextTask& task,
                 const rl::Judge& judge, double beta) {
  rl::Experience experience = write(policy, task, 1, 1, 8);
  judge(experience.responses);
  ScoredResponse r{experience.responses[0], {}, {}, {}};
  r.old_log_probs = r.sampler_log_probs;  // bitwise equal (docs/ARCHITECTURE.md)
  const Response* one = &r;
  const rl::TokenRows rows = rl::token_rows({&one, 1});
  const std::vector<double> ref = rl::ModelReference(reference).log_prob(rows, 1).to_vector();
  r.ref_log_probs.assign(ref.begin() + rows.prompts[0] - 1, ref.end());
  impl.set_rewards(r);
  const std::vector<double> scores = r.rewards;
  impl.subtract_kl(r, beta);
  demo.say("One response to \"{}\" of the policy with KL, token by token:", task.text(r.prompt));
  demo.line("{:<10}{:>10}{:>12}{:>10}{:>12}{:>12}", "token", "log pi", "log ref", "score", "KL's share", "reward");
  for (size_t t = 0; t < r.tokens.size(); ++t) {
    demo.line("{:<10}{:>10.3f}{:>12.3f}{:>10.3f}{:>12.3f}{:>12.3f}", word(r.tokens[t]), r.old_log_probs[t],
              r.ref_log_probs[t], scores[t], r.rewards[t] - scores[t], r.rewards[t]);
  }
  demo.gap();
}

double share_right(const TextTask& task, const std::vector<rl::Preference>& pairs) {
  double right = 0;
  for (const rl::Preference& p : pairs) {
    right += task.score({p.prompt, {}}, p.chosen).reward > task.score({p.prompt, {}}, p.rejected).reward;
  }
  return right / static_cast<double>(pairs.size());
}

}  // namespace pg::lesson08
