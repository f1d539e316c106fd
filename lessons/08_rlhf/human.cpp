// The simulated human of the lesson: which of two responses it prefers, and why.
#include "lessons/08_rlhf/human.h"

#include <algorithm>

#include "tasks/data/tiny_language.h"

namespace pg::lesson08 {

const Tokenizer& FinishTheSentence::tokenizer() const { return tiny_tokenizer(); }

Problem FinishTheSentence::sample(Generator& g) const {
  const std::vector<int32_t> sentence = tiny_sentence(g);
  const auto cut = sentence.begin() + 1 + g.integer(max_prompt());  // at least four tokens, so the prompt has no "."
  return {{sentence.begin(), cut}, {cut, sentence.end()}};
}

std::vector<Problem> FinishTheSentence::held_out(int64_t count) const {
  Generator g(0);
  std::vector<Problem> problems;
  for (int64_t i = 0; i < count; ++i) problems.push_back(sample(g));
  return problems;
}

Score FinishTheSentence::score(const Problem& problem, std::span<const int32_t> response) const {
  std::vector<int32_t> whole = problem.prompt;
  whole.insert(whole.end(), response.begin(), response.end());
  const bool grammatical = is_tiny_sentence(whole);
  const bool one_moon = grammatical && std::count(whole.begin(), whole.end(), tiny_word("moon")) == 1;
  return {.reward = static_cast<double>(grammatical) + static_cast<double>(one_moon),
          .parts = {{"sentence", grammatical}, {"one moon", one_moon}},
          .solved = one_moon};
}

}  // namespace pg::lesson08
