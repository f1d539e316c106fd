// Cutting a long text: the parts have the ids of the whole.
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/piece_counts.h"
#include "tasks/bpe/pretokenizer.h"
#include "tasks/data/stories.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/tasks/bpe_cases.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr EncodeOptions kPlain = {.surround = false};

// The parts of `text`, cut at every place.
std::vector<std::string> parts_of(std::string_view text) {
  RegexScratch scratch;
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t size = line_cut(text, 0, scratch);
    parts.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return parts;
}

Ids ids_of_parts(const BpeTokenizer& tokenizer, std::string_view text) {
  Ids ids;
  for (const std::string& part : parts_of(text)) {
    const Ids more = tokenizer.encode(part, kPlain);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

// A text of line ends and what may be beside them.
std::string random_text(Generator& g, int64_t pieces) {
  static const std::vector<std::string> parts = {
      "\n",     "\n",     "\n",         "\r",     " ",      "  ",       "\t",     "a",    "B",       "7",
      "12",     "345",    ".",          "/",      "'s",     "'",        "\u0301", "é",    "e\u0301", "\u00a0",
      "\u2028", "\u1161", "\u1100",     "中",     "\xff",   "\xe2\x82", "\u0085", "Ⅷ",    "ǅ",       "ªb",
      "<|e|>",  "zz",     "\U0001f600", "\ufeff", "\u200d", "\u2126",   "\v",     "\x1c", "$",       "_"};
  std::string text;
  for (int64_t i = 0; i < pieces; ++i) text += parts[static_cast<size_t>(g.integer(std::ssize(parts)))];
  return text;
}

}  // namespace

TEST_CASE("a line is cut between what is no white space and a letter or digit", "[bpe]") {
  using Parts = std::vector<std::string>;
  CHECK(parts_of("a\nb") == Parts{"a\n", "b"});
  CHECK(parts_of("a\n7\n.\né\n中") == Parts{"a\n", "7\n.\n", "é\n", "中"});
  // Not beside white space, a mark, a byte that is no text, and not at an end.
  for (const char* whole : {"a\n b", "a \nb", "a\n\nb", "a\n\u0301b",
                            "a\n\xff"
                            "b",
                            "\xff\nb", "\nb", "a\n", "a\r\nb"}) {
    CHECK(parts_of(whole) == Parts{whole});
  }
  RegexScratch scratch;
  CHECK(line_cut("a\r\nb", 0, scratch, LineEnds::lf_or_crlf) == 3);
  CHECK(line_cut("a\r\r\nb", 0, scratch, LineEnds::lf_or_crlf) == 5);
  CHECK(line_cut("\r\nb", 0, scratch, LineEnds::lf_or_crlf) == 3);
  CHECK(line_cut("a\nb\nc", 2, scratch) == 4);
}

TEST_CASE("the ids of parts are those of the whole for every pattern", "[bpe]") {
  const std::string corpus = generate_stories().substr(0, 20000) + "\n12 345\n6.\n\n7 \r\n é\n";
  for (const SplitPattern& pattern : split_patterns()) {
    INFO(pattern.name);
    const BpeTokenizer tokenizer = train_bpe(std::vector<std::string_view>{corpus},
                                             {.vocab_size = 400, .special = {"<|e|>"}, .pattern = pattern.name});
    REQUIRE(tokenizer.splits_at_line_cuts());
    CHECK((ids_of_parts(tokenizer, corpus) == tokenizer.encode(corpus, kPlain)));
    Generator g(7);
    for (int round = 0; round < 1500; ++round) {
      const std::string text = random_text(g, 1 + g.integer(40));
      const Ids parts = ids_of_parts(tokenizer, text), whole = tokenizer.encode(text, kPlain);
      INFO(text);
      REQUIRE(parts == whole);
    }
  }
}

TEST_CASE("a tokenizer whose pieces may reach over a line end is not cut", "[bpe]") {
  const auto with = [](const Json& pre_tokenizer, const std::vector<Json>& added) {
    auto json = tokenizer_json();
    if (!pre_tokenizer.is_null()) json["pre_tokenizer"] = pre_tokenizer;
    json["added_tokens"] = added;
    return bpe_from_json(json.dump());
  };
  CHECK(with(nullptr, {added_token(256, "<m>", {"lstrip", "rstrip"})}).splits_at_line_cuts());
  const BpeTokenizer strips = with(nullptr, {added_token(256, "zz", {"lstrip"})});
  CHECK(!strips.splits_at_line_cuts());
  CHECK(ids_of_parts(strips, "a\nzz") != strips.encode("a\nzz", kPlain));
  const BpeTokenizer feeds = with(nullptr, {added_token(256, "\nz")});
  CHECK(!feeds.splits_at_line_cuts());
  CHECK(ids_of_parts(feeds, "a\nzz") != feeds.encode("a\nzz", kPlain));
  const BpeTokenizer spaced = with({{"type", "ByteLevel"}, {"add_prefix_space", true}}, {});
  CHECK(!spaced.splits_at_line_cuts());
  CHECK(ids_of_parts(spaced, "a\nb") != spaced.encode("a\nb", kPlain));
  const auto split = [](const char* regex) {
    return Json{{"type", "Sequence"},
                {"pretokenizers",
                 {{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}},
                  {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  };
  CHECK(!with(split("\\s?\\p{L}+|[^\\p{L}]"), {}).splits_at_line_cuts());
  CHECK(!with(split("\\p{N}"), {}).splits_at_line_cuts());  // leaves the line end inside a piece
}
