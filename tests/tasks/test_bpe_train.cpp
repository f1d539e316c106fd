// Training of byte-level BPE.
#include <fstream>

#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/piece_counts.h"
#include "tasks/data/stories.h"
#include "tensor/base/parallel.h"
#include "tests/catch.h"
#include "tests/tasks/bpe_cases.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::vector<std::string> tokens_after(const std::string& text, int64_t size, std::vector<std::string> special = {}) {
  const std::string_view texts[] = {text};
  const BpeTokenizer t = train_bpe(texts, {.vocab_size = size, .special = std::move(special)});
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < t.vocab_size(); ++id) tokens.push_back(t.decode_bytes({&id, 1}));
  return tokens;
}

using Strings = std::vector<std::string>;
Strings last(const Strings& tokens, int64_t n) { return {tokens.end() - n, tokens.end()}; }

}  // namespace

TEST_CASE("training merges the most frequent pair and of equals the one with smaller ids", "[bpe]") {
  // Sennrich et al.'s words. Pairs: es 9, st 9, lo 7, ow 7, we 8 (newer, lower, widest has none): e-s and s-t are
  // equal, and e has the smaller id.
  std::string text;
  const auto add = [&](int n, const std::string& word) {
    for (int i = 0; i < n; ++i) text += word + "\n";
  };
  add(5, "low"), add(2, "lower"), add(6, "newest"), add(3, "widest");
  const Strings tokens = tokens_after(text, 256 + 5);
  CHECK(last(tokens, 5) == Strings{"es", "est", "lo", "low", "ew"});
  // CS336's rule would take st first, whose bytes are greater.
  CHECK(tokens[0] == "!");
  CHECK(tokens[220] == " ");
}

TEST_CASE("special tokens come first and are not learned from", "[bpe]") {
  const Strings tokens = tokens_after("ab<|end|>ab<|end|>cd", 256 + 3, {"<|end|>"});
  CHECK(tokens[0] == "<|end|>");
  CHECK(tokens[1] == "!");
  CHECK(last(tokens, 2) == Strings{"ab", "cd"});
}

TEST_CASE("training ends when no pair is left or none is frequent enough", "[bpe]") {
  CHECK(tokens_after("aaaa", 1000).size() == 258);
  const std::string_view text[] = {"ab ab cd"};
  CHECK(train_bpe(text, {.vocab_size = 1000, .min_frequency = 2}).vocab_size() == 257);
}

TEST_CASE("training gives the same tokenizer for any number of threads and any split into texts", "[bpe]") {
  const int threads = num_threads();
  std::string text = generate_stories(3'500'000, 3);  // several chunks
  const BpeTrainOptions options = {.vocab_size = 700, .special = {"<|end|>"}};
  const auto train = [&](std::vector<std::string_view> texts) { return train_bpe(texts, options).to_json(); };
  set_num_threads(1);
  const std::string one = train({text});
  set_num_threads(4);
  CHECK(train({text}) == one);
  set_num_threads(threads);
  const size_t middle = text.find("\n", text.size() / 2);
  const std::string with_special = text.substr(0, middle + 1) + "<|end|>" + text.substr(middle + 1);
  CHECK(train({std::string_view(text).substr(0, middle + 1), std::string_view(text).substr(middle + 1)}) ==
        train({with_special}));
}

TEST_CASE("chunks are cut where every pattern cuts the text", "[bpe]") {
  // Without a border the whole text is one chunk; with many, the counts are those of the whole.
  std::string text;
  for (int i = 0; i < 60000; ++i) text += i % 7 == 0 ? "x \n\n y.\n" : i % 5 == 0 ? "'s\n12" : "abc\nÄ é\n/ $\nd";
  for (const SplitPattern& row : split_patterns()) {
    INFO(row.name);
    const Normalizer none;
    const Pretokenizer pretokenizer(row.pre_tokenizer);
    const std::string_view texts[] = {text};
    const PieceCounts counts = count_pieces(texts, {}, none, pretokenizer);
    PieceCounts whole;
    RegexScratch scratch;
    pretokenizer.split(text, scratch, [&](std::string_view piece) { whole.add(piece); });
    CHECK(counts.size() == whole.size());
    int64_t total = 0, expected = 0;
    counts.for_each([&](std::string_view piece, int64_t n) { total += n * std::ssize(piece); });
    whole.for_each([&](std::string_view piece, int64_t n) { expected += n * std::ssize(piece); });
    CHECK(total == expected);
    CHECK(total == std::ssize(text));
  }
}

TEST_CASE("options of training out of range are errors", "[bpe]") {
  const std::string_view text[] = {"ab"}, empty[] = {""};
  const auto error = [&](const BpeTrainOptions& o) { return error_of([&] { train_bpe(text, o); }); };
  CHECK(contains(error({.vocab_size = 256, .special = {"<a>"}}), "from 257"));
  CHECK(contains(error({.special = {""}}), "must not be empty"));
  CHECK(contains(error({.special = {"a"}}), "single byte"));
  CHECK(contains(error({.special = {"<a>", "<a>"}}), "'<a>'"));
  CHECK(contains(error({.pattern = "gpt5"}), "gpt2"));
  CHECK(contains(error_of([&] { train_bpe(empty, {}); }), "empty"));
}
