// The text tasks keyword and imitate, and all text tasks by name.
#include "tasks/text_task.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tasks/char_tokenizer.h"
#include "tasks/digit_tasks.h"
#include "tasks/fetch.h"
#include "tasks/text_data.h"
#include "tasks/tiny_language.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// A sentence earns 1 for each "moon" in it: a reward that invites reward hacking.
class Keyword : public TextTask {
 public:
  explicit Keyword(double length_penalty) : length_penalty_(length_penalty) {}
  std::string name() const override { return "keyword"; }
  std::string about() const override {
    return "write a sentence; reward: 1 per \"moon\", whether or not it is a sentence. Solved: a sentence with a moon";
  }
  const Tokenizer& tokenizer() const override { return tiny_tokenizer(); }
  int64_t max_prompt() const override { return 1; }
  int64_t max_response() const override { return 15; }
  Problem sample(Generator& g) const override { return {{0}, tiny_sentence(g)}; }
  std::vector<Problem> held_out(int64_t count) const override {
    Generator g(0);
    std::vector<Problem> problems;
    for (int64_t i = 0; i < count; ++i) problems.push_back(sample(g));
    return problems;
  }
  std::string held_out_note() const override { return "no prompt is held out: there is only one"; }
  Score score(const Problem&, std::span<const int32_t> response) const override {
    const auto moons = static_cast<double>(std::count(response.begin(), response.end(), tiny_word("moon")));
    const double extra = -length_penalty_ * std::max(0.0, static_cast<double>(response.size()) - 8);
    return {.reward = moons + extra,
            .parts = {{"moons", moons}, {"length", extra}},
            .solved = moons > 0 && is_tiny_sentence(response)};
  }

 private:
  const double length_penalty_;
};

// Continue a text of a corpus; each right character is rewarded.
class Imitate : public TextTask {
 public:
  explicit Imitate(const TextTaskOptions& o)
      : corpus_(load_corpus(o.corpus)),
        tokenizer_(corpus_.text),
        context_(o.context),
        length_(o.length),
        wrong_(o.negative ? -1 : 0) {
    check(o.context >= 1 && o.length >= 1, "imitate: context and length must be at least 1, got {} and {}", o.context,
          o.length);
    data_ = split_text(tokenizer_.encode(corpus_.text));
    check(static_cast<int64_t>(data_.val.size()) > context_ + length_,
          "imitate: the text is too short for {} characters of context and {} to write", context_, length_);
  }
  std::string name() const override { return "imitate"; }
  std::string about() const override {
    return fmt::format("the next {} characters of {}; reward: share of the characters that match, position by position",
                       length_, corpus_.name);
  }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  int64_t max_prompt() const override { return context_; }
  int64_t max_response() const override { return length_; }
  Problem sample(Generator& g) const override { return draw(data_.train, g); }
  std::vector<Problem> held_out(int64_t count) const override {
    Generator g(0);
    std::vector<Problem> problems;
    for (int64_t i = 0; i < count; ++i) problems.push_back(draw(data_.val, g));
    return problems;
  }
  std::span<const int32_t> corpus() const override { return data_.train; }
  std::string note() const override { return corpus_.note; }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    Score s;
    double right = 0;
    for (size_t t = 0; t < response.size(); ++t) {
      const bool match = t < problem.answer.size() && response[t] == problem.answer[t];
      right += match;
      s.per_token.push_back((match ? 1 : wrong_) / static_cast<double>(length_));
      s.reward += s.per_token.back();
    }
    s.solved = right == static_cast<double>(length_);
    s.parts = {{"right characters", s.reward}};
    return s;
  }

 private:
  Problem draw(const std::vector<int32_t>& text, Generator& g) const {
    const auto at = text.begin() + g.integer(static_cast<int64_t>(text.size()) - context_ - length_);
    return {{at, at + context_}, {at + context_, at + context_ + length_}};
  }

  const Corpus corpus_;
  const CharTokenizer tokenizer_;
  const int64_t context_, length_;
  const double wrong_;
  TextData data_;
};

}  // namespace

std::unique_ptr<TextTask> make_text_task(const std::string& name, const TextTaskOptions& o) {
  if (name == "copy") return digit_string_task(DigitString::copy, o.length);
  if (name == "reverse") return digit_string_task(DigitString::reverse, o.length);
  if (name == "sort") return digit_string_task(DigitString::sort, o.length);
  if (name == "digits") return digit_completion_task();
  if (name == "keyword") return std::make_unique<Keyword>(o.length_penalty);
  if (name == "guess") return guess_task();
  if (name == "imitate") return std::make_unique<Imitate>(o);
  const std::vector<std::string> known = {"copy", "reverse", "sort", "digits", "keyword", "guess", "imitate"};
  fail("no task \"{}\"{}; there are {}", name, did_you_mean(name, known), fmt::join(known, ", "));
}

}  // namespace pg
