// The checks of lesson 5: the merges and the measure. checks_text.cpp and checks_weights.cpp have the others.
#include "lessons/05_tokens/checks.h"

#include <cmath>
#include <map>

#include "nn/pretrained.h"
#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/pretokenizer.h"
#include "tensor/base/table.h"

namespace pg::lesson05 {

using kit::Grader;
using kit::Mistake;
using kit::Value;

const ByteIds& gpt2_byte_ids() {
  static const ByteIds ids = [] {
    ByteIds of_byte{};
    int32_t next = 0;
    for (const char c : bytes_in_symbol_order()) of_byte[static_cast<uint8_t>(c)] = next++;
    return of_byte;
  }();
  return ids;
}

Value value_of(const std::vector<int32_t>& ids) { return std::vector<double>(ids.begin(), ids.end()); }

namespace {

Value triple(const PairCount& pair) {
  return std::vector<double>{static_cast<double>(pair.left), static_cast<double>(pair.right),
                             static_cast<double>(pair.count)};
}

std::string text_of(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    text += text.empty() ? "" : ", ";
    text += fmt::format("{} x [", word.count);
    for (size_t i = 0; i < word.ids.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", word.ids[i]);
    text += "]";
  }
  return text;
}

// Of these words' pairs the most frequent one, the smallest of several. The check and the demonstration hold it against
// train_bpe, whose counting cannot be called by itself.
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

struct PairCase {
  std::vector<Word> words;
  std::vector<std::pair<std::string, PairCount>> mistakes;
};

const std::vector<PairCase>& pair_cases() {
  static const std::vector<PairCase> cases = {
      {{{{5, 6}, 7}, {{7, 8}, 1}, {{7, 8, 9}, 1}, {{3, 7, 8}, 1}},
       {{"each word is counted once: it occurs `count` times", {7, 8, 3}}}},
      {{{{1, 1, 1}, 3}, {{2, 3}, 5}},
       {{"1 1 1 has the pair (1, 1) twice, at its first and at its second place: only merging must not overlap",
         {2, 3, 5}}}},
      {{{{4}, 9}, {{4}, 9}, {{6, 5}, 1}},
       {{"a pair reaches over the border of two words: the last id of one, the first of the next", {4, 4, 9}}}},
      {{{{5, 6}, 2}, {{3, 8}, 2}, {{3, 4}, 2}, {{6, 1}, 2}, {{9, 7}, 2}},
       {{"of equally frequent pairs the last one is taken: the smallest ids go first (> in place of >=)", {9, 7, 2}},
        {"of equally frequent pairs the one that was seen first is taken: the smallest ids go first", {5, 6, 2}},
        {"equally frequent pairs are compared by the right id: the left one goes first", {6, 1, 2}},
        {"of equal left ids the smaller right id goes first", {3, 8, 2}}}},
      {{{{1, 70000}, 2}, {{2, 4464}, 2}, {{8, 9}, 3}},
       {{"two pairs share a counter: ids do not fit in 16 bits", {1, 70000, 4}},
        {"two pairs share a counter: ids do not fit in 16 bits", {2, 4464, 4}}}},
      {{{{1, 2}, 3'000'000'000}, {{3, 4}, 2'000'000'000}},
       {{"a count of 3,000,000,000 does not fit in an int: use int64_t", {3, 4, 2'000'000'000}}}},
      {{{{4}, 3}, {{}, 2}}, {}},
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

void check_best_pair(Grader& g, const Impl& impl) {
  for (const PairCase& one : pair_cases()) {
    std::vector<Mistake> mistakes;
    for (const auto& [says, pair] : one.mistakes) mistakes.push_back({says, triple(pair)});
    if (!g.equal(text_of(one.words) + ": left, right, count", triple(impl.best_pair(one.words)),
                 triple(count_pairs(one.words)), {.mistakes = mistakes})) {
      return;
    }
  }
  const std::string_view text = "she sells sea shells by the sea shore; the shells she sells are sea shells";
  BpeTrainOptions options;
  options.vocab_size = 257;
  const BpeTokenizer engine = train_bpe(std::vector{text}, options);
  const BpeData::Merge& first = engine.data().merges.at(0);
  const PairCount got = impl.best_pair(words_of(text));
  g.equal(fmt::format("the first merge of \"{}…\", as train_bpe finds it", text.substr(0, 24)),
          value_of(std::vector{got.left, got.right}), value_of(std::vector{first.left, first.right}));
  g.note("ties, borders, 1 1 1 and the engine's first merge");
}

struct MergeCase {
  std::vector<int32_t> ids;
  int32_t left, right;
  std::vector<std::pair<std::string, std::vector<int32_t>>> mistakes;
};
constexpr int32_t kNew = 9;

const std::vector<MergeCase>& merge_cases() {
  static const std::vector<MergeCase> cases = {
      {{1, 2, 3, 1, 2, 4, 1, 2},
       1,
       2,
       {{"only the first pair is replaced: go on to the end", {9, 3, 1, 2, 4, 1, 2}},
        {"the right half stays behind: one id replaces both", {9, 2, 3, 9, 2, 4, 9, 2}},
        {"the pair at the end is missed: does the loop end one step early?", {9, 3, 9, 4, 1, 2}},
        {"the last id is lost: the loop over pairs ends before it", {9, 3, 9, 4}}}},
      {{1, 2, 3}, 1, 2, {{"the last id is lost: the loop over pairs ends before it", {9}}}},
      {{2, 1, 3, 1, 2}, 1, 2, {{"2 1 is another pair than 1 2", {9, 3, 9}}}},
      {{1, 1, 1},
       1,
       1,
       {{"replaced from the right: the leftmost pair goes first", {1, 9}},
        {"an id is used twice: what was merged is gone, go on after it", {9, 9}},
        {"an id is used twice: what was merged is gone, go on after it", {9, 9, 1}}}},
      {{1, 1, 1, 1}, 1, 1, {{"only the first pair is replaced: go on to the end", {9, 1, 1}}}},
      {{1, 3, 2}, 1, 2, {}},
      {{1}, 1, 1, {}},
      {{}, 1, 1, {}},
  };
  return cases;
}

void check_merge_pair(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const std::vector<int32_t>& ids, int32_t left, int32_t right,
                           const std::vector<Mistake>& mistakes) {
    return g.equal(fmt::format("{} with ({}, {}) -> {}", kit::to_text(value_of(ids), 40), left, right, kNew),
                   value_of(impl.merge_pair(ids, left, right, kNew)),
                   value_of(engine.merge_pair(ids, left, right, kNew)), {.mistakes = mistakes});
  };
  for (const MergeCase& one : merge_cases()) {
    std::vector<Mistake> mistakes;
    for (const auto& [says, ids] : one.mistakes) mistakes.push_back({says, value_of(ids)});
    if (!compare(one.ids, one.left, one.right, mistakes)) return;
  }
  Generator random(52);
  for (int i = 0; i < 200; ++i) {
    std::vector<int32_t> ids(random.integer(24));
    for (int32_t& id : ids) id = static_cast<int32_t>(random.integer(3));
    const auto left = static_cast<int32_t>(random.integer(3)), right = static_cast<int32_t>(random.integer(3));
    if (!compare(ids, left, right, {})) return;
  }
  g.equal("1 2 3 1 2 with (1, 2) -> 77", value_of(impl.merge_pair({1, 2, 3, 1, 2}, 1, 2, 77)), Value({3}, {77, 3, 77}));
  g.note("nine cases, and 200 random sequences as the engine merges them");
}

void check_bits_per_byte(Grader& g, const Impl& impl) {
  const std::vector<std::string> tokens = {"a", " the", "é", " ", "\n\n"};
  const std::vector<int32_t> ids = {1, 2, 3, 1, 0, 4, 2};
  const std::vector<double> nats = {1.5, 0.25, 3.125, 0.75, 2.5, 0.5, 1.25};
  double sum = 0, bytes = 0, characters = 0, ratios = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const double size = static_cast<double>(tokens[static_cast<size_t>(ids[i])].size());
    sum += nats[i];
    bytes += size;
    characters += ids[i] == 2 ? 1 : size;
    ratios += nats[i] / size;
  }
  const double count = static_cast<double>(ids.size()), ln2 = std::log(2.0);
  g.equal(
      "7 tokens of 1 to 4 bytes", impl.bits_per_byte(nats, ids, tokens), reference().bits_per_byte(nats, ids, tokens),
      {.mistakes = {
           {"this is the loss per token: a token of four bytes counts like one of a single byte", sum / ln2 / count},
           {"this is the loss per token, in nats", sum / count},
           {"nats, not bits: 1 nat is 1 / ln 2 bits", sum / bytes},
           {"multiplied by ln 2: 1 nat is 1 / ln 2 = 1.44 bits, so divide", sum * ln2 / bytes},
           {"the mean of the tokens' own bits per byte: add up nats and bytes first, then divide",
            ratios / ln2 / count},
           {"characters are counted, not bytes: é has two", sum / ln2 / characters},
           {"divided by the bytes of the vocabulary, not of the text: tokens[ids[i]]", sum / ln2 / 10}}});
  if (g.failed()) return;
  // Every byte alike: 8 bits, whatever the tokens.
  const std::vector<std::string> two = {"x", "yz"};
  g.equal("a model that gives every byte 1/256",
          impl.bits_per_byte({std::log(256.0), 2 * std::log(256.0)}, {0, 1}, two), 8.0);
  const std::vector<std::string> marked = {"x", "", "yz"};
  g.equal("the same, and a token without bytes that costs 300 nats",
          impl.bits_per_byte({std::log(256.0), 300, 2 * std::log(256.0)}, {0, 1, 2}, marked), 8 + 100 / ln2);
  g.equal(
      "a token of probability 0", impl.bits_per_byte({INFINITY, 1}, {0, 2}, marked), INFINITY,
      {.mistakes = {{"an infinite loss must stay infinite: nobody would see that the model is broken", 1 / ln2 / 3}}});
  g.note("tokens of any length in one unit");
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "05.1",
       .title = "the most frequent pair",
       .piece = kit::piece<&Impl::best_pair>("best_pair"),
       .section = "Learning a vocabulary",
       .why = "The whole training of a tokenizer is this question, asked again and again. Two programs that answer a "
              "tie differently have different vocabularies from there on.",
       .hints =
           {"Where do you keep a count for each pair, and in which order do you go through them at the end, so that "
            "a tie is no question any more?",
            "counts[(ids[i], ids[i + 1])] += count for i = 0 ... size - 2 of every word; the largest count wins, "
            "then the smallest left, then the smallest right.",
            "A std::map from std::pair<int32_t, int32_t> to int64_t is sorted by left, then right. Fill it word by "
            "word (i + 1 < size, not i < size - 1), then walk through it and keep a pair only if its count is "
            "larger than the best so far."},
       .solution = {"tasks/bpe/bpe_train.cpp", "void count_pairs("},
       .run = check_best_pair},
      {.id = "05.2",
       .title = "one merge",
       .piece = kit::piece<&Impl::merge_pair>("merge_pair"),
       .section = "Learning a vocabulary",
       .why = "Training and encoder must merge a a a alike, or a text is encoded in a way that the "
              "model has never seen.",
       .hints = {"The pair begins at index i. With which index do you go on, and what about the last id?",
                 "out gets id and i moves by 2 where ids[i] = left and ids[i + 1] = right; else out gets ids[i] and i "
                 "moves by 1.",
                 "Make a new vector. Loop over i while i < size; look at i + 1 only if i + 1 < size. Push id and skip "
                 "one more, or push ids[i]."},
       .solution = {"tasks/bpe/bpe_train.cpp", "void merge_in("},
       .run = check_merge_pair},
      {.id = "05.3",
       .title = "GPT-2's pieces",
       .piece = kit::piece<&Impl::split>("split"),
       .section = "Where no merge may cross",
       .why = "A model reads the pieces it was trained on. A tokenizer that leaves the space with the word before it "
              "gives other ids for every word but the first, and <|endoftext|> cut in three is no end of a text.",
       .hints =
           {"Which of the five rules may begin with a space, and what does that leave for a run of spaces? What "
            "would the rules make of <|endoftext|>, and so what has to come first?",
            "With `special` at index a: the pieces of text[0, a), special, the pieces of the rest. Else at index i: "
            "a contraction; else j = i + 1 if text[i] is ' ' and text[j] is no white space, else "
            "j = i; take the run of text[j]'s kind from j. White space with something after it gives its last "
            "character back if it has more than one.",
            "If special is not empty and text.find(special) finds it, call split for what is before and what is "
            "after it. Otherwise: a function kind(i): letter, digit, white space, other, or end. In a loop: try the "
            "seven contractions "
            "with starts_with; else find `first` as above and let `end` run while kind(end) is kind(first); if "
            "that is white space, end < size and the run is longer than 1, --end. Push text.substr(begin, end - "
            "begin)."},
       .solution = {"tasks/bpe/pretokenizer.cpp", "struct Splitter {"},
       .run = check_split},
      {.id = "05.4",
       .title = "encode a piece",
       .piece = kit::piece<&Impl::encode_piece>("encode_piece"),
       .section = "The order in which it was learned",
       .why = "Most pieces can be cut into tokens in many ways, and only one of them is what the model saw in its "
              "training. Any other decodes to the same text, so nobody notices.",
       .hints =
           {"The vocabulary was made by merges in an order. Which merge of those possible here was made first?",
            "ids[i] = byte_ids[byte i]; while some merges.find(ids[i], ids[i + 1]).rank < kNone: take the i of the "
            "lowest rank, ids[i] = .id, remove ids[i + 1].",
            "Fill ids from the bytes as uint8_t. In an endless loop: go through all pairs, keep the merge of the "
            "lowest rank and its index (strictly lower: the leftmost of several); if there is none, return; else "
            "replace and erase."},
       .solution = {"tasks/bpe/bpe_merge.cpp", "void MergeTable::scan("},
       .run = check_encode_piece},
      {.id = "05.5",
       .title = "GPT-2's weights",
       .piece = kit::piece<&Impl::load_weights>("load_weights"),
       .section = "Somebody else's weights",
       .why = "A square matrix that should have been transposed gives no error. The model runs, the loss is that of a "
              "bad model, and the search takes a day.",
       .hints =
           {"Which tensors of a block are matrices that multiply? Is an embedding one of them?",
            "parameter [out, in] = stored [in, out], transposed, for c_attn, c_fc and both c_proj; all else as it "
            "is. Name in the file: \"transformer.\" + ours if source has transformer.wte.weight, else ours.",
            "For (name, parameter) of named_parameters(model): stored = source.read(prefix + name, f32); if the "
            "name begins with \"h.\" and stored.rank() is 2, copy_from(transpose(stored)), else copy_from(stored). "
            "c_attn needs nothing more: its columns become our rows in the same order."},
       .solution = {"nn/pretrained.cpp", "std::vector<Part> parts_of("},
       .run = check_load_weights},
      {.id = "05.6",
       .title = "bits per byte",
       .piece = kit::piece<&Impl::bits_per_byte>("bits_per_byte"),
       .section = "What a loss is worth",
       .why = "With twice as long tokens a loss per token of twice the size is the same model. Papers have compared "
              "the one with the other.",
       .hints = {"What do two models of one text have in common, whatever their tokens are?",
                 "(Σ nats[i] / ln 2) / (Σ bytes of tokens[ids[i]]).",
                 "Two sums in one loop, over nats[i] and over tokens[ids[i]].size(); divide the first by std::log(2.0) "
                 "and by the second."},
       .solution = {"tools/pg/eval.cpp", "int evaluate_text("},
       .run = check_bits_per_byte},
  };
}

Impl reference() {
  return {
      .best_pair = count_pairs,
      .merge_pair =
          [](const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
            MergeTable one(1);
            one.set(left, right, {0, id});
            MergeTable::Scratch scratch;
            std::vector<int32_t> merged = ids;
            one.apply(merged, scratch);
            return merged;
          },
      .split =
          [](std::string_view text, std::string_view special) {
            static const Pretokenizer gpt2(find_row(split_patterns(), "pattern", "gpt2").pre_tokenizer);
            static const Normalizer as_it_is;
            std::vector<AddedToken> added;
            if (!special.empty()) added.push_back({.id = 0, .content = std::string(special), .special = true});
            RegexScratch scratch;
            std::vector<std::string_view> pieces;
            for (const auto& part : AddedTokens(added, false, as_it_is).split(text, false, scratch)) {
              if (part.id >= 0) {
                pieces.push_back(part.text);
              } else {
                gpt2.split(part.text, scratch, [&](std::string_view piece) { pieces.push_back(piece); });
              }
            }
            return pieces;
          },
      .encode_piece =
          [](std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
            std::vector<int32_t> ids;
            for (const char c : piece) ids.push_back(byte_ids[static_cast<uint8_t>(c)]);
            MergeTable::Scratch scratch;
            merges.apply(ids, scratch);
            return ids;
          },
      .load_weights = [](Transformer& model, const TensorSource& source) { pg::load_weights(model, source); },
      .bits_per_byte =
          [](const std::vector<double>& nats, const std::vector<int32_t>& ids, const std::vector<std::string>& tokens) {
            double sum = 0;
            size_t bytes = 0;
            for (const double x : nats) sum += x;
            for (const int32_t id : ids) bytes += tokens.at(static_cast<size_t>(id)).size();
            return sum / std::log(2.0) / static_cast<double>(bytes);
          }};
}

Impl learner() { return {best_pair, merge_pair, split, encode_piece, load_weights, bits_per_byte}; }

}  // namespace pg::lesson05
