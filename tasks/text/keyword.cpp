// The task keyword.
#include <algorithm>

#include "tasks/data/tiny_language.h"
#include "tasks/text/text_task.h"

namespace pg {
namespace {

class Keyword final : public TextTask {
 public:
  explicit Keyword(const KeywordOptions& options) : length_penalty_(options.length_penalty) {
    KeywordOptions copy = options;
    check_fields("keyword", fields(copy));
  }
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

}  // namespace

std::vector<Field> fields(KeywordOptions& o) {
  return {
      {"length-penalty", &o.length_penalty, "subtracted from the reward for each token past the eighth", kNotNegative}};
}

std::unique_ptr<TextTask> keyword_task(const KeywordOptions& options) { return std::make_unique<Keyword>(options); }

}  // namespace pg
