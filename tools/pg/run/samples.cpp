// Lines of samples.jsonl, health.jsonl and episodes.jsonl.
#include "tools/pg/run/samples.h"

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tasks/grade/grade.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg::tools {
namespace {

// Four significant digits; null for what is not finite.
Json number(double x) {
  if (!std::isfinite(x)) return nullptr;
  return std::strtod(fmt::format("{:.4g}", x).c_str(), nullptr);
}
Json numbers(std::span<const double> values) {
  Json all = Json::array();
  for (const double x : values) all.push_back(number(x));
  return all;
}

std::string dump(const Json& json) { return json.dump(-1, Json::Utf8::replace); }

// The beginning of a text, in whole characters.
std::string_view beginning(std::string_view text) {
  if (text.size() <= kBytesPerText) return text;
  size_t end = kBytesPerText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string piece(const Tokenizer& tokenizer, int32_t before, int32_t id) {
  const std::string bytes = tokenizer.continuation(before, id);
  if (is_utf8(bytes)) return bytes;
  std::string text = "<";
  for (const char byte : bytes) {
    text += fmt::format("{}{:02X}", text.size() > 1 ? " " : "", static_cast<unsigned char>(byte));
  }
  return text + ">";
}

// The right answer, the answer of the response, and why the grader does not find them equal.
void add_answers(Json& line, const TextTask& task, const rl::Response& r) {
  line["expected"] = beginning(r.puzzle->answer);
  const std::optional<std::string> answer = task.answer_of(r.tokens);
  line["answer"] = answer ? Json(beginning(*answer)) : Json(nullptr);
  if (answer && task.uses_grader() && !r.score.solved) {
    line["verdict"] = grade_answer(*answer, r.puzzle->gold).reason;
  }
}

// What is known of each token of response b.
void add_tokens(Json& line, const TextTask& task, const rl::Response& r, size_t b, const rl::Batch* batch) {
  line["tokens"] = token_texts(task, r);
  if (r.length() != std::ssize(r.tokens)) {
    std::string mask;
    for (const uint8_t chosen : r.action_mask) mask += chosen ? '1' : '0';
    line["policy"] = mask;
  }
  if (!batch) {
    if (!r.sampler_log_probs.empty()) line["log_prob"] = numbers(r.sampler_log_probs);
    return;
  }
  const Tensor& log_prob = batch->old_log_prob.defined() ? batch->old_log_prob : batch->sampler_log_prob;
  const std::vector<double> own = rl::of_response(log_prob, *batch, b);
  line["log_prob"] = numbers(own);
  if (batch->ref_log_prob.defined()) {
    std::vector<double> kl = rl::of_response(batch->ref_log_prob, *batch, b);
    for (size_t t = 0; t < kl.size(); ++t) kl[t] = own[t] - kl[t];
    line["kl"] = numbers(kl);
  }
  if (batch->advantage.defined()) line["advantage"] = numbers(rl::of_response(batch->advantage, *batch, b));
}

}  // namespace

std::vector<std::string> token_texts(const TextTask& task, const rl::Response& r) {
  std::vector<std::string> texts;
  int32_t before = r.prompt.empty() ? -1 : r.prompt.back();
  for (const int32_t id : r.tokens) {
    texts.push_back(piece(task.tokenizer(), before, id));
    before = id;
  }
  return texts;
}

std::vector<std::string> sample_lines(const TextTask& task, const rl::Experience& experience, int64_t step,
                                      std::string_view split, const rl::Batch* batch) {
  std::vector<std::string> lines;
  size_t tokens = 0;
  for (size_t i = 0; i < std::min(kResponsesPerStep, experience.responses.size()); ++i) {
    const rl::Response& r = experience.responses[i];
    const auto samples = static_cast<size_t>(std::max<int64_t>(1, experience.samples));
    const std::string prompt = task.text(r.prompt), response = task.text(r.tokens);
    Json line = {{"step", step},
                 {"split", split},
                 {"group", i / samples},
                 {"sample", i % samples},
                 {"prompt", beginning(prompt)},
                 {"response", beginning(response)},
                 {"reward", number(r.score.reward)},
                 {"solved", r.score.solved},
                 {"finished", r.finished},
                 {"length", r.length()}};
    if (const size_t kept = beginning(response).size(); kept < response.size()) {
      line["bytes_left_out"] = response.size() - kept;
    }
    for (const auto& [name, value] : r.score.parts) line["parts"][name] = number(value);
    if (r.puzzle) {
      if (const std::string text = task.described(*r.puzzle); !text.empty()) line["problem"] = text;
      add_answers(line, task, r);
      if (!r.puzzle->subject.empty()) line["subject"] = r.puzzle->subject;
      if (r.puzzle->level > 0) line["level"] = r.puzzle->level;
    }
    tokens += r.tokens.size();
    if (tokens <= kTokensPerStep) {
      add_tokens(line, task, r, i, batch);
    } else {
      tokens -= r.tokens.size();
      line["tokens_left_out"] = r.tokens.size();
    }
    lines.push_back(dump(line));
  }
  return lines;
}

void append_samples(const RunDir& run, const TextTask& task, const rl::Experience& experience, int64_t step,
                    std::string_view split, const rl::Batch* batch) {
  run.append("samples.jsonl", sample_lines(task, experience, step, split, batch));
}

void append_text_sample(const RunDir& run, int64_t step, std::string_view prompt, std::string_view text) {
  run.append(
      "samples.jsonl",
      {dump({{"step", step}, {"split", kHeldOut}, {"prompt", beginning(prompt)}, {"response", beginning(text)}})});
}

void append_health(const RunDir& run, int64_t step, const std::vector<rl::HealthCheck>& checks) {
  Json line = {{"step", step}, {"ok", Json::array()}, {"failed", Json::array()}};
  for (const rl::HealthCheck& check : checks) {
    if (check.ok) {
      line["ok"].push_back(check.name);
    } else {
      line["failed"].push_back({{"name", check.name}, {"why", check.why}});
    }
  }
  run.append("health.jsonl", {dump(line)});
}

std::string episode_line(const rl::EnvEpisode& e, std::string_view environment, bool greedy, int64_t step) {
  const size_t length = e.rewards.size(), kept = std::min(length, kStatesPerEpisode);
  Json line = {{"step", step},
               {"environment", environment},
               {"greedy", greedy},
               {"return", number(std::accumulate(e.rewards.begin(), e.rewards.end(), 0.0))},
               {"length", length},
               {"terminated", e.terminated},
               {"states", Json::array()},
               {"actions", Json::array()},
               {"rewards", numbers(std::span(e.rewards).first(kept))}};
  for (size_t t = 0; t <= kept; ++t) line["states"].push_back(numbers(e.states[t]));
  for (size_t t = 0; t < kept; ++t) line["actions"].push_back(numbers(e.actions[t]));
  return dump(line);
}

void append_episode(const RunDir& run, const rl::EnvEpisode& episode, std::string_view environment, bool greedy,
                    int64_t step) {
  run.append("episodes.jsonl", {episode_line(episode, environment, greedy, step)});
}

}  // namespace pg::tools
