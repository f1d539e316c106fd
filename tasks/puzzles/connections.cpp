// Sort sixteen words into four groups.
#include "tasks/puzzles/connections.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "tasks/grade/extract.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr size_t kGroups = 4, kWords = 4;
constexpr int64_t kShareHeldOut = 10;  // one of ten puzzles is drawn from the categories that are held out

using Groups = std::vector<std::vector<std::string>>;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Groups with ; or line ends between them, words with commas, in lower case. Nothing if there are more than four groups
// or sixteen words, or if a word is repeated.
std::optional<Groups> groups_of(std::string_view text) {
  Groups groups;
  std::set<std::string> seen;
  if (std::ranges::count(text, ',') > static_cast<int64_t>(kGroups * kWords)) return {};
  if (std::ranges::count(text, ';') > static_cast<int64_t>(kGroups * kWords)) return {};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(";\n", begin), text.size());
    const std::string_view group = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (group.empty()) continue;
    if (groups.size() == kGroups) return {};
    groups.emplace_back();
    for (const std::string_view part : split(group, ",")) {
      std::string word(trimmed(part));
      for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (!seen.insert(word).second) return {};
      groups.back().push_back(std::move(word));
    }
  }
  return groups;
}

std::string text_of(const Groups& groups) {
  std::vector<std::string> texts;
  for (const auto& group : groups) texts.push_back(fmt::format("{}", fmt::join(group, ",")));
  return fmt::format("{}", fmt::join(texts, ";"));
}

class Connections : public PuzzleTask {
 public:
  explicit Connections(const ConnectionsOptions& options) : options_(options) {
    check_fields("connections", fields(options_));
    std::set<char> characters = {',', ';'};
    const auto take = [&](std::string_view word) {
      longest_ = std::max<int64_t>(longest_, std::ssize(word));
      characters.insert(word.begin(), word.end());
    };
    if (options_.file.empty()) {
      for (const WordCategory& category : word_categories()) {
        Puzzle with_key;
        with_key.key = category.name;
        (is_held_out(with_key) ? held_out_ : trained_).push_back(category);
        for (const std::string_view word : split(category.words, " ")) take(word);
      }
      check(std::min(held_out_.size(), trained_.size()) >= kGroups, "connections: too few categories of words");
    } else {
      puzzles_ = read_word_puzzles(options_.file);
      for (const WordPuzzle& puzzle : puzzles_) {
        for (const auto& group : puzzle.groups) std::ranges::for_each(group, take);
      }
    }
    alphabet_.assign(characters.begin(), characters.end());
  }
  std::string name() const override { return "connections"; }
  std::string about() const override {
    return fmt::format("sort 16 words into 4 groups; reward: share of the groups that are right{}",
                       options_.soft > 0 ? ", or nearly" : "");
  }
  std::string alphabet() const override { return alphabet_; }
  std::string answer_form() const override {
    return "the four groups, with a comma between words and a semicolon between groups,";
  }
  int64_t max_question() const override { return kGroups * kWords * (longest_ + 1) - 1; }
  int64_t max_answer() const override { return max_question(); }
  int64_t max_request() const override { return max_question() + kGroups * kWords + 160; }
  Puzzle draw(Generator& generator) const override {
    const WordPuzzle drawn = puzzles_.empty() ? from_categories(generator)
                                              : puzzles_[static_cast<size_t>(generator.integer(std::ssize(puzzles_)))];
    // The order of the words says nothing of the groups; the answer has groups and words in the order of the question.
    std::vector<std::pair<std::string, size_t>> words;
    for (size_t g = 0; g < kGroups; ++g) {
      for (const std::string& word : drawn.groups[g]) words.emplace_back(word, g);
    }
    shuffle(words, generator);
    Groups answer;
    std::map<size_t, size_t> place;  // of a group in the answer
    std::vector<std::string> shown;
    for (const auto& [word, group] : words) {
      if (place.emplace(group, answer.size()).second) answer.emplace_back();
      answer[place[group]].push_back(word);
      shown.push_back(word);
    }
    return {.question = fmt::format("{}", fmt::join(shown, ",")),
            .request = fmt::format("These 16 words form 4 groups of 4 words that have something in common: {}. Each "
                                   "word belongs to one group. Find the groups.",
                                   fmt::join(shown, ", ")),
            .answer = text_of(answer),
            .key = drawn.key,
            .gold = text_of(answer),
            .subject = {},
            .level = 0};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    const Groups right = groups_of(puzzle.gold).value();
    const Groups given = groups_of(answer).value_or(Groups{});
    double matched = 0, overlap = 0;
    for (const auto& group : right) {
      int64_t best = 0;
      for (const auto& other : given) {
        if (other.size() != kWords) continue;
        best = std::max<int64_t>(best, std::ranges::count_if(other, [&](const std::string& word) {
                                   return std::ranges::find(group, word) != group.end();
                                 }));
      }
      matched += best == static_cast<int64_t>(kWords);
      overlap += static_cast<double>(std::max<int64_t>(0, best - 1)) / (kWords - 1);
    }
    Score score;
    score.solved = matched == kGroups;
    score.parts = {{"groups", (1 - options_.soft) * matched / kGroups}};
    if (options_.soft > 0) score.parts.emplace_back("overlap", options_.soft * overlap / kGroups);
    for (const auto& part : score.parts) score.reward += part.second;
    if (score.solved) score.reward = 1;  // the sum, without rounding
    return score;
  }

 private:
  // Four words each of four categories that all are held out, or all are not.
  WordPuzzle from_categories(Generator& generator) const {
    std::vector<WordCategory> categories = generator.integer(kShareHeldOut) == 0 ? held_out_ : trained_;
    shuffle(categories, generator);
    categories.resize(kGroups);
    WordPuzzle puzzle;
    for (const WordCategory& category : categories) {
      const auto all = split(category.words, " ");
      std::vector<std::string> words(all.begin(), all.end());
      shuffle(words, generator);
      words.resize(kWords);
      puzzle.groups.push_back(words);
    }
    puzzle.key = std::ranges::min_element(categories, {}, &WordCategory::name)->name;
    return puzzle;
  }

  ConnectionsOptions options_;
  std::vector<WordCategory> trained_, held_out_;
  std::vector<WordPuzzle> puzzles_;  // of a file
  std::string alphabet_;
  int64_t longest_ = 0;  // word
};

}  // namespace

std::vector<Field> fields(ConnectionsOptions& o) {
  return {{"file", &o.file, "JSONL with puzzles {\"groups\": [[four words], …]}; empty: built-in lists of words"},
          {"soft", &o.soft, "share of the reward for groups that have two or three words in common with a right one",
           kShare}};
}

std::unique_ptr<PuzzleTask> connections_puzzles(const ConnectionsOptions& options) {
  return std::make_unique<Connections>(options);
}

}  // namespace pg
