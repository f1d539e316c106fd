// The task imitate.
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

class Imitate final : public TextTask {
 public:
  explicit Imitate(const ImitateOptions& o)
      : corpus_(load_corpus(o.corpus)),
        tokenizer_(corpus_.text),
        context_(o.context),
        length_(o.length),
        wrong_(o.negative ? -1 : 0) {
    ImitateOptions copy = o;
    check_fields("imitate", fields(copy));
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

std::vector<Field> fields(ImitateOptions& o) {
  return {{"length", &o.length, "characters to write", whole_from(1, 1000)},
          {"context", &o.context, "characters of the prompt", whole_from(1, 1000000)},
          {"negative", &o.negative, "-1 for a wrong character instead of 0"},
          {"corpus", &o.corpus, "tinyshakespeare, stories, or a text file"}};
}

std::unique_ptr<TextTask> imitate_task(const ImitateOptions& options) { return std::make_unique<Imitate>(options); }

}  // namespace pg
