#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "tasks/puzzles/sentiment.h"

namespace pg {
namespace {

struct Row {
  int value;
  std::string_view words;  // with spaces between them
};
constexpr Row kLexicon[] = {
    {3,
     "amazing awesome beautiful brilliant delicious excellent fantastic great incredible magnificent marvelous "
     "outstanding perfect splendid superb terrific wonderful"},
    {2,
     "adored charming cheerful clever delightful enjoyed friendly fun funny glad good happy impressive joy lovely "
     "loved pleased pleasant touching warm"},
    {1,
     "bright calm clean cosy decent enjoyable fair fine fresh helpful interesting kind liked neat nice okay "
     "polite quick safe smooth solid useful"},
    {-1,
     "bland chilly cramped dated dim dull flat late loud noisy odd plain rushed shallow slow small sour stale "
     "strange tired uneven weak"},
    {-2,
     "annoying bad boring broken cold confusing dirty disappointing disliked greasy mean messy nasty poor rude "
     "sad sorry ugly unfriendly unpleasant"},
    {-3,
     "appalling atrocious awful dreadful disgusting hated horrible horrid miserable pathetic rotten terrible "
     "unbearable vile worst wretched"},
};

const std::map<std::string_view, int>& lexicon() {
  static const std::map<std::string_view, int> all = [] {
    std::map<std::string_view, int> words;
    for (const Row& row : kLexicon) {
      for (const std::string_view word : words_of_sentiment(row.value)) words[word] = row.value;
    }
    return words;
  }();
  return all;
}

bool negates(std::string_view word) {
  return word == "not" || word == "never" || word == "no" || word == "nothing" || word == "hardly" ||
         word.ends_with("n't");
}

}  // namespace

std::vector<std::string_view> words_of_sentiment(int value) {
  std::vector<std::string_view> words;
  for (const Row& row : kLexicon) {
    if (row.value != value) continue;
    for (std::string_view rest = row.words; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      words.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return words;
}

int word_sentiment(std::string_view word) {
  const auto found = lexicon().find(word);
  return found == lexicon().end() ? 0 : found->second;
}

Sentiment sentiment_of(std::string_view text) {
  constexpr int kReach = 3;  // words that a negation reaches
  Sentiment result;
  std::map<std::string, double> values;  // of distinct words; of equal ones the weaker
  std::set<std::string> seen;
  std::string last;
  int negated = 0;  // words that the last negation still reaches
  for (size_t i = 0; i < text.size();) {
    const auto letter = [&](size_t k) {
      return std::isalpha(static_cast<unsigned char>(text[k])) != 0 ||
             (text[k] == '\'' && k > i && k + 1 < text.size() &&
              std::isalpha(static_cast<unsigned char>(text[k + 1])) != 0);
    };
    if (!letter(i)) {
      if (std::string_view(".,;:!?").find(text[i]) != std::string_view::npos) negated = 0;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && letter(end)) ++end;
    std::string word(text.substr(i, end - i));
    std::ranges::transform(word, word.begin(),
                           [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
    i = end;
    ++result.words;
    result.repeats = result.repeats || word == last;
    seen.insert(word);
    last = word;
    if (word == "but" || word == "and") negated = 0;
    if (const int value = word_sentiment(word); value != 0) {
      ++result.loaded;
      const double counted = negated > 0 ? -0.5 * value : value;
      const auto [at, added] = values.try_emplace(word, counted);
      if (!added && std::abs(counted) < std::abs(at->second)) at->second = counted;
    }
    negated = negates(word) ? kReach : std::max(0, negated - 1);
  }
  result.distinct = static_cast<int>(seen.size());
  for (const auto& [word, value] : values) {
    result.value += value / static_cast<double>(values.size());
    result.strongest = std::max(result.strongest, std::abs(value));
  }
  return result;
}

}  // namespace pg
