// The tiny language, whose sentences can be enumerated.
#include <set>

#include "tasks/data/tiny_language.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;

namespace {
std::vector<int32_t> ids_of(const std::vector<std::string>& words) {
  std::vector<int32_t> ids;
  for (const auto& word : words) ids.push_back(tiny_word(word));
  return ids;
}
}  // namespace

TEST_CASE("every generated sentence of the tiny language is one and every word occurs", "[tasks]") {
  Generator g(1);
  std::set<int32_t> seen;
  size_t shortest = 99, longest = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto ids = tiny_sentence(g);
    REQUIRE(is_tiny_sentence(ids));
    seen.insert(ids.begin(), ids.end());
    shortest = std::min(shortest, ids.size());
    longest = std::max(longest, ids.size());
  }
  CHECK(seen.size() == tiny_words().size());
  CHECK(shortest == 4);
  CHECK(longest == 11);
}

TEST_CASE("what is no sentence of the tiny language is refused", "[tasks]") {
  CHECK(is_tiny_sentence(ids_of({"the", "old", "red", "cat", "sees", "a", "moon", "today", "."})));
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"."},
      {"moon", "moon", "moon", "."},
      {"the", "cat", "sleeps"},                            // no full stop
      {"the", "cat", "sleeps", ".", "."},                  // continues after the end
      {"the", "cat", "sees", "."},                         // no object
      {"the", "cat", "sleeps", "a", "dog", "."},           // an extra object
      {"the", "old", "old", "red", "cat", "sleeps", "."},  // three adjectives
      {"the", "cat", "today", "."},                        // no verb
      {"cat", "sleeps", "."}};                             // no article
  for (const auto& words : wrong) CHECK_FALSE(is_tiny_sentence(ids_of(words)));
  CHECK(tiny_text(ids_of({"the", "cat", "sleeps", "."})) == "the cat sleeps.");
  CHECK_THROWS_AS(tiny_word("zebra"), Error);
}
