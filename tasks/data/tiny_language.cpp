// A language small enough that expectations can be enumerated.
#include "tasks/data/tiny_language.h"

#include <algorithm>

#include "tasks/data/tokenizer.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// Word classes as ranges of ids.
struct Kind {
  int32_t begin, end;
  bool has(int32_t id) const { return id >= begin && id < end; }
  int32_t pick(Generator& g) const { return begin + static_cast<int32_t>(g.integer(end - begin)); }
};
constexpr Kind kStop{0, 1}, kArticle{1, 3}, kAdjective{3, 6}, kNoun{6, 13}, kAlone{13, 16}, kWithObject{16, 19},
    kAdverb{19, 21};

void add_noun_phrase(std::vector<int32_t>& ids, Generator& g) {
  ids.push_back(kArticle.pick(g));
  for (int64_t adjectives = g.integer(3); adjectives > 0; --adjectives) ids.push_back(kAdjective.pick(g));
  ids.push_back(kNoun.pick(g));
}

// A parser; `rest` is the unread part.
struct Reader {
  std::span<const int32_t> rest;
  bool take(Kind kind) {
    if (rest.empty() || !kind.has(rest[0])) return false;
    rest = rest.subspan(1);
    return true;
  }
  bool noun_phrase() {
    if (!take(kArticle)) return false;
    for (int adjectives = 0; adjectives < 2 && take(kAdjective); ++adjectives) {
    }
    return take(kNoun);
  }
};

}  // namespace

const std::vector<std::string>& tiny_words() {
  static const std::vector<std::string> words = {".",     "the",   "a",    "old",   "small", "red",   "cat",
                                                 "dog",   "fox",   "king", "queen", "river", "moon",  "sleeps",
                                                 "waits", "sings", "sees", "likes", "finds", "today", "again"};
  return words;
}

int32_t tiny_word(const std::string& word) {
  const auto& words = tiny_words();
  const auto found = std::find(words.begin(), words.end(), word);
  check(found != words.end(), "tiny_word: \"{}\" is none of the {} words", word, words.size());
  return static_cast<int32_t>(found - words.begin());
}

std::vector<int32_t> tiny_sentence(Generator& g) {
  std::vector<int32_t> ids;
  add_noun_phrase(ids, g);
  if (g.integer(2) == 0) {
    ids.push_back(kAlone.pick(g));
  } else {
    ids.push_back(kWithObject.pick(g));
    add_noun_phrase(ids, g);
  }
  if (g.integer(2) == 0) ids.push_back(kAdverb.pick(g));
  ids.push_back(0);
  return ids;
}

bool is_tiny_sentence(std::span<const int32_t> ids) {
  Reader reader{ids};
  if (!reader.noun_phrase()) return false;
  if (!reader.take(kAlone) && !(reader.take(kWithObject) && reader.noun_phrase())) return false;
  reader.take(kAdverb);
  return reader.take(kStop) && reader.rest.empty();
}

const Tokenizer& tiny_tokenizer() {
  static const TokenList tokens(tiny_words(), /*words=*/true, 0);
  return tokens;
}

std::string tiny_text(std::span<const int32_t> ids) { return tiny_tokenizer().decode(ids); }

}  // namespace pg
