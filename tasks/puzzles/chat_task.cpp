#include "tasks/puzzles/chat_task.h"

#include "tasks/grade/extract.h"
#include "tensor/base/error.h"

namespace pg {

const std::vector<AnswerFormat>& answer_formats() {
  static const std::vector<AnswerFormat> all = {
      {"bare", "the whole response is the answer", "", "", " Answer with {} only.",
       [](std::string_view text) -> std::optional<std::string_view> { return trimmed(text); }},
      {"tags", "<answer>…</answer> ends the response", "<answer>", "</answer>",
       " Put {} between <answer> and </answer> at the end.",
       [](std::string_view text) { return last_tagged(text, "answer"); }},
      {"boxed", "the last \\boxed{…}", "\\boxed{", "}", " Put {} in \\boxed{{}}.",
       [](std::string_view text) { return last_boxed(text); }},
  };
  return all;
}

namespace {

class ChatTask : public TextTask {
 public:
  ChatTask(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
           const ChatTemplate& format, const ChatTaskOptions& options)
      : puzzles_(std::move(puzzles)),
        tokenizer_(std::move(tokenizer)),
        template_(format),
        options_(options),
        format_(find_row(answer_formats(), "--answer-format", options.answer_format)),
        request_(fmt::format(fmt::runtime(format_.request), puzzles_->answer_form())) {
    check_fields(puzzles_->name(), fields(options_));
    const std::vector<int32_t> end = encode_chat(*tokenizer_, {{template_.turn_end, true}}).ids;
    check(end.size() == 1, "{}: the chat template {} has no token that ends a turn", puzzles_->name(), template_.name);
    end_ = end[0];
    const std::vector<int32_t> empty = prompt_of(Puzzle{});
    overhead_ = std::ssize(empty);
    const std::string whole = text(empty);
    before_ = whole.rfind(request_);
    after_ = whole.size() - before_;
  }

  std::string name() const override { return puzzles_->name(); }
  std::string about() const override {
    return fmt::format("{}; {}: {}", puzzles_->about(), format_.name, format_.about);
  }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::map<std::string, std::string> metadata() const override { return {{"chat_template", template_.name}}; }
  int32_t end_id() const override { return end_; }
  std::string shown(std::span<const int32_t> prompt) const override {
    const std::string whole = text(prompt);
    return whole.size() < before_ + after_ ? whole : whole.substr(before_, whole.size() - before_ - after_);
  }
  int64_t max_prompt() const override { return overhead_ + puzzles_->max_request(); }  // a token has at least a byte
  int64_t max_response() const override { return options_.response; }
  Problem sample(Generator& generator) const override { return problem_of(draw_puzzle(*puzzles_, generator, false)); }
  std::vector<Problem> held_out(int64_t count) const override {
    std::vector<Problem> problems;
    for (Puzzle& puzzle : held_out_puzzles(*puzzles_, count)) problems.push_back(problem_of(std::move(puzzle)));
    return problems;
  }
  std::optional<std::string> answer_of(std::span<const int32_t> response) const override {
    const std::optional<std::string> all = TextTask::answer_of(response);
    const auto answer = all ? format_.find(*all) : std::nullopt;
    if (!answer) return std::nullopt;
    return std::string(trimmed(*answer));
  }
  bool same_answer(const Problem& problem, std::string_view a, std::string_view b) const override {
    return puzzles_->same_answer(*problem.puzzle, a, b);
  }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    const std::optional<std::string> answer = answer_of(response);
    Score score = puzzles_->grade(*problem.puzzle, answer.value_or(""));
    if (options_.format_reward == 0) return score;
    const double whole = 1 + options_.format_reward;
    score.parts.emplace_back("format", answer ? options_.format_reward : 0);
    score.reward += score.parts.back().second;
    for (auto& [name, value] : score.parts) value /= whole;
    score.reward /= whole;
    return score;
  }

 private:
  std::vector<int32_t> prompt_of(const Puzzle& puzzle) const {
    std::vector<ChatMessage> messages;
    if (!options_.system.empty()) messages.push_back({"system", options_.system});
    messages.push_back({"user", puzzle.request + request_});
    return encode_chat(*tokenizer_, render_chat(template_, messages, /*answer=*/true)).ids;
  }
  Problem problem_of(Puzzle puzzle) const {
    Problem problem;
    problem.prompt = prompt_of(puzzle);
    problem.answer = tokenizer_->encode(format_.before + puzzle.answer + format_.after);
    problem.answer.push_back(end_);
    problem.puzzle = std::make_shared<const Puzzle>(std::move(puzzle));
    return problem;
  }

  std::unique_ptr<PuzzleTask> puzzles_;
  std::shared_ptr<const BpeTokenizer> tokenizer_;
  const ChatTemplate& template_;
  ChatTaskOptions options_;
  const AnswerFormat& format_;
  int32_t end_ = -1;
  std::string request_;            // for the form of the answer
  int64_t overhead_ = 0;           // tokens of a prompt besides the puzzle's request
  size_t before_ = 0, after_ = 0;  // bytes of a prompt's text around the puzzle's request
};

}  // namespace

std::vector<Field> fields(ChatTaskOptions& o) {
  return {{"answer-format", one_of(o.answer_format, names_of(answer_formats())), "of a chat model's response"},
          {"response", &o.response, "tokens of a chat model's response at most", whole_from(2, 100000)},
          {"format-reward", &o.format_reward, "for a response in that format, right or wrong", kNotNegative},
          {"system", &o.system, "message to a chat model; empty: that of its template"}};
}

std::unique_ptr<TextTask> chat_task(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
                                    const ChatTemplate& format, const ChatTaskOptions& options) {
  return std::make_unique<ChatTask>(std::move(puzzles), std::move(tokenizer), format, options);
}

}  // namespace pg
