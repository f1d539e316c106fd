#include "tasks/puzzles/chat_task.h"

#include <algorithm>

#include "tasks/grade/extract.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

class ChatTask : public TextTask {
 public:
  ChatTask(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
           const ChatTemplate& format, const ChatTaskOptions& options)
      : puzzles_(std::move(puzzles)),
        tokenizer_(tokenizer),
        own_template_(format),
        options_(options),
        prompt_(options.prompt, tokenizer, format),
        request_(prompt_.request(puzzles_->answer_form())) {
    check_fields(puzzles_->name(), fields(options_));
    // What the prompts of two questions have in common.
    const std::vector<int32_t> shortest = prompt_.ids("1" + request_);
    const std::string one = text(shortest), two = text(prompt_.ids("2" + request_));
    before_ = static_cast<size_t>(std::ranges::mismatch(one, two).in1 - one.begin());
    while (after_ + before_ < std::min(one.size(), two.size()) && one.rbegin()[after_] == two.rbegin()[after_])
      ++after_;
    note_ = prompt_.note();
    if (options_.max_prompt > 0) {
      const int64_t left_out = puzzles_->keep([&](const std::string& request) {
        return std::ssize(prompt_.ids(request + request_)) <= options_.max_prompt;
      });
      if (left_out > 0) {
        note_ = both_notes(
            note_,
            fmt::format("{}: problems left out because their prompts have more than {} tokens (--max-prompt): {}.",
                        puzzles_->name(), options_.max_prompt, left_out));
      }
    }
    max_prompt_ = std::ssize(shortest) + puzzles_->max_request();  // a token has at least a byte
    if (const std::vector<std::string> all = puzzles_->requests(); !all.empty()) {
      max_prompt_ = 0;
      for (const std::string& request : all) {
        max_prompt_ = std::max(max_prompt_, std::ssize(prompt_.ids(request + request_)));
      }
    }
  }

  std::string name() const override { return puzzles_->name(); }
  std::string about() const override {
    return fmt::format("{}; {}: {}", puzzles_->about(), prompt_.format().name, prompt_.format().about);
  }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::string note() const override { return both_notes(note_, puzzles_->note()); }
  std::map<std::string, std::string> metadata() const override {
    return metadata_of(prompt_.style().chat ? prompt_.chat_template() : own_template_);
  }
  int32_t end_id() const override { return prompt_.end_id(); }
  std::vector<std::string> stop_texts() const override {
    if (prompt_.style().stop.empty()) return {};
    return {prompt_.style().stop};
  }
  std::string shown(std::span<const int32_t> prompt) const override {
    const std::string whole = text(prompt);
    return whole.size() < before_ + after_ ? whole : whole.substr(before_, whole.size() - before_ - after_);
  }
  int64_t max_prompt() const override { return max_prompt_; }
  int64_t max_response() const override { return options_.response; }
  Problem sample(Generator& generator) const override { return problem_of(draw_puzzle(*puzzles_, generator, false)); }
  std::vector<Problem> held_out(int64_t count) const override {
    std::vector<Problem> problems;
    for (Puzzle& puzzle : held_out_puzzles(*puzzles_, count)) problems.push_back(problem_of(std::move(puzzle)));
    return problems;
  }
  std::optional<std::string> answer_in(std::string_view response, bool ended) const override {
    // A response ends with the stop text of its style, if it has one, or with the end token.
    if (prompt_.style().stop.empty() && !ended) return std::nullopt;
    const auto answer = prompt_.answer_in(response);
    if (!answer) return std::nullopt;
    return std::string(*answer);
  }
  bool uses_grader() const override { return puzzles_->uses_grader(); }
  bool same_answer(const Problem& problem, std::string_view a, std::string_view b) const override {
    return puzzles_->same_answer(*problem.puzzle, a, b);
  }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    const std::optional<std::string> answer = answer_of(response);
    Score score = puzzles_->grade(*problem.puzzle, answer.value_or(""));
    score.formatted = answer.has_value();
    if (options_.format_reward == 0) return score;
    const double whole = 1 + options_.format_reward;
    score.parts.emplace_back("format", answer ? options_.format_reward : 0);
    score.reward += score.parts.back().second;
    for (auto& [name, value] : score.parts) value /= whole;
    score.reward /= whole;
    return score;
  }

 private:
  std::vector<int32_t> prompt_of(const Puzzle& puzzle) const { return prompt_.ids(puzzle.request + request_); }
  Problem problem_of(Puzzle puzzle) const {
    Problem problem;
    problem.prompt = prompt_of(puzzle);
    problem.answer = prompt_.response_ids(puzzle.request + request_,
                                          prompt_.format().before + puzzle.answer + prompt_.format().after);
    problem.puzzle = std::make_shared<const Puzzle>(std::move(puzzle));
    return problem;
  }

  std::unique_ptr<PuzzleTask> puzzles_;
  std::shared_ptr<const BpeTokenizer> tokenizer_;
  ChatTemplate own_template_;  // of the model
  ChatTaskOptions options_;
  Prompt prompt_;
  std::string request_;  // for the form of the answer
  int64_t max_prompt_ = 0;
  std::string note_;               // of problems that are left out
  size_t before_ = 0, after_ = 0;  // bytes of a prompt's text around the puzzle's request
};

}  // namespace

Field template_kwargs_field(std::string& kwargs) {
  return {"chat-template-kwargs", &kwargs, "variables of the chat template, as JSON: {\"enable_thinking\": false}"};
}

std::vector<Field> fields(PromptOptions& o) {
  return {{"prompt-style", one_of(o.style, names_of(prompt_styles())), "of the prompt of a pretrained model"},
          {"prompt-file", &o.file, "a text with {question} that replaces the prompt, or the user's turn, of the style"},
          {"answer-format", one_of(o.answer_format, names_of(answer_formats())),
           "of a pretrained model's response, with --prompt-style chat"},
          {"system", &o.system, "message to a chat model; empty: that of its template"},
          template_kwargs_field(o.template_kwargs)};
}

std::vector<Field> fields(ChatTaskOptions& o) {
  return joined({fields(o.prompt),
                 {{"response", &o.response, "tokens of a pretrained model's response at most", whole_from(2, 100000)},
                  {"max-prompt", &o.max_prompt,
                   "tokens of a prompt; longer problems of a file are left out. 0: what the model's context leaves",
                   whole_from(0), true, false, "0"},
                  {"format-reward", &o.format_reward, "for a response in that format, right or wrong", kNotNegative}}});
}

std::unique_ptr<TextTask> chat_task(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
                                    const ChatTemplate& format, const ChatTaskOptions& options) {
  return std::make_unique<ChatTask>(std::move(puzzles), std::move(tokenizer), format, options);
}

}  // namespace pg
