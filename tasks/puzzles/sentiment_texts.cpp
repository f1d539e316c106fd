// The texts and the reward of the task sentiment.
#include <algorithm>
#include <cctype>
#include <set>

#include "tasks/grade/extract.h"
#include "tasks/puzzles/sentiment.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr std::string_view kThings[] = {"film",   "book",  "soup",   "room",   "train", "game", "coffee", "garden",
                                        "song",   "hotel", "lesson", "bakery", "boat",  "shop", "market", "play",
                                        "museum", "cake",  "park",   "tour",   "show",  "meal", "camera", "bus"};
constexpr std::string_view kWhen[] = {
    "we tried on monday",   "my sister chose",      "at the old harbour",    "they opened in spring",
    "our teacher told of",  "near the station",     "we found by the river", "that anna wanted",
    "in the next town",     "i heard of last week", "on the second floor",   "we had after lunch",
    "from the same street", "my brother asked for", "with the red door",     "everyone talks about"};
constexpr std::string_view kAfter[] = {
    "and we stayed for an hour", "so we told our friends",   "and it took all day", "when we came back",
    "as the others said",        "and so was the other one", "and i wrote it down", "from start to end"};
constexpr std::string_view kNeutral[] = {"was open until six",     "cost about ten coins", "was on the left side",
                                         "began at half past two", "had four parts",       "came with a map",
                                         "was next to the bank",   "took about an hour"};

template <size_t N>
std::string one_of_them(Generator& g, const std::string_view (&all)[N]) {
  return std::string(all[static_cast<size_t>(g.integer(static_cast<int64_t>(N)))]);
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '\'') {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}
// f(a, b) for neighbours; the begin and the end are the word "".
template <class F>
void each_pair(const std::vector<std::string>& words, F f) {
  std::string last;
  for (const std::string& word : words) {
    f(last, word);
    last = word;
  }
  f(last, "");
}

// "was" and what may follow it are one part of a continuation, kAfter the other.
const std::set<std::pair<std::string, std::string>>& known_pairs() {
  static const auto all = [] {
    std::set<std::pair<std::string, std::string>> pairs;
    const auto add = [&](const std::string& first, std::string_view after) {
      each_pair(words_in(first + " " + std::string(after)),
                [&](const std::string& a, const std::string& b) { pairs.emplace(a, b); });
    };
    for (const std::string_view after : kAfter) {
      for (const std::string_view start : kNeutral) add(std::string(start), after);
      for (const int value : {-3, -2, -1, 1, 2, 3}) {
        for (const std::string_view word : words_of_sentiment(value)) {
          add(fmt::format("was {}", word), after);
          add(fmt::format("was not {}", word), after);
        }
      }
    }
    return pairs;
  }();
  return all;
}

}  // namespace

std::string review_beginning(Generator& g) { return "the " + one_of_them(g, kThings) + " " + one_of_them(g, kWhen); }

std::string review_end(Generator& g, Mood mood) {
  if (mood == Mood::neutral) return one_of_them(g, kNeutral) + " " + one_of_them(g, kAfter) + ".";
  const int value = static_cast<int>(2 + g.integer(2)) * (mood == Mood::positive ? 1 : -1);
  std::vector<std::string_view> words = words_of_sentiment(value);
  // What may follow "was".
  std::erase_if(words, [](std::string_view word) {
    for (const std::string_view other : {"adored", "enjoyed", "joy", "loved", "glad", "pleased", "sorry", "disliked",
                                         "hated", "worst", "awesome", "marvelous"}) {
      if (word == other) return true;
    }
    return false;
  });
  return fmt::format("was {} {}.", words[static_cast<size_t>(g.integer(std::ssize(words)))], one_of_them(g, kAfter));
}

double mood_reward(std::string_view continuation, Mood mood, int most_words) {
  constexpr int kFewest = 4;
  continuation = trimmed(continuation);
  if (!continuation.ends_with('.') || std::ssize(continuation) > 24 * static_cast<int64_t>(most_words)) return 0;
  const Sentiment s = sentiment_of(continuation);
  if (s.words < kFewest || s.words > most_words || s.repeats || 3 * s.distinct < 2 * s.words ||
      3 * s.loaded > s.words) {
    return 0;
  }
  if (mood == Mood::neutral) return std::clamp(1 - s.strongest / 2, 0.0, 1.0);
  return std::clamp((mood == Mood::positive ? s.value : -s.value) / 2, 0.0, 1.0);
}

double review_fluency(std::string_view continuation) {
  if (continuation.size() > 10000) return 0;
  double known = 0, count = 0;
  each_pair(words_in(continuation), [&](const std::string& a, const std::string& b) {
    ++count;
    known += known_pairs().contains({a, b}) ? 1 : 0;
  });
  return known / count;
}

std::vector<std::string> sentence_beginnings(std::string_view text) {
  constexpr size_t kWords = 4, kLeast = 8;
  std::vector<std::string> all;
  std::set<std::string> seen;
  std::vector<std::string> words(1);
  const auto finish = [&] {
    std::erase(words, "");
    if (words.size() >= kLeast) {
      std::string beginning;
      for (size_t i = 0; i < kWords; ++i) beginning += (i == 0 ? "" : " ") + words[i];
      if (beginning.size() <= 60 && seen.insert(beginning).second) all.push_back(beginning);
    }
    words.assign(1, "");
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i, 3) == "<br") {  // of reviews taken from web pages
      const size_t end = text.find('>', i);
      if (end != std::string_view::npos) i = end;
      words.emplace_back();
    } else if (c == '.' || c == '!' || c == '?' || (c == '\n' && i + 1 < text.size() && text[i + 1] == '\n')) {
      finish();
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == '\'' && !words.back().empty()) {
      words.back() += c;
    } else {
      words.emplace_back();
    }
  }
  finish();
  return all;
}

}  // namespace pg
