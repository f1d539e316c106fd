// The checks of lesson 5 on training: which pair is merged, and the merge.
#include <map>

#include "lessons/05_tokens/checks.h"
#include "tasks/bpe/bpe_train.h"

namespace pg::lesson05 {

using kit::Grader;

PairCount count_pairs(const std::vector<Word>& words) {
  std::map<std::pair<int32_t, int32_t>, int64_t> counts;
  PairCount best;
  for (const Word& word : words) {
    for (size_t i = 1; i < word.ids.size(); ++i) {
      const auto pair = std::pair(word.ids[i - 1], word.ids[i]);
      const int64_t count = counts[pair] += word.count;
      if (count > best.count || (count == best.count && pair < std::pair(best.left, best.right))) {
        best = {pair.first, pair.second, count};
      }
    }
  }
  return best;
}

namespace {

std::string text_of(const PairCount& pair) {
  if (pair.left == -1 && pair.right == -1 && pair.count == 0) return "no pair";
  return fmt::format("({}, {}) x {}", pair.left, pair.right, pair.count);
}

std::string text_of(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    text += fmt::format("{}{} x [{}]", text.empty() ? "" : ", ", word.count, lesson05::text_of(word.ids));
  }
  return words.empty() ? "no words" : text;
}

struct PairCase {
  std::vector<Word> words;
  std::string want;
  std::vector<Known> known;
  std::string otherwise = "";
};

const std::vector<PairCase>& pair_cases() {
  const std::string bits_16 = "two pairs share a counter: ids do not fit in 16 bits";
  const std::string in_int = "a count of 5,000,000,000 does not fit in an int: use int64_t";
  const std::string left_first =
      "equally frequent pairs are compared by a number made of both ids: the left id goes first, whatever the right "
      "one is";
  static const std::vector<PairCase> cases = {
      {{{{5, 6}, 7}, {{7, 8}, 1}, {{7, 8, 9}, 1}, {{3, 7, 8}, 1}},
       "(5, 6) x 7",
       {{"(7, 8) x 3", "each word is counted once: it occurs `count` times"},
        {"(7, 8) x 2", "words of two ids are left out: they have one pair"},
        {"(7, 8) x 1", "the first pair of each word is left out: i begins at 0"},
        {"(3, 7) x 1", "the last pair of each word is left out: i goes on while i + 1 < size"},
        {"(5, 6) x 14", "multiplied by the length of the word: each position counts `count` times"},
        {"(5, 6) x 12", "this is the count of all pairs together: give that of the best one"},
        {"(5, 6) x 1", "this is the number of words with the pair: `count` is how often it occurs"}}},
      {{{{4}, 9}, {{4}, 9}, {{5, 6}, 1}},
       "(5, 6) x 1",
       {{"(4, 4) x 9", "a pair reaches over the border of two words: the last id of one, the first of the next"},
        {"no pair", "a pair that occurs once is a pair, too"}}},
      {{{{5, 6}, 4}, {{7, 8}, 3}, {{7, 8, 9}, 2}},
       "(7, 8) x 5",
       {{"(5, 6) x 4", "the pair of the most frequent word: add up over all words first"}}},
      {{{{2, 1}, 3}, {{1, 2}, 2}, {{5, 6}, 4}},
       "(5, 6) x 4",
       {{"(1, 2) x 5", "1 2 and 2 1 are two pairs"}, {"(2, 1) x 5", "1 2 and 2 1 are two pairs"}}},
      {{{{1, 1, 1, 1, 1}, 3}},
       "(1, 1) x 12",
       {{"(1, 1) x 6",
         "1 1 1 has the pair (1, 1) twice, at its first and at its second position: only merging must not overlap"},
        {"(1, 1) x 3", "every position of a word counts: a pair may occur in it more than once"},
        {"no pair", "two equal ids are a pair, too"}}},
      {{{{5, 6}, 2}, {{3, 8}, 2}, {{3, 4}, 2}, {{6, 1}, 2}, {{9, 7}, 2}},
       "(3, 4) x 2",
       {{"(9, 7) x 2", "of equally frequent pairs the last one is taken: the smallest ids go first (> in place of >=)"},
        {"(5, 6) x 2", "of equally frequent pairs the one that was seen first is taken: the smallest ids go first"},
        {"(6, 1) x 2", "equally frequent pairs are compared by the right id: the left one goes first"},
        {"(3, 8) x 2", "of equal left ids the smaller right id goes first"}}},
      {{{{4, 5}, 2}, {{2, 9}, 2}}, "(2, 9) x 2", {{"(4, 5) x 2", left_first}}},
      {{{{9, 1}, 2}, {{10, 1}, 2}}, "(9, 1) x 2", {{"(10, 1) x 2", "ids are compared as text: 9 is less than 10"}}},
      {{{{3, 1}, 2}, {{257, 1}, 2}}, "(3, 1) x 2", {{"(257, 1) x 2", "ids beyond 255 do not fit in a byte"}}},
      {{{{5, 6}, 4}, {{7, 8}, 2}, {{7, 8, 9}, 2}},
       "(5, 6) x 4",
       {{"(7, 8) x 4", "of equally frequent pairs the one in more words is taken: the smallest ids go first"}}},
      {{{{0, 1}, 3}, {{2, 3}, 1}}, "(0, 1) x 3", {}, "0 is an id like any other"},
      {{{{5, 300}, 3}, {{5, 6}, 1}}, "(5, 300) x 3", {}, "ids go beyond 255: each merge makes a new one"},
      {{{{1, 70000}, 2}, {{2, 4464}, 2}, {{8, 9}, 3}}, "(8, 9) x 3", {}, bits_16},
      {{{{1, 70000}, 5}, {{8, 9}, 3}}, "(1, 70000) x 5", {}, bits_16},
      {{{{1, 2}, 5'000'000'000}, {{3, 4}, 2'000'000'000}}, "(1, 2) x 5000000000", {}, in_int},
      {{{{1, 2}, 16'777'216}, {{3, 4}, 16'777'217}},
       "(3, 4) x 16777217",
       {},
       "counted in float, which has no 16,777,217: use int64_t"},
      {{{{4}, 3}, {{}, 2}}, "no pair", {}, "where there is no pair, the result is PairCount{}: ids -1, count 0"},
      {{}, "no pair", {}, "where there is no pair, the result is PairCount{}: ids -1, count 0"},
  };
  return cases;
}

// The pieces of a text as words of bytes.
std::vector<Word> words_of(std::string_view text) {
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view piece : reference().split(text, "")) ++counts[piece];
  std::vector<Word> words;
  for (const auto& [piece, count] : counts) {
    Word& word = words.emplace_back(Word{{}, count});
    for (const char c : piece) word.ids.push_back(gpt2_byte_ids()[static_cast<uint8_t>(c)]);
  }
  return words;
}

}  // namespace

void check_best_pair(Grader& g, const Impl& impl) {
  for (const PairCase& one : pair_cases()) {
    const std::string input = text_of(one.words);
    if (!same_text(g, input, text_of(impl.best_pair(one.words)), one.want, one.known, one.otherwise)) return;
    if (!same_text(g, input + ", once more", text_of(impl.best_pair(one.words)), one.want, {}, kKept)) return;
  }
  const std::string_view text = "she sells sea shells by the sea shore; the shells she sells are sea shells";
  BpeTrainOptions options;
  options.vocab_size = 257;
  const BpeTokenizer engine = train_bpe(std::vector{text}, options);
  const BpeData::Merge& first = engine.data().merges.at(0);
  const PairCount got = impl.best_pair(words_of(text));
  same_text(g, fmt::format("the first merge of \"{}…\", as train_bpe finds it", text.substr(0, 24)),
            lesson05::text_of({got.left, got.right}), lesson05::text_of({first.left, first.right}));
  Generator random = kit::draws(51);
  for (int i = 0; i < 100 && !g.failed(); ++i) {
    std::vector<Word> words(random.integer(5));
    for (Word& word : words) {
      word.count = 1 + static_cast<int64_t>(random.integer(3));
      word.ids.resize(random.integer(6));
      for (int32_t& id : word.ids) id = static_cast<int32_t>(random.integer(3));
    }
    same_text(g, text_of(words), text_of(impl.best_pair(words)), text_of(count_pairs(words)));
  }
  g.note("ties, borders, 1 1 1 and the engine's first merge");
}

namespace {

struct MergeCase {
  std::vector<int32_t> ids;
  int32_t left, right, id;
  std::vector<Known> known = {};
  std::string otherwise = "";
};

const std::vector<MergeCase>& merge_cases() {
  const std::string twice = "an id is used twice: what was merged is gone, go on after it";
  const std::string follow = "pairs may follow each other: after one the next begins at once";
  const std::string byte = "ids go beyond 255: they do not fit in a byte";
  static const std::vector<MergeCase> cases = {
      {{1, 3, 2},
       1,
       2,
       9,
       {{"9 3 2", "`left` alone is no pair: the next id must be `right`"},
        {"1 3", "the last id is lost: the loop over pairs ends before it"}}},
      {{1, 2, 3, 1, 2, 4, 1, 2},
       1,
       2,
       9,
       {{"9 3 1 2 4 1 2", "only the first pair is replaced: go on to the end"},
        {"9 2 3 9 2 4 9 2", "the right half stays behind: one id replaces both"},
        {"9 3 9 4 1 2", "the pair at the end is missed: does the loop end one step early?"},
        {"9 3 9 4", "the last id is lost: the loop over pairs ends before it"},
        {"9 9 9", "the id after a merged pair is lost: go on directly after the pair"},
        {"9 3 9 4 9 0 0 0", "the result is shorter than ids: nothing follows the last id"}}},
      {{1, 2, 3}, 1, 2, 9, {{"9", "the last id is lost: the loop over pairs ends before it"}}},
      {{2, 1, 3, 1, 2}, 1, 2, 9, {{"9 3 9", "2 1 is another pair than 1 2"}}},
      {{1, 2, 1, 2}, 1, 2, 9, {{"9 1 2", follow}}},
      {{3, 1}, 1, 2, 9, {{"3 9", "the loop reads past the end of ids: look at i + 1 only if i + 1 < ids.size()"}}},
      {{1, 1}, 1, 1, 9, {{"1 1", "two equal ids are a pair, too"}}},
      {{1, 1, 1},
       1,
       1,
       9,
       {{"1 9", "replaced from the right: the leftmost pair goes first"}, {"9 9", twice}, {"9 9 1", twice}}},
      {{1, 1, 1, 1}, 1, 1, 9, {{"9 1 1", follow}, {"9 9 9", twice}}},
      {{0, 1, 0}, 0, 1, 9, {}, "0 is an id like any other"},
      {{1, 2, 300}, 1, 2, 9, {}, "the new id is `id`, whatever the others are"},
      {{257, 2, 1, 2}, 1, 2, 9, {}, byte},
      {{256, 257, 256}, 256, 257, 300, {}, byte},
      {{70000, 1, 2}, 1, 2, 9, {}, "ids do not fit in 16 bits"},
      {{1}, 1, 1, 9},
      {{}, 1, 1, 9},
  };
  return cases;
}

}  // namespace

void check_merge_pair(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const MergeCase& one) {
    // After the last id there is one more in memory that would make a pair.
    std::vector<int32_t> ids = one.ids;
    ids.push_back(one.right);
    ids.pop_back();
    const std::string input =
        fmt::format("{} with ({}, {}) -> {}", ids.empty() ? "no ids" : text_of(ids), one.left, one.right, one.id);
    const std::string want = text_of(engine.merge_pair(ids, one.left, one.right, one.id));
    const auto got = [&] { return text_of(impl.merge_pair(ids, one.left, one.right, one.id)); };
    return same_text(g, input, got(), want, one.known, one.otherwise) &&
           same_text(g, input + ": ids afterwards", text_of(ids), text_of(one.ids), {}, "the input was overwritten") &&
           same_text(g, input + ", once more", got(), want, {}, kKept);
  };
  for (const MergeCase& one : merge_cases()) {
    if (!compare(one)) return;
  }
  Generator random = kit::draws(52);
  for (int i = 0; i < 200; ++i) {
    MergeCase one{std::vector<int32_t>(random.integer(24)), static_cast<int32_t>(random.integer(3)),
                  static_cast<int32_t>(random.integer(3)), 9};
    for (int32_t& id : one.ids) id = static_cast<int32_t>(random.integer(3));
    if (!compare(one)) return;
  }
  g.note(fmt::format("{} cases, and 200 random sequences as the engine merges them", merge_cases().size()));
}

}  // namespace pg::lesson05
